import type { NodePlaces, TablePlace } from './citus-places.ts'

/** Where Citus has the rows of an account, compared with its route. */
export interface AccountPlacement {
  readonly accountId: string
  /** The node of its payouts. */
  readonly node: string
  /** The node that has its rows; null where they are on none, or on several, or where that is not known. */
  readonly rowsAt: string | null
  /**
   * - `beside`: its rows are on the node of its payouts
   * - `elsewhere`: they are on another node, to which `accounts.follow` moves it
   * - `moving`: a move of it between nodes has not ended; `accounts.follow` goes on with it
   * - `unsettled`: Citus moves them at this moment, or has not ended that
   * - `split`: tables of the host have them on several servers
   * - `unknown`: they are on a server that is none of the nodes
   */
  readonly kind: 'beside' | 'elsewhere' | 'moving' | 'unsettled' | 'split' | 'unknown'
  /** True while a move of it between nodes has not ended, also where `kind` says something that keeps it from going on. */
  readonly isMoving: boolean
  /** What to do about it, for a person; null where nothing is to be done. */
  readonly advice: string | null
}

/** What is known of one account: its route, a move of it that is open, and what each node that answers says of its rows. */
interface Known {
  readonly accountId: string
  readonly node: string
  readonly isMoving: boolean
  readonly places: ReadonlyMap<string, readonly TablePlace[]>
}

/** The places of an account by node, in the order of the tables. */
export function placesByNode(
  accountId: string,
  answers: Readonly<Record<string, NodePlaces>>,
): ReadonlyMap<string, readonly TablePlace[]> {
  return new Map(
    Object.entries(answers).map(([name, { places }]) => [
      name,
      places.filter((place) => place.accountId === accountId),
    ]),
  )
}

/** Judges where the rows of an account are. `nodeAt` gives the node at a host and port. */
export function judgePlacement(known: Known, nodeAt: (at: string) => string | undefined): AccountPlacement {
  const { accountId, node, isMoving, places } = known
  const found = (kind: AccountPlacement['kind'], rowsAt: string | null, advice: string | null): AccountPlacement => ({
    ...{ accountId, node, rowsAt, kind, isMoving, advice },
  })
  const unsettled = findUnsettled(places, nodeAt)
  if (unsettled !== undefined) return found('unsettled', null, unsettled)
  const [first = []] = places.values()
  const servers = [...new Set(first.map(({ at }) => at ?? 'no server'))]
  if (servers.length > 1) {
    const where = first.map(({ table, at }) => `${table} on ${at ?? 'no server'}`).join(', ')
    const advice = `The host's tables have its rows on several servers (${where}); colocate them, as with create_distributed_table('…', 'account_id', colocate_with => '${first[0]?.table}').`
    return found('split', null, advice)
  }
  const [at = 'no server'] = servers
  const rowsAt = nodeAt(at)
  if (rowsAt === undefined) {
    const advice = `Its rows are on ${at}, which is the "citus" of no node; add that server as a node, or move its shard with citus_move_shard_placement().`
    return found('unknown', null, advice)
  }
  if (isMoving) return found('moving', rowsAt, `A move of it has not ended; accounts.follow goes on with it.`)
  if (rowsAt === node) return found('beside', rowsAt, null)
  return found('elsewhere', rowsAt, `Its rows are on "${rowsAt}"; move it there with accounts.follow.`)
}

/** Says what shows that Citus moves the rows of an account; undefined where nothing does. */
function findUnsettled(places: Known['places'], nodeAt: (at: string) => string | undefined): string | undefined {
  const again = 'wait until Citus has moved it and cleaned up, and do it again.'
  const [first] = places
  for (const [name, tables] of places) {
    for (const [at, place] of tables.entries()) {
      const { table, shard, isSettled, isHere } = place
      if (!isSettled) return `The shard ${shard ?? 'of it'} of ${table} has not exactly one active placement; ${again}`
      const other = first?.[1][at]
      if (other?.shard !== shard || other?.at !== place.at)
        return `The nodes "${first?.[0]}" and "${name}" say different things about its shard of ${table}; ${again}`
      if (isHere && place.at !== null && nodeAt(place.at) !== name)
        return `The node "${name}" has a table of the shard ${shard} of ${table}, which is on ${place.at}; ${again}`
    }
  }
  return undefined
}
