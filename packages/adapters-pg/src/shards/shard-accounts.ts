import type { Accounts, OperatorNote, Stop, Stops, StopTarget } from '@outlay/core'
import type { PlacementPage, PlacementQuery } from './account-follow.ts'
import type { AccountMoved } from './account-move.ts'
import type { AccountMoveOptions } from './account-move-run.ts'
import { whileHere } from './moving-subject.ts'
import type { NodeAnswers } from './node-answers.ts'
import type { LimitedNode } from './shard-node.ts'
import type { ShardParts } from './shard-parts.ts'
import { isAccountId } from './shard-routing.ts'

/** Commands of accounts over nodes. */
export interface ShardAccounts<Tx> extends Accounts<Tx> {
  /**
   * Moves an account with all that it has in the engine to another node, while workers and hosts go on; your own rows are yours to move. Needs a route that is a
   * `directory()`. Enqueues for the account are refused with `account_moving` meanwhile, and transfers that are sent already are never sent anew.
   * Called again after whatever ended an earlier call, it goes on from there.
   * @throws OutlayError `conflict` when something keeps it from moving, or another process moves it: it stays, or goes back, where it was, about `waitMs` for
   *   transactions of the node that last; `aborted` by the signal, likewise; `node_unavailable` when a node does not answer: call it again;
   *   `not_found` for an account that has no node; `invalid_request`
   */
  move(accountId: string, options: AccountMoveOptions): Promise<AccountMoved>
  /**
   * Compares the routes of accounts with where Citus has their rows in the tables of `colocated`, page by page; it changes nothing. Needs a route that is a
   * `directory()`, and `citus.at` of the nodes.
   * @throws OutlayError `wrong_node` for a node that is another server of the cluster, or of none; `node_unavailable` when no node answers; `invalid_request`
   */
  placements(query?: PlacementQuery): Promise<PlacementPage>
  /**
   * Moves an account to the node where Citus has its rows, as `move` does, and goes on with a move that has not ended. Result `there` when it is beside them already.
   * @throws OutlayError `conflict` while Citus moves its rows, where they are on several servers, or on one that is no node: the sentence says what to do; what
   *   `placements` and `move` throw
   */
  follow(accountId: string, options?: Omit<AccountMoveOptions, 'to'>): Promise<AccountMoved>
}

/** Creates the commands of accounts: each is about the node of its account, and refuses a transaction of another one. */
export function createShardAccounts<Tx>(
  { routing, questions, guard }: ShardParts<Tx>,
  moves: Pick<ShardAccounts<Tx>, 'move' | 'placements' | 'follow'>,
): ShardAccounts<Tx> {
  const run = <T>(tx: Tx, accountId: string, command: (accounts: Accounts<Tx>) => Promise<T>) =>
    routing.checked(tx, accountId, ({ engine }) => command(engine.accounts))
  return {
    fundsArrived: (tx, accountId, note) => run(tx, accountId, (accounts) => accounts.fundsArrived(tx, accountId, note)),
    pause: (tx, accountId, note) =>
      routing.at(accountId, async ({ name, engine }) => {
        if (isAccountId(accountId)) await guard.checkStopping(tx, name, accountId, 'pause')
        return engine.accounts.pause(tx, accountId, note)
      }),
    resume: (tx, accountId, note) => run(tx, accountId, (accounts) => accounts.resume(tx, accountId, note)),
    retryCredentials: (tx, accountId, note) =>
      run(tx, accountId, (accounts) => accounts.retryCredentials(tx, accountId, note)),
    watch: (tx, accountId, options) => run(tx, accountId, (accounts) => accounts.watch(tx, accountId, options)),
    unwatch: (tx, accountId, options) => run(tx, accountId, (accounts) => accounts.unwatch(tx, accountId, options)),
    configure: (tx, accountId, change, note) =>
      run(tx, accountId, (accounts) => accounts.configure(tx, accountId, change, note)),
    get: (accountId, options) =>
      routing.at(accountId, (node) =>
        questions.askOne(node, (one) => {
          const read = () => one.engine.accounts.get(accountId, options)
          return isAccountId(accountId) ? whileHere(guard, one, accountId, read) : read()
        }),
      ),
    ...moves,
  }
}

/** Stops over all nodes: one of an account is on the node of the account, and every other one on the node of the transaction alone. */
export interface ShardStops<Tx> extends Pick<Stops<Tx>, 'add' | 'end'> {
  /** The committed stops of each node. */
  list(): Promise<NodeAnswers<readonly Stop[]>>
}

/** Creates the commands of stops. */
export function createShardStops<Tx>({ routing, questions, guard }: ShardParts<Tx>): ShardStops<Tx> {
  const at = async <T>(tx: Tx, target: StopTarget, run: (node: LimitedNode<Tx>) => Promise<T>) =>
    target?.scope === 'account' ? routing.checked(tx, target.name, run) : run(await routing.nodeBy(tx))
  return {
    add: async (tx, stop: StopTarget & OperatorNote) => {
      if (stop?.scope !== 'account') return (await routing.nodeBy(tx)).engine.stops.add(tx, stop)
      return routing.at(stop.name, async ({ name, engine }) => {
        if (isAccountId(stop.name)) await guard.checkStopping(tx, name, stop.name, 'stop')
        return engine.stops.add(tx, stop)
      })
    },
    end: (tx, target) => at(tx, target, ({ engine }) => engine.stops.end(tx, target)),
    list: () => questions.askAll(({ engine }) => engine.stops.list()),
  }
}
