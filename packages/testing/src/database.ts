import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

/** Makes a database on the server of `adminUrl` and returns its connection string. */
export async function createDatabase(adminUrl: string, name: string, template?: string): Promise<string> {
  const source = template === undefined ? '' : ` template ${pg.escapeIdentifier(template)}`
  await withAdmin(adminUrl, (admin) => admin.query(`create database ${pg.escapeIdentifier(name)}${source}`))
  return databaseUrl(adminUrl, name)
}

/**
 * Drops a database on the server of `adminUrl`. Accepts a name or a connection string.
 * Sessions that are about to end get `graceMs` to do so, by default half a minute; those that stay are ended.
 */
export async function dropDatabase(adminUrl: string, nameOrUrl: string, graceMs = 30_000): Promise<void> {
  const name = nameOrUrl.includes('://') ? databaseName(nameOrUrl) : nameOrUrl
  await withAdmin(adminUrl, async (admin) => {
    await sessionsEnd(admin, name, graceMs)
    await admin.query(`drop database if exists ${pg.escapeIdentifier(name)} with (force)`)
  })
}

/** The `end()` of pg's pool resolves before its sockets are closed; a session ended in between throws where nobody listens. */
async function sessionsEnd(admin: pg.Client, name: string, graceMs: number): Promise<void> {
  const deadline = performance.now() + graceMs
  const sessions = "select 1 from pg_stat_activity where datname = $1 and backend_type = 'client backend' limit 1"
  while ((await admin.query(sessions, [name])).rowCount !== 0 && performance.now() < deadline) await delay(10)
}

/** The connection string of another database on the same server. */
export function databaseUrl(adminUrl: string, name: string): string {
  const url = new URL(adminUrl)
  url.pathname = `/${encodeURIComponent(name)}`
  return url.toString()
}

/** The name of the database in a connection string. */
export function databaseName(url: string): string {
  return decodeURIComponent(new URL(url).pathname.slice(1))
}

/** Runs `work` on a separate connection. */
export async function withAdmin<T>(url: string, work: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client({ connectionString: url, application_name: 'outlay-testing' })
  // A server that disconnects reports here as well as to the current query. Without a listener, that would end the process.
  admin.on('error', () => {})
  await admin.connect()
  try {
    return await work(admin)
  } finally {
    await admin.end()
  }
}
