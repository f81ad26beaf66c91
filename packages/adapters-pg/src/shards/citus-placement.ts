import { OutlayError } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { fillTokens } from '../database/statement.ts'

/** A table of the host whose rows of some accounts are not beside their payouts. */
export interface Misplacement {
  /** As the host named it. */
  readonly table: string
  /**
   * - `missing`: there is no such table
   * - `elsewhere`: Citus has the rows of these accounts on another server
   * - `everywhere`: it is a reference table, which Citus writes on every server in two phases
   */
  readonly kind: 'missing' | 'elsewhere' | 'everywhere'
  /** How many of the accounts that were checked; 0 where it is not about accounts. */
  readonly accounts: number
  /** One of them; null where it is not about accounts. */
  readonly account: string | null
  /** Host and port of the server that has its rows; null where none is known. */
  readonly at: string | null
}

/** Accounts with something open that one check covers; those of the newest transfers. */
const mostAccounts = 1_000

const hasCitus = `select to_regclass('pg_dist_partition') is not null and to_regclass('pg_dist_local_group') is not null as found`

const tablesText = `select u.name as table, to_regclass(u.name) is not null as is_there, p.partmethod = 'n' and p.repmodel = 't' as is_reference,
    p.partmethod = 'h' as is_distributed
  from unnest($1::text[]) with ordinality as u (name, position)
  left join pg_dist_partition p on p.logicalrelid = to_regclass(u.name) order by u.position`

/**
 * The shard of an account, as Citus itself finds it, and the server that has it. A shard without a placement here is elsewhere. Names without a
 * schema: Citus has its catalogs in pg_catalog, which is searched first.
 */
const placedText = `with recent as materialized (
    select t.id, t.account_id from {{schema}}.transfer t where t.stage <> 'settled' order by t.id desc limit 20000
  ), open as materialized (
    select r.account_id from recent r group by r.account_id order by max(r.id) desc limit ${mostAccounts}
  ), placed as materialized (
    select o.account_id, get_shard_id_for_distribution_column(to_regclass($1), o.account_id) as shard from open o
  ), elsewhere as (
    select p.account_id, (
      select n.nodename || ':' || n.nodeport from pg_dist_placement d join pg_dist_node n on n.groupid = d.groupid
      where d.shardid = p.shard and n.noderole::text = 'primary' order by n.nodeid limit 1
    ) as at
    from placed p where not exists (
      select 1 from pg_dist_placement d join pg_dist_local_group l on l.groupid = d.groupid where d.shardid = p.shard)
  )
  select count(*)::integer as accounts, min(e.account_id) as account,
    (array_agg(e.at order by e.account_id))[1] as at from elsewhere e`

/**
 * Finds tables of the host whose rows do not commit with payouts in one phase, in a database of a Citus cluster. Elsewhere only a missing table is
 * found. `schema` is the engine's.
 *
 * A commit that spans two servers is not one: Citus commits on the other one first, and where the commit here fails after that, the host's
 * row stays without its payout.
 */
export async function findMisplaced<Tx>(
  driver: Pick<Driver<Tx>, 'run'>,
  schema: string,
  tables: readonly string[],
): Promise<readonly Misplacement[]> {
  if (tables.length === 0) return []
  return findIn(driver, { schema: `"${schema}"` }, tables)
}

async function findIn<Tx>(
  driver: Pick<Driver<Tx>, 'run'>,
  tokens: Readonly<Record<string, string>>,
  tables: readonly string[],
): Promise<readonly Misplacement[]> {
  const { rows: citus } = await driver.run(hasCitus)
  const isCitus = citus[0]?.['found'] === true
  const found: Misplacement[] = []
  const note = (table: string, kind: Misplacement['kind']) =>
    found.push({ table, kind, accounts: 0, account: null, at: null })
  const text = isCitus
    ? tablesText
    : `select u.name as table, to_regclass(u.name) is not null as is_there, false as is_reference, false as is_distributed
        from unnest($1::text[]) with ordinality as u (name, position) order by u.position`
  const { rows } = await driver.run(text, [tables])
  for (const { table, isThere, isReference, isDistributed } of rows.map(readTable)) {
    if (!isThere) note(table, 'missing')
    else if (isReference === true) note(table, 'everywhere')
    else if (isDistributed === true) {
      const placed = await driver.run(fillTokens(placedText, tokens), [table])
      const { accounts, account, at } = readPlaced(placed.rows[0] ?? {})
      if (accounts > 0) found.push({ table, kind: 'elsewhere', accounts, account, at })
    }
  }
  return found
}

/** One sentence about a misplacement, and what to do about it. */
export function explainMisplacement({ table, kind, accounts, account, at }: Misplacement): string {
  switch (kind) {
    case 'missing':
      return `There is no table ${table} in this database; name it as schema.table, or leave it out.`
    case 'everywhere':
      return `${table} is a reference table, which Citus writes on every server in two phases; keep what commits with payouts in tables that are distributed by account.`
    case 'elsewhere': {
      const more = accounts === 1 ? '' : `, and of ${accounts - 1} further accounts`
      return `Citus has the rows of the account ${account} in ${table} on ${at ?? 'another server'}${more}, and its payouts are here: a commit that fails here would leave such a row without its payout. Move the account to the node of its rows, or its shard here.`
    }
  }
}

/** Makes the check of a start. It refuses a node where a table of the host is misplaced; where commits are of two phases (`isPinned`), one that is missing alone. */
export function createPlacementCheck(tokens: Readonly<Record<string, string>>, tables: readonly string[]) {
  return async <Tx>(node: string, driver: Driver<Tx>, isPinned: boolean): Promise<void> => {
    if (tables.length === 0) return
    const first = (await findIn(driver, tokens, tables)).find(({ kind }) => !isPinned || kind === 'missing')
    if (first === undefined) return
    throw new OutlayError('wrong_node', `The node "${node}": ${explainMisplacement(first)}`, { field: 'colocated' })
  }
}

const readTable = rowDecoder('table', {
  table: Column.text,
  isThere: Column.boolean,
  isReference: Column.nullable(Column.boolean),
  isDistributed: Column.nullable(Column.boolean),
})
const readPlaced = rowDecoder('placement', {
  accounts: Column.integer,
  account: Column.nullable(Column.text),
  at: Column.nullable(Column.text),
})
