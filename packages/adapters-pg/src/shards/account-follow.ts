import { OutlayError } from '@outlay/core'
import { checkNames, checkNumbers } from '@outlay/core/adapter'
import type { AccountMoved, AccountMoves } from './account-move.ts'
import { moveRefused } from './account-move-check.ts'
import type { DirectoryAccount, DirectoryMoves } from './account-move-directory.ts'
import type { AccountMoveOptions } from './account-move-run.ts'
import { type AccountPlacement, judgePlacement, placesByNode } from './account-placement.ts'
import { type NodePlaces, readPlaces } from './citus-places.ts'
import type { MissingNode, NodeQuestions } from './node-answers.ts'
import type { LimitedNode } from './shard-node.ts'
import { isAccountId } from './shard-routing.ts'

/** Which accounts of the directory are compared with where Citus has their rows. */
export interface PlacementQuery {
  /** These alone, up to 1 000, as far as the directory has them. Default: all, page by page. */
  readonly accountIds?: readonly string[] | undefined
  /** Goes on behind this account. Default: from the first one, in the order of the directory. */
  readonly after?: string | undefined
  /** How many at most, from 1 to 1 000. Default 1 000. */
  readonly limit?: number | undefined
}

/** Placements of some accounts. */
export interface PlacementPage {
  readonly placements: readonly AccountPlacement[]
  /** `after` of the next page; null behind the last account. */
  readonly next: string | null
  /** Nodes that did not answer: what they would have said of the accounts is not known. */
  readonly missing: readonly MissingNode[]
}

/** Moves accounts to where Citus has the rows of the host. */
export interface AccountFollow {
  placements(query?: PlacementQuery): Promise<PlacementPage>
  follow(accountId: string, options?: Omit<AccountMoveOptions, 'to'>): Promise<AccountMoved>
}

/** What following needs. */
export interface FollowParts<Tx> {
  readonly questions: NodeQuestions<LimitedNode<Tx>>
  readonly moves: DirectoryMoves
  readonly move: AccountMoves['move']
  /** Tables of the host. */
  readonly colocated: readonly string[]
  /** Host and port of nodes by their names, as in `pg_dist_node`. */
  readonly servers: ReadonlyMap<string, string>
}

const mostAccounts = 1_000

/** Makes what follows Citus. */
export function createAccountFollow<Tx>(parts: FollowParts<Tx>): AccountFollow {
  const { moves, move } = parts
  return {
    async placements(query = {}) {
      checkNames(query, ['accountIds', 'after', 'limit'])
      const { accountIds, after = '', limit = mostAccounts } = query
      checkNumbers({ limit }, { limit: { min: 1, max: mostAccounts, integer: true } })
      checkOptions(parts)
      if (accountIds !== undefined) {
        checkIds(accountIds)
        return { ...(await judge(parts, await moves.accountsOf(accountIds))), next: null }
      }
      const accounts = await moves.accounts(after, limit)
      const next = accounts.length < limit ? null : (accounts.at(-1)?.accountId ?? null)
      return { ...(await judge(parts, accounts)), next }
    },
    async follow(accountId, options = {}) {
      if (!isAccountId(accountId))
        throw new OutlayError('invalid_id', 'accountId must be the id of an account', { field: 'accountId' })
      checkOptions(parts)
      const to = await findNode(parts, accountId)
      const open = await moves.open(accountId)
      // A move to another node is ended first: taken back where that is still possible.
      if (open !== undefined && (open.state === 'returning' || open.toNode !== to)) {
        const ended = await move(accountId, {
          ...options,
          to: open.state === 'switched' ? open.toNode : open.fromNode,
        })
        if (ended.to === to) return ended
      }
      return move(accountId, { ...options, to })
    },
  }
}

/** The node that has the rows of an account, where nothing keeps the account from moving there. */
async function findNode<Tx>(parts: FollowParts<Tx>, accountId: string): Promise<string> {
  const [account] = await parts.moves.accountsOf([accountId])
  if (account === undefined) {
    const message = `The directory has no node for the account ${accountId}; assign one with assign(accountId, node).`
    throw new OutlayError('not_found', message, { field: 'accountId' })
  }
  const { placements, missing } = await judge(parts, [account])
  const [placement] = placements
  const lacking = missing.find(({ node }) => node === account.node || node === placement?.rowsAt)
  if (lacking !== undefined) throw lacking.error
  const isFollowed = placement?.kind === 'beside' || placement?.kind === 'elsewhere' || placement?.kind === 'moving'
  if (isFollowed && placement.rowsAt !== null) return placement.rowsAt
  throw moveRefused(accountId, lowerFirst(placement?.advice ?? 'no node says where its rows are.'))
}

async function judge<Tx>(
  { questions, colocated, servers }: FollowParts<Tx>,
  accounts: readonly DirectoryAccount[],
): Promise<Omit<PlacementPage, 'next'>> {
  const ids = accounts.map(({ accountId }) => accountId)
  const { answers, missing } = await questions.askAll(({ driver }) => readPlaces(driver, colocated, ids))
  const known = Object.fromEntries(Object.entries(answers).filter(([name]) => servers.has(name)))
  for (const [name, places] of Object.entries(known)) checkServer(name, servers.get(name), places)
  const [dead] = missing
  if (Object.keys(known).length === 0 && dead !== undefined) throw dead.error
  const byServer = new Map([...servers].map(([name, at]) => [at, name]))
  const placements = accounts.map(({ accountId, node, isMoving }) =>
    judgePlacement({ accountId, node, isMoving, places: placesByNode(accountId, known) }, (at) => byServer.get(at)),
  )
  return { placements, missing }
}

/** Refuses a node that is another server than the one that the host names, or that does not know the tables. */
function checkServer(name: string, at: string | undefined, { self, undistributed }: NodePlaces): void {
  const refuse = (field: string, why: string) => new OutlayError('wrong_node', `The node "${name}" ${why}`, { field })
  if (self === null)
    throw refuse(
      `nodes.${name}.citus.at`,
      `is no server of a Citus cluster; connect it to a worker itself, and run start_metadata_sync_to_all_nodes() on the coordinator.`,
    )
  if (self !== at)
    throw refuse(
      `nodes.${name}.citus.at`,
      `is the server ${self} in pg_dist_node, and not ${at}; correct its "citus" or its connection string.`,
    )
  if (undistributed !== null)
    throw refuse(
      'colocated',
      `does not know ${undistributed} as a table that Citus distributes; distribute it by account, or take it out of "colocated".`,
    )
}

function checkOptions<Tx>({ colocated, servers }: FollowParts<Tx>): void {
  if (colocated.length === 0) {
    const message = 'colocated must name the tables of the host whose rows payouts follow, as ["app.invoice"]'
    throw new OutlayError('invalid_request', message, { field: 'colocated' })
  }
  if (servers.size > 0) return
  const message =
    'nodes.<name>.citus.at must be the host and port of each node in pg_dist_node, such as "worker-1:5432"'
  throw new OutlayError('invalid_request', message, { field: 'nodes' })
}

function checkIds(accountIds: readonly string[]): void {
  if (Array.isArray(accountIds) && accountIds.length <= mostAccounts && accountIds.every(isAccountId)) return
  const message = `accountIds must be a list of up to ${mostAccounts} ids of accounts`
  throw new OutlayError('invalid_request', message, { field: 'accountIds' })
}

const lowerFirst = (text: string): string => `${text[0]?.toLowerCase() ?? ''}${text.slice(1)}`
