import { OutlayError } from '@outlay/core'
import type { DirectoryMoves } from './account-move-directory.ts'
import type { NodeGuard } from './node-guard.ts'
import { nodeUnavailable } from './node-reachability.ts'
import { within } from './question-limit.ts'
import type { LimitedNode } from './shard-node.ts'

/** Where accounts are: a directory with a cache, as {@link createDirectory} makes one. */
export interface RouteDirectory {
  /** The name of the node of an account: at once where it is cached, else a promise. */
  find(accountId: string): string | Promise<string>
  /** Forgets what is cached of an account, since a node has refused it. */
  forget(accountId: string): void
  /** Where moves of accounts keep their steps; absent where accounts do not move. */
  readonly moves?: DirectoryMoves | undefined
}

/**
 * Names the node of an account: a pure function of the host's, without a promise, or a directory. A function gives the same name for an account for
 * as long as the account has anything on that node.
 */
export type ShardRoute = ((accountId: string) => string) | RouteDirectory

/** Finds the node of an account or of a transaction. */
export interface ShardRouting<Tx> {
  /**
   * The node of an account. Gives any node for what is no id of an account: its engine refuses that before any SQL.
   * @throws Error when the route names no node
   */
  nodeOf(accountId: string): LimitedNode<Tx> | Promise<LimitedNode<Tx>>
  /**
   * The node whose transaction it is, by a statement in it.
   * @throws OutlayError `wrong_node` for a database that is none of the nodes
   */
  nodeBy(tx: Tx): Promise<LimitedNode<Tx>>
  /** Runs a command of an account, and forgets its cached route when the node refuses it. */
  at<T>(accountId: string, run: (node: LimitedNode<Tx>) => Promise<T>): Promise<T>
  /** The same in the host's transaction, which is checked first. */
  checked<T>(tx: Tx, accountId: string, run: (node: LimitedNode<Tx>) => Promise<T>): Promise<T>
}

const accountIdPattern = /^[\x21-\x7e]{1,255}$/

/** True for what can be the id of an account. */
export const isAccountId = (value: unknown): value is string =>
  typeof value === 'string' && accountIdPattern.test(value)

/** Makes the routing over nodes, of which there is at least one. */
export function createShardRouting<Tx>(
  nodes: ReadonlyMap<string, LimitedNode<Tx>>,
  route: ShardRoute,
  guard: NodeGuard<Tx>,
  timeoutMs: number,
): ShardRouting<Tx> {
  const [any] = nodes.values()
  if (any === undefined) throw new Error('There is no node.')
  const directory = typeof route === 'function' ? undefined : route
  const find = typeof route === 'function' ? route : (accountId: string) => route.find(accountId)
  const demand = (name: unknown, accountId: string) => {
    const node = typeof name === 'string' ? nodes.get(name) : undefined
    if (node !== undefined) return node
    const there = [...nodes.keys()].join(', ')
    throw new Error(
      `The route of the account ${accountId} is ${JSON.stringify(name)}, which is no node; there are ${there}.`,
    )
  }
  const nodeOf: ShardRouting<Tx>['nodeOf'] = (accountId) => {
    if (!isAccountId(accountId)) return any
    const found = find(accountId)
    return typeof found === 'string' ? demand(found, accountId) : waitFor(found, accountId)
  }
  const waitFor = async (found: Promise<string>, accountId: string) => {
    if (directory === undefined)
      throw new Error('The route of shards() is a function that returns the name of a node, and no promise.')
    const late = () => nodeUnavailable('directory', `no answer within ${timeoutMs} ms`)
    return demand(await within(timeoutMs, found, late), accountId)
  }
  const at: ShardRouting<Tx>['at'] = async (accountId, run) => {
    try {
      return await run(await nodeOf(accountId))
    } catch (error) {
      if (OutlayError.is(error, 'wrong_node') || OutlayError.is(error, 'account_moving')) directory?.forget(accountId)
      throw error
    }
  }
  return {
    nodeOf,
    at,
    async nodeBy(tx) {
      const name = await guard.nameOf(tx)
      const node = name === undefined ? undefined : nodes.get(name)
      if (node !== undefined) return node
      const what =
        name === undefined ? 'a database that is no node yet' : `the node "${name}", which these shards do not have`
      const message = `tx is a transaction of ${what}; there are ${[...nodes.keys()].join(', ')}. Give one of these, and run migrate() or start() once, which names each.`
      throw new OutlayError('wrong_node', message, { field: 'tx' })
    },
    checked: (tx, accountId, run) =>
      at(accountId, async (node) => {
        if (isAccountId(accountId)) await guard.check(tx, node.name, [accountId])
        return run(node)
      }),
  }
}
