import type { Postgres } from '@outlay/testing'
import type { Pool } from 'pg'
import { prepareCleaning } from './cleaning.ts'
import { bySocket, type HostDatabase, migrateHost, openPool } from './host-database.ts'

/** One database that gets what several have, so that whoever reads it sees them as one. */
export interface Gathered {
  readonly host: Pool
  /** Gathers everything anew. Gives what is in more than one of them, or without its transfer, in sentences. */
  gather(): Promise<readonly string[]>
  end(): Promise<void>
}

/** Tables of what belongs to a transfer. History in pages of the archive comes with the events and attempts. */
const tables = [
  ...['event', 'attempt', 'delivery', 'approval', 'hold', 'transfer_creator', 'transfer_return', 'return_report'],
  ...['resubmission', 'screening', 'screening_answer', 'limit_charge', 'limit_pass'],
]

const historyOf = (table: string): string =>
  ['event', 'attempt'].includes(table)
    ? `union all select h.* from outlay.archive a cross join lateral jsonb_each(a.history) as p (id, parts)
       join outlay.transfer t on t.id = p.id and t.archive_page = a.page
       cross join lateral jsonb_populate_recordset(null::outlay.${table}, p.parts -> '${table}s') h`
    : ''

/** What the hosts have themselves stays where it was written. One payout may be known on both. */
const others = ['outlay.transfer', 'outlay.outbox', 'outlay.counterparty', 'payout', 'effect']

interface Part {
  readonly name: string
  readonly rows: string
}

/** Makes such a database. */
export async function openGathered(server: Postgres, nodes: readonly HostDatabase[]): Promise<Gathered> {
  const host = openPool(bySocket(await server.createDatabase()))
  await migrateHost(host, { hasReferences: false })
  await host.query('create unique index on payout (transfer_id)')
  const clean = await prepareCleaning(host, ['outlay', 'public'])
  const readingOf = (name: string, rows: string) =>
    `select '${name}' as name, coalesce(jsonb_agg(x), '[]')::text as rows from (${rows}) x`
  const here = 'exists (select from outlay.transfer t where t.id = y.transfer_id)'
  const reading = [
    ...others.map((name) => readingOf(name, `select * from ${name}`)),
    ...tables.map((table) =>
      readingOf(`outlay.${table}`, `select y.* from outlay.${table} y where ${here} ${historyOf(table)}`),
    ),
  ].join(' union all ')
  const straying = tables
    .map((table) => `select '${table}' as name, count(*)::integer as count from outlay.${table} y where not ${here}`)
    .join(' union all ')
  const put = async ({ name, rows }: Part): Promise<number> => {
    const client = await host.connect()
    try {
      await client.query(`set session_replication_role = replica`)
      const { rows: counts } = await client.query<{ readonly left: number }>(
        `with given as (select r.* from jsonb_populate_recordset(null::${name}, $1::jsonb) r),
           put as (insert into ${name} select * from given on conflict do nothing returning 1)
         select ((select count(*) from given) - (select count(*) from put))::integer as left`,
        [rows],
      )
      return counts[0]?.left ?? 0
    } finally {
      client.release()
    }
  }
  return {
    host,
    async gather() {
      await clean()
      const found: string[] = []
      for (const node of nodes) {
        const { rows: strays } = await node.host.query<{ readonly name: string; readonly count: number }>(straying)
        for (const { name, count } of strays)
          if (count > 0) found.push(`${count} rows of ${name} are on ${node.name} without their transfers`)
        const { rows: parts } = await node.host.query<Part>(reading)
        for (const part of parts.filter(({ rows }) => rows !== '[]')) {
          const left = await put(part)
          if (left > 0 && part.name !== 'payout')
            found.push(`${left} rows of ${part.name} are on ${node.name} and on another node`)
        }
      }
      return found
    },
    end: () => host.end(),
  }
}
