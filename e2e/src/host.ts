import { type PostgresOptions, pgDriver, postgres } from '@outlay/adapters-pg'
import { type Clock, createEngine, type Engine, type EngineOptions, type Gateway, type Screener } from '@outlay/core'
import { type HttpGatewayOptions, httpGateway, outlayKeyLifetimeMs } from '@outlay/http-client'
import { type CrashPoints, crashPoints } from '@outlay/testing'
import pg from 'pg'

/** The settings of a host application. */
export interface HostSettings {
  readonly databaseUrl: string
  readonly serviceUrl: string
  readonly clientId: string
  readonly clientSecret: string
}

/** A host application with an engine. Its effects are rows in its own table. */
export interface Host {
  readonly engine: Engine<pg.PoolClient>
  readonly pool: pg.Pool
  /** Runs `work` in a transaction. */
  transaction<T>(work: (tx: pg.PoolClient) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** Options of a host for a test. Every member has a default. */
export interface HostOptions
  extends Partial<Pick<EngineOptions<pg.PoolClient>, 'catalog' | 'webhooks' | 'polling' | 'telemetry'>>,
    Partial<Pick<HttpGatewayOptions, 'timeouts' | 'dialect'>>,
    Pick<PostgresOptions<pg.PoolClient>, 'logger'> {
  /** Default: the pair in the settings. */
  readonly credentials?: HttpGatewayOptions['credentials'] | undefined
  /** The clock of the engine's decisions. */
  readonly clock?: Clock | undefined
  /** The fraction of every backoff to wait, instead of a random one. */
  readonly jitter?: number | undefined
  /** Most connections to the database. Default 20. */
  readonly poolSize?: number | undefined
  /** False for a pooler without named statements. Default true. */
  readonly prepared?: boolean | undefined
  /** Screens what policies ask it to. */
  readonly screen?: Screener | undefined
  /** Wraps the engine's gateway. */
  readonly around?: ((gateway: Gateway) => Gateway) | undefined
}

/** Opens a host application, with the crash points of its process. */
export function openHost(
  settings: HostSettings,
  options: HostOptions = {},
  crash: CrashPoints = crashPoints({}),
): Host {
  const pool = new pg.Pool({ connectionString: settings.databaseUrl, max: options.poolSize ?? 20 })
  // A server that goes away reports here too; the user of the connection gets the error.
  pool.on('error', () => undefined)
  const driver = crash.driver(pgDriver(pool, { prepared: options.prepared }))
  const http = httpGateway({
    keyLifetimeMs: outlayKeyLifetimeMs,
    baseUrl: settings.serviceUrl,
    credentials: options.credentials ?? { clientId: settings.clientId, clientSecret: settings.clientSecret },
    timeouts: options.timeouts ?? { headersMs: 30_000, bodyMs: 30_000 },
    telemetry: options.telemetry,
    dialect: options.dialect,
  })
  const gateway = withRegistrationPoints(options.around?.(http) ?? http, crash)
  const backend = postgres({ driver, logger: options.logger })
  const { telemetry } = options
  const { clock = backend.runtime.clock, jitter, catalog, webhooks, screen, polling = { maxDelayMs: 300 } } = options
  const random = jitter === undefined ? backend.runtime.random : { ...backend.runtime.random, fraction: () => jitter }
  const runtime = { clock, random }
  const engine = createEngine(
    crash.engine({ backend, gateway, runtime, catalog, webhooks, screen, polling, telemetry }),
  )
  engine.subscribe('effects', ['transfer.completed', 'transfer.failed'], async (event, tx) => {
    await tx.query('insert into effect (transfer_id, type) values ($1, $2)', [event.transferId, event.type])
  })
  return {
    engine,
    pool,
    transaction: (work) => driver.transaction(work),
    async close() {
      await engine.stop()
      await pool.end()
    },
  }
}

/** Additional points: around the registration of a counterparty, which comes before the transfer. */
function withRegistrationPoints(gateway: Gateway, { reach }: CrashPoints): Gateway {
  return {
    ...gateway,
    async registerAddress(registration, options) {
      if (gateway.registerAddress === undefined) throw new Error('The gateway registers no addresses.')
      const result = await gateway.registerAddress(registration, options)
      if (result.outcome === 'accepted') await reach('registered')
      return result
    },
    async submit(submission, options) {
      await reach('registration_settled')
      return gateway.submit(submission, options)
    },
  }
}

/** Makes the schema of a host application in an empty database. */
export async function migrateHost(url: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: url })
  await postgres({ driver: pgDriver(pool) }).migrate()
  await pool.query(
    'create table effect (transfer_id text not null references outlay.transfer (id), type text not null)',
  )
  await pool.end()
}

/** The settings as environment of a child process. */
export function toEnvironment(settings: HostSettings): Record<string, string> {
  return {
    DATABASE_URL: settings.databaseUrl,
    SERVICE_URL: settings.serviceUrl,
    CLIENT_ID: settings.clientId,
    CLIENT_SECRET: settings.clientSecret,
  }
}

/** Reads the settings back in a child process. */
export function fromEnvironment(env: NodeJS.ProcessEnv): HostSettings {
  const read = (name: string): string => {
    const value = env[name]
    if (value === undefined) throw new Error(`The environment lacks ${name}.`)
    return value
  }
  return {
    databaseUrl: read('DATABASE_URL'),
    serviceUrl: read('SERVICE_URL'),
    clientId: read('CLIENT_ID'),
    clientSecret: read('CLIENT_SECRET'),
  }
}
