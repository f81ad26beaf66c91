import pg from 'pg'
import { databaseName, withAdmin } from './database.ts'

/** A role that may only log in. It can access only what it owns. */
export interface OrdinaryRole {
  readonly name: string
  /** The given connection string with this role. */
  urlOf(url: string): string
}

/** Makes an ordinary role on the server, once per name, from any process. */
export async function createOrdinaryRole(adminUrl: string, name: string): Promise<OrdinaryRole> {
  const role = pg.escapeIdentifier(name)
  await withAdmin(adminUrl, async (admin) => {
    await admin.query('select pg_advisory_lock(hashtextextended($1, 0))', [`outlay-role:${name}`])
    const found = await admin.query('select from pg_roles where rolname = $1', [name])
    if (found.rowCount === 0) await admin.query(`create role ${role} login password ${pg.escapeLiteral(name)}`)
  })
  return { name, urlOf: (url) => withUser(url, name) }
}

/** Gives a database to a role, which may then make schemas in it. */
export async function giveDatabase(adminUrl: string, url: string, role: OrdinaryRole): Promise<void> {
  const [database, owner] = [databaseName(url), role.name].map((name) => pg.escapeIdentifier(name))
  await withAdmin(adminUrl, (admin) => admin.query(`alter database ${database} owner to ${owner}`))
}

/** Drops every role whose name begins with the prefix; their databases must not exist any more. */
export async function dropRolesByPrefix(adminUrl: string, prefix: string): Promise<void> {
  await withAdmin(adminUrl, async (admin) => {
    const text = 'select rolname as name from pg_roles where starts_with(rolname, $1)'
    const { rows } = await admin.query<{ name: string }>(text, [prefix])
    for (const { name } of rows) await admin.query(`drop role ${pg.escapeIdentifier(name)}`)
  })
}

function withUser(url: string, name: string): string {
  const changed = new URL(url)
  changed.username = name
  changed.password = name
  return changed.toString()
}
