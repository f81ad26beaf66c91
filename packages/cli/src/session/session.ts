import { type Driver, type Inspection, inspect, pgDriver, postgres } from '@outlay/adapters-pg'
import { type Backend, createEngine, defaultGateway, type Engine, type Gateway } from '@outlay/core'
import pg from 'pg'
import type { CliContext } from './cli-context.ts'
import { impatientDriver } from './impatient-driver.ts'
import { Misuse } from './problem.ts'

/** Options of every command. */
export interface GlobalOptions {
  readonly databaseUrl?: string | undefined
  readonly schema?: string | undefined
  readonly queueSchema?: string | undefined
  readonly json?: boolean | undefined
  /** A file of the databases of several nodes. */
  readonly shards?: string | undefined
  /** The name of one of them. */
  readonly node?: string | undefined
  /** Tables of the host that commit with payouts; from the file. */
  readonly colocated?: readonly string[] | undefined
  /** The table that makes Citus commit in two phases; from the file. */
  readonly pin?: string | undefined
}

/** What a command works with: the database and the engine, and an output. */
export interface Session {
  /** None of its statements waits longer than five seconds for a lock. */
  readonly driver: Driver<pg.PoolClient>
  /** How to connect, for a connection of its own. */
  readonly connection: pg.ClientConfig
  readonly schema: string
  readonly queueSchema: string | undefined
  /** Host and port of the database, without what is secret in its URL. */
  readonly server: string
  /** Its name in the URL. */
  readonly database: string
  readonly backend: Backend<pg.PoolClient>
  readonly engine: Engine<pg.PoolClient>
  /** An engine with gateways of these names. */
  engineOf(names: readonly string[]): Engine<pg.PoolClient>
  readonly inspection: Inspection<pg.PoolClient>
  /** Runs `work` in one transaction. */
  transaction<T>(work: (tx: pg.PoolClient) => Promise<T>): Promise<T>
  /** Writes what is committed, as the beginning of the text of the result: what comes behind it may have to be waited for. */
  begin(text: string): void
  /** Writes a result: as JSON with --json, else as text. */
  write(data: unknown, text: () => string): void
  /** Writes a line of progress, when a person watches. */
  progress(text: string): void
  readonly signal: AbortSignal
  readonly json: boolean
  /** Tables of the host that commit with payouts. */
  readonly colocated: readonly string[]
  /** The table that makes Citus commit in two phases; undefined where there is none. */
  readonly pin: string | undefined
}

/** The command line never sends: workers do, in the host's own processes. */
export const noGateway: Gateway = {
  submit: () => Promise.reject(new Error('The command line sends nothing.')),
  registerAddress: () => Promise.reject(new Error('The command line registers nothing.')),
  get: () => Promise.reject(new Error('The command line reads nothing at the service.')),
}

/** Names the engine's schemas without connecting, for commands that need no database. */
export function nameBackend(options: GlobalOptions): Backend<pg.PoolClient> {
  return postgres({ driver: pgDriver(new pg.Pool()), ...namesOf(options) })
}

/** Opens a session, runs `work` in it, and closes it. */
export async function withSession<T>(
  options: GlobalOptions,
  around: CliContext,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const pool = new pg.Pool({
    connectionString: readUrl(options, around),
    max: 4,
    application_name: 'outlay-cli',
    connectionTimeoutMillis: 10_000,
  })
  // A failed idle connection is opened again by the next statement.
  pool.on('error', () => undefined)
  try {
    return await work(openSession(pool, options, around))
  } finally {
    await pool.end()
  }
}

function openSession(pool: pg.Pool, options: GlobalOptions, around: CliContext): Session {
  const driver = impatientDriver(pool)
  const names = namesOf(options)
  const backend = postgres({ driver, ...names })
  const json = options.json === true
  return {
    driver,
    connection: pool.options,
    schema: names.schema ?? 'outlay',
    queueSchema: names.queueSchema,
    ...nameDatabase(readUrl(options, around)),
    backend,
    engine: createEngine({ backend, gateway: noGateway }),
    engineOf: (names) =>
      createEngine({
        backend,
        gateways: Object.fromEntries(names.map((name) => [name, noGateway])),
        route: () => defaultGateway,
      }),
    inspection: inspect({ driver, ...names }),
    transaction: (work) => driver.transaction(work),
    begin: (text) => {
      if (!json) around.stdout(text)
    },
    write: (data, text) => around.stdout(json ? `${JSON.stringify(data, null, 2)}\n` : `${text()}\n`),
    progress: (text) => {
      if (around.interactive) around.stderr(`${text}\n`)
    },
    signal: around.signal,
    json,
    colocated: options.colocated ?? [],
    pin: options.pin,
  }
}

/** Host, port and name as Postgres's driver reads them: from the URL, or from the environment. */
function nameDatabase(connectionString: string): Pick<Session, 'server' | 'database'> {
  const { host, port, user, database = user ?? '' } = new pg.Client({ connectionString })
  return { server: `${host}:${port}`, database }
}

const schemaPattern = /^[a-z_][a-z0-9_]{0,50}$/

/** The schema names from the options. Throws Misuse for an invalid name. */
export function namesOf({ schema, queueSchema }: GlobalOptions) {
  for (const [option, name] of [
    ['--schema', schema],
    ['--queue-schema', queueSchema],
  ] as const) {
    if (name === undefined || schemaPattern.test(name)) continue
    throw new Misuse(`${option} is no schema name.`, 'Use lower-case letters, digits and underscores, at most 51.')
  }
  return { schema, queueSchema }
}

/** The connection string. It may contain a password, so no message includes it. */
function readUrl(options: GlobalOptions, around: CliContext): string {
  const url = options.databaseUrl ?? around.env['DATABASE_URL']
  if (url === undefined || url === '') {
    throw new Misuse('There is no database to connect to.', 'Give --database-url, or set DATABASE_URL.')
  }
  if (!URL.canParse(url) || !/^postgres(ql)?:$/.test(new URL(url).protocol)) {
    throw new Misuse('The database URL cannot be read.', 'Write it as postgres://user:password@host:5432/database.')
  }
  return url
}
