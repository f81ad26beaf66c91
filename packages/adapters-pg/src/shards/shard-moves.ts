import { OutlayError } from '@outlay/core'
import { createAccountFollow } from './account-follow.ts'
import { createAccountMoves } from './account-move.ts'
import { createMoveNode } from './account-move-node.ts'
import type { NodeQuestions } from './node-answers.ts'
import type { ShardAccounts } from './shard-accounts.ts'
import type { LimitedNode } from './shard-node.ts'
import type { ShardRoute } from './shard-routing.ts'

/** What moves accounts between nodes. */
export interface ShardMoveParts<Tx> {
  readonly nodes: readonly LimitedNode<Tx>[]
  readonly questions: NodeQuestions<LimitedNode<Tx>>
  readonly route: ShardRoute
  readonly tokens: Readonly<Record<string, string>>
  readonly colocated: readonly string[]
  /** Host and port of nodes by their names, as a Citus cluster has them. */
  readonly servers: ReadonlyMap<string, string>
}

/** Creates the moves of accounts, which need a directory. */
export function createShardMoves<Tx>({
  nodes,
  route,
  tokens,
  ...rest
}: ShardMoveParts<Tx>): Pick<ShardAccounts<Tx>, 'move' | 'placements' | 'follow'> {
  const directory = typeof route === 'function' ? undefined : route
  const { moves } = directory ?? {}
  if (directory === undefined || moves === undefined) {
    const refuse = async () => {
      const message =
        'Accounts move with a route that is a directory(), which keeps where a move stands; this route is another one.'
      throw new OutlayError('invalid_request', message, { field: 'route' })
    }
    return { move: refuse, placements: refuse, follow: refuse }
  }
  const stores = new Map(nodes.map(({ name, driver }) => [name, createMoveNode(name, driver, tokens)] as const))
  const { move } = createAccountMoves({
    ...{ nodes: stores, moves, onSwitched: (accountId) => directory.forget(accountId) },
  })
  return { move, ...createAccountFollow({ ...rest, moves, move }) }
}
