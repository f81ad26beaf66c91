import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'

/** Where one node says that the rows of an account are in one table of the host. */
export interface TablePlace {
  readonly accountId: string
  readonly table: string
  /** Id of the shard; null where the table has none for it. */
  readonly shard: string | null
  /** Host and port of the server that has it, as in `pg_dist_node`; null where there is none. */
  readonly at: string | null
  /** True where exactly one server has it, and for good. */
  readonly isSettled: boolean
  /** True where this node has a table of that shard, whatever the catalog says. */
  readonly isHere: boolean
}

/** What a node knows of Citus for some accounts. */
export interface NodePlaces {
  /** Host and port of the node itself, as in `pg_dist_node`; null where it is no server of a cluster. */
  readonly self: string | null
  /** The first table that Citus does not distribute by a column here. */
  readonly undistributed: string | null
  readonly places: readonly TablePlace[]
}

const hasCitus = `select to_regclass('pg_dist_partition') is not null and to_regclass('pg_dist_local_group') is not null as found`

const selfText = `select n.nodename || ':' || n.nodeport as at from pg_dist_node n join pg_dist_local_group l on l.groupid = n.groupid
  where n.noderole::text = 'primary' order by n.nodeid limit 1`

const undistributedText = `select u.name from unnest($1::text[]) with ordinality as u (name, position)
  left join pg_dist_partition p on p.logicalrelid = to_regclass(u.name) where p.partmethod is distinct from 'h' order by u.position limit 1`

/**
 * A shard is settled where it has one placement, and that one is active. While Citus moves a shard, the node that it goes to has its table already, and the one
 * that it leaves has it for some seconds more.
 */
const placesText = `with placed as materialized (
    select u.account_id, get_shard_id_for_distribution_column(to_regclass($1), u.account_id) as shard from unnest($2::text[]) as u (account_id)
  )
  select p.account_id, p.shard::text as shard, a.at, coalesce(a.count = 1 and a.is_active, false) as is_settled,
    to_regclass(shard_name(to_regclass($1), p.shard)) is not null as is_here
  from placed p cross join lateral (
    select count(*) as count, bool_and(d.shardstate = 1) as is_active, min((
      select n.nodename || ':' || n.nodeport from pg_dist_node n
      where n.groupid = d.groupid and n.noderole::text = 'primary' order by n.nodeid limit 1)) as at
    from pg_dist_placement d where d.shardid = p.shard
  ) a`

/** Reads in a database of a Citus cluster where its catalogs have the rows of accounts in tables of the host. */
export async function readPlaces<Tx>(
  driver: Pick<Driver<Tx>, 'run'>,
  tables: readonly string[],
  accountIds: readonly string[],
): Promise<NodePlaces> {
  const { rows: citus } = await driver.run(hasCitus)
  if (citus[0]?.['found'] !== true) return { self: null, undistributed: null, places: [] }
  const self = readFirst(readSelf, (await driver.run(selfText)).rows)?.at ?? null
  const undistributed = readFirst(readName, (await driver.run(undistributedText, [tables])).rows)?.name ?? null
  if (self === null || undistributed !== null) return { self, undistributed, places: [] }
  const places: TablePlace[] = []
  for (const table of tables) {
    const { rows } = await driver.run(placesText, [table, accountIds])
    places.push(...rows.map((row) => ({ ...readPlace(row), table })))
  }
  return { self, undistributed, places }
}

const readSelf = rowDecoder('server', { at: Column.text })
const readName = rowDecoder('table', { name: Column.text })
const readPlace = rowDecoder('placement', {
  accountId: Column.text,
  shard: Column.nullable(Column.text),
  at: Column.nullable(Column.text),
  isSettled: Column.boolean,
  isHere: Column.boolean,
})
