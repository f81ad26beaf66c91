import { createHash } from 'node:crypto'
import { OutlayError } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import type { Row, Statement } from '../database/statement.ts'

/** Why a table does not make Citus commit in two phases. */
export interface PinFault {
  /** As the host named it. */
  readonly table: string
  /**
   * - `no_citus`: this database has no Citus
   * - `missing`: there is no such table
   * - `unknown`: Citus does not distribute it by a column
   * - `elsewhere`: no shard of it that is found by a text or a number is on this server
   */
  readonly kind: 'no_citus' | 'missing' | 'unknown' | 'elsewhere'
}

/** Makes Citus commit transactions of one node in two phases. */
export interface CitusPin<Tx> {
  /** Finds a shard of the table on this node. Throws `wrong_node` where there is none. */
  check(): Promise<void>
  /**
   * Touches the table in a transaction, and keeps its shard on this node until the end of it. Writes nothing.
   * @throws OutlayError `wrong_node` where its shard has left the node: roll back
   */
  write(tx: Tx): Promise<void>
}

const hasCitus = `select to_regclass('pg_dist_partition') is not null and to_regclass('pg_dist_local_group') is not null as found`

const tableText = `select c.oid::regclass::text as table, case when p.partmethod = 'h' then quote_ident(column_to_column_name(p.logicalrelid, p.partkey)) end as column
  from pg_class c left join pg_dist_partition p on p.logicalrelid = c.oid where c.oid = to_regclass($1)`

/** Values that are tried: each is in another shard, so that of a table with up to some hundred shards one is here. */
const tried = 2_000

const isHere = (value: string) => `exists (
    select from pg_dist_placement d join pg_dist_local_group l on l.groupid = d.groupid
    where d.shardid = get_shard_id_for_distribution_column(to_regclass($1), ${value}))`

const valueText = `select v.n::text as value from generate_series(1, ${tried}) as v (n) where ${isHere('v.n::text')} order by v.n limit 1`

/** What a pin works with: the table and its column as SQL, and a value whose shard is here. */
interface PinPlace {
  readonly table: string
  readonly column: string
  readonly value: string
}

/** Runs a text of SQL, in a transaction or outside of one. */
type Run = (text: string, values: readonly unknown[]) => Promise<readonly Row[]>

async function findPlace(run: Run, table: string): Promise<PinPlace | PinFault['kind']> {
  const [citus] = await run(hasCitus, [])
  if (citus?.['found'] !== true) return 'no_citus'
  const found = readFirst(readTable, await run(tableText, [table]))
  if (found === undefined) return 'missing'
  if (found.column === null) return 'unknown'
  const value = readFirst(readValue, await run(valueText, [table]))?.value
  return value === undefined ? 'elsewhere' : { table: found.table, column: found.column, value }
}

const outside =
  <Tx>(driver: Pick<Driver<Tx>, 'run'>): Run =>
  async (text, values) =>
    (await driver.run(text, values)).rows

/** Checks that a table makes Citus commit in two phases in this database; undefined where it does. */
export async function findPinFault<Tx>(driver: Pick<Driver<Tx>, 'run'>, table: string): Promise<PinFault | undefined> {
  const found = await findPlace(outside(driver), table)
  return typeof found === 'string' ? { table, kind: found } : undefined
}

/** One sentence about a pin that is none, and what to do about it. */
export function explainPinFault({ table, kind }: PinFault): string {
  switch (kind) {
    case 'no_citus':
      return `This database has no Citus, so the table ${table} makes no commit of two phases; leave out "pin".`
    case 'missing':
      return `There is no table ${table} for the pin; name it as schema.table, and make it on the coordinator.`
    case 'unknown':
      return `Citus does not distribute the table ${table} of the pin by a column, so a transaction that touches it commits in one phase; run create_distributed_table() for it.`
    case 'elsewhere':
      return `No shard of the table ${table} of the pin is on this node, so a transaction that touches it may commit in one phase; move one here, and keep the table out of rebalancing.`
  }
}

/** Makes the pin of one node. It finds its shard with the check or the first transaction, and again after a refusal. */
export function createCitusPin<Tx>(node: string, driver: Driver<Tx>, table: string): CitusPin<Tx> {
  let known: PinPlace | undefined
  const find = async (run: Run): Promise<PinPlace> => {
    known = undefined
    const found = await findPlace(run, table)
    if (typeof found === 'string') throw refuse(node, explainPinFault({ table, kind: found }))
    known = found
    return found
  }
  return {
    async check() {
      await find(outside(driver))
    },
    async write(tx) {
      const run: Run = (text, values) => driver.execute(tx, named(text), values)
      // In the transaction itself: the host's pool may have no other connection.
      const place = known ?? (await find(run))
      // Citus asks whether a statement modifies, and not whether it has: no row is written or locked. The planner sees no contradiction in it that it could leave out.
      await run(`delete from ${place.table} where ${place.column} = $1 and ${place.column} <> $1`, [place.value])
      // From here on its shard stays where it is, since Citus moves none while a transaction has it locked.
      const there = await run(`select ${isHere('$2::text')} as is_here`, [place.table, place.value])
      if (readFirst(readHere, there)?.isHere === true) return
      known = undefined
      throw refuse(
        node,
        `The shard of the table ${table} of the pin is not on this node any more; roll back, and try again.`,
      )
    },
  }
}

const refuse = (node: string, why: string) =>
  new OutlayError('wrong_node', `The node "${node}": ${why}`, { field: `nodes.${node}.citus.pin` })

const named = (text: string): Statement => ({
  name: `outlay_pin_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`,
  text,
})

const readTable = rowDecoder('table', { table: Column.text, column: Column.nullable(Column.text) })
const readValue = rowDecoder('shard', { value: Column.text })
const readHere = rowDecoder('shard', { isHere: Column.boolean })
