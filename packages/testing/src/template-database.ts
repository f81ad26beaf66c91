import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { createDatabase, databaseName, databaseUrl, dropDatabase, withAdmin } from './database.ts'
import type { Postgres } from './postgres.ts'

/** Longest name that Postgres does not truncate, in bytes. */
const longestName = 63

/** A database that was prepared once and is copied as often as needed. */
export interface DatabaseTemplate {
  /** Name of the template database. */
  readonly name: string
  /** Makes a copy and returns its connection string. */
  clone(): Promise<string>
}

/**
 * Prepares a template database, once per server and name. Later calls, from any process, get the same one.
 *
 * @param prepare - prepares an empty database, for example by migrating it, and closes its connections
 * @throws Error when `prepare` fails or leaves connections open; the next call starts again.
 */
export async function createTemplate(
  postgres: Pick<Postgres, 'url'>,
  name: string,
  prepare: (url: string) => Promise<void>,
): Promise<DatabaseTemplate> {
  if (Buffer.byteLength(name) > longestName - '_building'.length) {
    throw new Error(`The template's name is too long for Postgres: ${name}`)
  }
  await withAdmin(postgres.url, async (admin) => {
    // The lock belongs to this session and ends with it.
    await admin.query('select pg_advisory_lock(hashtextextended($1, 0))', [`outlay-template:${name}`])
    const found = await admin.query('select from pg_database where datname = $1', [name])
    if (found.rowCount === 0) await build(admin, postgres.url, name, prepare)
  })
  return { name, clone: () => createDatabase(postgres.url, cloneName(name), name) }
}

/** The template gets its name only when it is complete, so a half-prepared one is never copied. */
async function build(
  admin: pg.Client,
  adminUrl: string,
  name: string,
  prepare: (url: string) => Promise<void>,
): Promise<void> {
  const building = `${name}_building`
  await dropDatabase(adminUrl, building)
  const url = await createDatabase(adminUrl, building)
  await prepare(url)
  await assertNoConnections(adminUrl, building)
  await admin.query(`alter database ${pg.escapeIdentifier(building)} rename to ${pg.escapeIdentifier(name)}`)
}

function cloneName(template: string): string {
  return `${template.slice(0, longestName - 17)}_${randomBytes(8).toString('hex')}`
}

/**
 * Throws when a database still has connections after `graceMs`, because a pool was not closed.
 *
 * A closed connection stays visible until its server process has ended, hence the grace. Default 30 000 ms.
 */
export async function assertNoConnections(adminUrl: string, nameOrUrl: string, graceMs = 30_000): Promise<void> {
  const name = nameOrUrl.includes('://') ? databaseName(nameOrUrl) : nameOrUrl
  const deadline = performance.now() + graceMs
  await withAdmin(adminUrl, async (admin) => {
    for (;;) {
      const isLast = performance.now() > deadline
      const open = await admin.query<OpenConnection>(openConnections, [name])
      if (open.rows.length === 0) return
      if (isLast) throw new Error(describeLeak(name, open.rows))
      await delay(20)
    }
  })
}

interface OpenConnection {
  readonly application_name: string
  readonly state: string | null
  readonly query: string
}

const openConnections = `
  select application_name, state, left(query, 200) as query
  from pg_stat_activity
  where datname = $1 and backend_type = 'client backend'
  order by backend_start`

function describeLeak(name: string, open: readonly OpenConnection[]): string {
  const lines = open.map(({ application_name, state, query }) => `- ${application_name || '?'}, ${state}: ${query}`)
  const count = open.length === 1 ? 'One connection is' : `${open.length} connections are`
  return `${count} still open to ${name}; close every pool before the test file ends.\n${lines.join('\n')}`
}

/** Drops every database whose name begins with the prefix. Returns how many. */
export async function dropDatabasesByPrefix(adminUrl: string, prefix: string): Promise<number> {
  const found = await withAdmin(adminUrl, (admin) =>
    admin.query<{ datname: string }>('select datname from pg_database where starts_with(datname, $1)', [prefix]),
  )
  for (const { datname } of found.rows) await dropDatabase(databaseUrl(adminUrl, 'postgres'), datname)
  return found.rows.length
}
