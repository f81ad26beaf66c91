import type { Accounts, Batches, OperatorNote, Stop, Stops, StopTarget } from '@outlay/core'
import type { AccountMoved } from './account-move.ts'
import type { AccountMoveOptions } from './account-move-run.ts'
import type { NodeAnswers } from './node-answers.ts'
import type { LimitedNode } from './shard-node.ts'
import type { ShardParts } from './shard-transfers.ts'

/** Commands of accounts over nodes. */
export interface ShardAccounts<Tx> extends Accounts<Tx> {
  /**
   * Moves an account with all that it has in the engine to another node, while workers and hosts go on; your own rows are yours to move. Needs a route that is a
   * `directory()`. Enqueues for the account are refused with `account_moving` meanwhile, and transfers that are sent already are never sent anew.
   * Called again after whatever ended an earlier call, it goes on from there.
   * @throws OutlayError `conflict` when something keeps it from moving, or another process moves it: it stays, or goes back, where it was; `aborted` by the
   *   signal, likewise; `node_unavailable` when a node does not answer: call it again; `not_found` for an account that has no node; `invalid_request`
   */
  move(accountId: string, options: AccountMoveOptions): Promise<AccountMoved>
}

/** Creates the commands of accounts: each is about the node of its account, and refuses a transaction of another one. */
export function createShardAccounts<Tx>(
  { routing, questions }: ShardParts<Tx>,
  move: ShardAccounts<Tx>['move'],
): ShardAccounts<Tx> {
  const run = <T>(tx: Tx, accountId: string, command: (accounts: Accounts<Tx>) => Promise<T>) =>
    routing.checked(tx, accountId, ({ engine }) => command(engine.accounts))
  return {
    fundsArrived: (tx, accountId) => run(tx, accountId, (accounts) => accounts.fundsArrived(tx, accountId)),
    pause: (tx, accountId) => run(tx, accountId, (accounts) => accounts.pause(tx, accountId)),
    resume: (tx, accountId) => run(tx, accountId, (accounts) => accounts.resume(tx, accountId)),
    retryCredentials: (tx, accountId) => run(tx, accountId, (accounts) => accounts.retryCredentials(tx, accountId)),
    watch: (tx, accountId, options) => run(tx, accountId, (accounts) => accounts.watch(tx, accountId, options)),
    unwatch: (tx, accountId, options) => run(tx, accountId, (accounts) => accounts.unwatch(tx, accountId, options)),
    configure: (tx, accountId, change) => run(tx, accountId, (accounts) => accounts.configure(tx, accountId, change)),
    get: (accountId, options) =>
      routing.at(accountId, (node) => questions.askOne(node, ({ engine }) => engine.accounts.get(accountId, options))),
    move,
  }
}

/** Creates the commands of batches: a batch is on the node in whose transaction it was created. */
export function createShardBatches<Tx>({ routing, questions }: ShardParts<Tx>): Batches<Tx> {
  const inside = async <T>(tx: Tx, run: (batches: Batches<Tx>) => Promise<T>) =>
    run((await routing.nodeBy(tx)).engine.batches)
  return {
    create(tx, batch) {
      const accountId = batch?.accountId
      if (accountId === undefined) return inside(tx, (batches) => batches.create(tx, batch))
      return routing.checked(tx, accountId, ({ engine }) => engine.batches.create(tx, batch))
    },
    get: (batchId, tx) =>
      tx === undefined
        ? questions.askAny(({ engine }) => engine.batches.get(batchId))
        : inside(tx, (batches) => batches.get(batchId, tx)),
    getByKey(key, options = {}) {
      const { accountId, tx } = options
      if (tx !== undefined) return inside(tx, (batches) => batches.getByKey(key, options))
      const ask = ({ engine }: LimitedNode<Tx>) => engine.batches.getByKey(key, options)
      return accountId === undefined
        ? questions.askAny(ask)
        : routing.at(accountId, (node) => questions.askOne(node, ask))
    },
    review: (batchId, tx) =>
      tx === undefined
        ? questions.askAny(({ engine }) => engine.batches.review(batchId))
        : inside(tx, (batches) => batches.review(batchId, tx)),
    close: (tx, batchId) => inside(tx, (batches) => batches.close(tx, batchId)),
    cancel: (tx, batchId, note) => inside(tx, (batches) => batches.cancel(tx, batchId, note)),
    approve: (tx, batchId, approval) => inside(tx, (batches) => batches.approve(tx, batchId, approval)),
    pause: (tx, batchId) => inside(tx, (batches) => batches.pause(tx, batchId)),
    resume: (tx, batchId) => inside(tx, (batches) => batches.resume(tx, batchId)),
  }
}

/** Stops over all nodes: one of an account is on the node of the account, and every other one on the node of the transaction alone. */
export interface ShardStops<Tx> extends Pick<Stops<Tx>, 'add' | 'end'> {
  /** The committed stops of each node. */
  list(): Promise<NodeAnswers<readonly Stop[]>>
}

/** Creates the commands of stops. */
export function createShardStops<Tx>({ routing, questions }: ShardParts<Tx>): ShardStops<Tx> {
  const at = async <T>(tx: Tx, target: StopTarget, run: (node: LimitedNode<Tx>) => Promise<T>) =>
    target?.scope === 'account' ? routing.checked(tx, target.name, run) : run(await routing.nodeBy(tx))
  return {
    add: (tx, stop: StopTarget & OperatorNote) => at(tx, stop, ({ engine }) => engine.stops.add(tx, stop)),
    end: (tx, target) => at(tx, target, ({ engine }) => engine.stops.end(tx, target)),
    list: () => questions.askAll(({ engine }) => engine.stops.list()),
  }
}
