import { applyMigrations } from '@outlay/adapters-pg'
import type { Pool, PoolClient } from 'pg'
import { serviceMigrations } from '../src/database/migrations.ts'
import { systemSession } from '../src/database/tenant.ts'

/** The last migration of the service that an earlier release had. */
const lastOfEarlierRelease = '0006_entries_read_by_index'

/**
 * Gives a schema of the service, which nobody uses meanwhile, the tables of an earlier release, with as much of its rows as fits them: what
 * that release would have left to an upgrade. Functions and views are missing, and a migration brings them back.
 */
export async function turnBack(pool: Pool, schema: string, last = lastOfEarlierRelease): Promise<void> {
  const later = `${schema}_later`
  const client = await pool.connect()
  try {
    await client.query(systemSession.begin)
    await client.query(`alter schema "${schema}" rename to "${later}"`)
    const migrations = serviceMigrations.filter(({ name, sql, repeatable }) =>
      repeatable ? /\breturns trigger\b/.test(sql) : name <= last,
    )
    await applyMigrations(client, { schema, migrations })
    for (const table of await tablesOf(client, schema)) await copyRows(client, table, schema, later)
    await client.query(`drop schema "${later}" cascade`)
  } finally {
    // Closed, since it acts as the system.
    client.release(true)
  }
}

/** The tables of a schema, each behind those that it refers to. */
async function tablesOf(client: PoolClient, schema: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string; parents: readonly string[] }>(
    `select c.relname as name, array(
              select p.relname::text from pg_constraint r join pg_class p on p.oid = r.confrelid
               where r.conrelid = c.oid and r.contype = 'f' and p.oid <> c.oid
            ) as parents
       from pg_class c
      where c.relnamespace = $1::regnamespace and c.relkind = 'r' and c.relname <> 'migration'
      order by c.relname`,
    [schema],
  )
  const placed: string[] = []
  while (placed.length < rows.length) {
    const next = rows.find(
      ({ name, parents }) => !placed.includes(name) && parents.every((one) => placed.includes(one)),
    )
    if (next === undefined) throw new Error('Tables refer to each other in a circle.')
    placed.push(next.name)
  }
  return placed
}

/** Copies the columns that a table has in both schemas. */
async function copyRows(client: PoolClient, table: string, schema: string, later: string): Promise<void> {
  const { rows } = await client.query<{ name: string; sequence: string | null }>(
    `select quote_ident(a.attname) as name, pg_get_serial_sequence(format('%I.%I', $1::text, $3::text), a.attname) as sequence
       from pg_attribute a
       join pg_attribute b on b.attrelid = format('%I.%I', $2::text, $3::text)::regclass and b.attname = a.attname
      where a.attrelid = format('%I.%I', $1::text, $3::text)::regclass and a.attnum > 0
        and not a.attisdropped and not b.attisdropped and a.attgenerated = '' and b.attgenerated = ''`,
    [schema, later, table],
  )
  const columns = rows.map(({ name }) => name).join(', ')
  await client.query(`delete from "${schema}"."${table}"`)
  await client.query(
    `insert into "${schema}"."${table}" (${columns}) overriding system value select ${columns} from "${later}"."${table}"`,
  )
  for (const { name, sequence } of rows) {
    if (sequence === null) continue
    await client.query(`select setval($1, (select coalesce(max(${name}), 0) + 1 from "${schema}"."${table}"))`, [
      sequence,
    ])
  }
}
