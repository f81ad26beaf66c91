import { randomBytes } from 'node:crypto'
import { createDatabase, dropDatabase, withAdmin } from './database.ts'
import type { PostgresOptions, PostgresProvider, PostgresServer, RestartMode } from './postgres-server.ts'

/** A running Postgres for tests. */
export interface Postgres {
  readonly provider: PostgresProvider
  /** Connection string of a superuser, to the maintenance database. */
  readonly url: string
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  /** Value of `server_version`, for example `18.4`. */
  readonly version: string
  /** Makes a database and returns its connection string. The name is generated when absent. */
  createDatabase(name?: string, options?: { readonly template?: string | undefined }): Promise<string>
  /** Drops a database; takes a name or a connection string. Ends the sessions that are left after half a minute. Succeeds when it does not exist. */
  dropDatabase(nameOrUrl: string): Promise<void>
  /**
   * Restarts the server on the same port, with its data.
   * @throws Error for a server that was given by its URL.
   */
  restart(options?: { readonly mode?: RestartMode | undefined }): Promise<void>
  /** Stops the server and removes its data unless `dataDir` keeps them. Leaves a server given by its URL alone. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Starts a Postgres for tests, or joins the one in `OUTLAY_TEST_DATABASE_URL`.
 *
 * An embedded server ends when this process ends, even if it is killed.
 *
 * @example
 * await using postgres = await startPostgres({ durable: false })
 * const url = await postgres.createDatabase()
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const provider = chooseProvider(options, process.env)
  const server = await startServer(provider, options)
  try {
    const postgres = await describeServer(provider, server)
    const isOther = options.version !== undefined && Number.parseInt(postgres.version, 10) !== options.version
    if (provider === 'url' && isOther)
      throw new Error(`The server is a PostgreSQL ${postgres.version}, and ${options.version} was asked for.`)
    return postgres
  } catch (error) {
    await server.stop()
    throw error
  }
}

/** The provider, by the options and then by the environment. */
export function chooseProvider(
  options: PostgresOptions,
  env: Readonly<Record<string, string | undefined>>,
): PostgresProvider {
  if (options.provider !== undefined) return options.provider
  if (options.url !== undefined) return 'url'
  if (options.dataDir !== undefined) return 'embedded'
  if (env.OUTLAY_TEST_DATABASE_URL) return 'url'
  const wanted = env.OUTLAY_POSTGRES || 'embedded'
  if (wanted === 'container' || wanted === 'embedded') return wanted
  throw new Error(`OUTLAY_POSTGRES is "${wanted}"; it can be "embedded" or "container".`)
}

/** Only the provider in use is loaded. */
async function startServer(provider: PostgresProvider, options: PostgresOptions): Promise<PostgresServer> {
  switch (provider) {
    case 'url':
      return (await import('./postgres-url.ts')).joinPostgresUrl(options)
    case 'container':
      return (await import('./postgres-container.ts')).startPostgresContainer(options)
    case 'embedded':
      return (await import('./postgres-embedded.ts')).startEmbeddedPostgres(options)
  }
}

async function describeServer(provider: PostgresProvider, server: PostgresServer): Promise<Postgres> {
  const address = new URL(server.url)
  const version = await withAdmin(server.url, async (admin) => {
    const result = await admin.query<{ server_version: string }>('show server_version')
    return result.rows[0]?.server_version ?? ''
  })
  return {
    provider,
    url: server.url,
    host: address.hostname,
    port: Number(address.port || 5432),
    user: decodeURIComponent(address.username),
    password: decodeURIComponent(address.password),
    version,
    createDatabase: (name = `outlay_${randomBytes(8).toString('hex')}`, { template } = {}) =>
      createDatabase(server.url, name, template),
    dropDatabase: (nameOrUrl) => dropDatabase(server.url, nameOrUrl),
    restart: ({ mode = 'fast' } = {}) => server.restart(mode),
    stop: () => server.stop(),
    [Symbol.asyncDispose]: () => server.stop(),
  }
}
