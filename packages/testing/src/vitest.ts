import '@outlay/core/node-version'
import { randomBytes } from 'node:crypto'
import { afterAll, inject } from 'vitest'
import { createDatabase, dropDatabase } from './database.ts'
import { createOrdinaryRole, dropRolesByPrefix, giveDatabase } from './ordinary-role.ts'
import { startPostgres } from './postgres.ts'
import { assertNoConnections, createTemplate, dropDatabasesByPrefix } from './template-database.ts'
import type { ProvidedPostgres } from './vitest-setup.ts'

/** The database of one test file. */
export interface TestDatabase {
  /** Connection string of a superuser, or of the requested ordinary role. */
  readonly url: string
  /** A superuser's connection string for the server's maintenance database. */
  readonly adminUrl: string
  /** One more database in the same prepared state; it is checked and dropped at the end too. */
  another(): Promise<string>
}

/** Options of {@link testDatabase}. */
export interface TestDatabaseOptions {
  /** Prepares an empty database, for example by migrating it, and closes its connections. */
  readonly prepare?: ((url: string) => Promise<void>) | undefined
  /**
   * Files with the same key share one prepared template in a run, so `prepare` runs once for all of them. Without a
   * key it runs once per file.
   */
  readonly key?: string | undefined
  /**
   * User of the database: a superuser, to whom no policy applies, or an ordinary role that owns the database and the objects that
   * `prepare` creates in it. Default `superuser`.
   */
  readonly role?: 'superuser' | 'ordinary' | undefined
}

/**
 * Gives the test file a database, and drops it when the file ends. An open connection then fails the file.
 *
 * Call it at the top level of the file, before any `afterAll` that closes pools: hooks run last in, first out.
 * The server is the run's. Without the global setup, the file starts its own.
 *
 * @example
 * const database = await testDatabase({ key: 'outlay', prepare: migrate })
 * const pool = new pg.Pool({ connectionString: database.url })
 * afterAll(() => pool.end())
 */
export async function testDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const { url: adminUrl, prefix } = inject('outlayPostgres') ?? (await startForFile())
  const own = randomBytes(6).toString('hex')
  const key = options.key ?? own
  if (!/^[a-z0-9_-]{1,28}$/.test(key)) throw new Error(`The key is 1 to 28 characters of a-z, 0-9, - and _: ${key}`)
  const { prepare } = options
  const role = options.role === 'ordinary' ? await createOrdinaryRole(adminUrl, `${prefix}ordinary`) : undefined
  const template =
    prepare &&
    (await createTemplate({ url: adminUrl }, `${prefix}${key}`, async (url) => {
      if (role !== undefined) await giveDatabase(adminUrl, url, role)
      await prepare(role?.urlOf(url) ?? url)
    }))
  const made: string[] = []
  let count = 0
  const another = async () => {
    count += 1
    const name = `${prefix}${own}_${count}`
    const url = template === undefined ? await createDatabase(adminUrl, name) : await template.clone()
    made.push(url)
    if (role === undefined) return url
    await giveDatabase(adminUrl, url, role)
    return role.urlOf(url)
  }
  afterAll(async () => {
    try {
      for (const url of made) await assertNoConnections(adminUrl, url)
    } finally {
      // Those that are left have had their time.
      for (const url of made) await dropDatabase(adminUrl, url, 1_000)
      // Without a key, no other file uses the template.
      if (options.key === undefined && template !== undefined) await dropDatabase(adminUrl, template.name)
    }
  }, 120_000)
  return { url: await another(), adminUrl, another }
}

async function startForFile(): Promise<ProvidedPostgres> {
  const postgres = await startPostgres({ durable: false })
  const prefix = `outlay_${randomBytes(4).toString('hex')}_`
  afterAll(async () => {
    if (postgres.provider === 'url') {
      await dropDatabasesByPrefix(postgres.url, prefix)
      await dropRolesByPrefix(postgres.url, prefix)
    }
    await postgres.stop()
  }, 60_000)
  return { url: postgres.url, prefix }
}
