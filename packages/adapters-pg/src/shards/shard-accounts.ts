import type { Accounts, Batches, OperatorNote, Stop, Stops, StopTarget } from '@outlay/core'
import type { NodeAnswers } from './node-answers.ts'
import type { LimitedNode } from './shard-node.ts'
import type { ShardParts } from './shard-transfers.ts'

/** Creates the commands of accounts: each is about the node of its account, and refuses a transaction of another one. */
export function createShardAccounts<Tx>({ routing, questions }: ShardParts<Tx>): Accounts<Tx> {
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
