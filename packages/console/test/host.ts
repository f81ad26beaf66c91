import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Driver, pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine, type Engine, type EnqueuedTransfer, type EnqueueRequest } from '@outlay/core'
import { type MemoryGateway, memoryGateway, type RecordingLogger, recordingLogger } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, afterEach } from 'vitest'
import type { Authorization, Authorize } from '../src/authorization/authorization.ts'
import { type Console, type ConsoleOptions, createConsole } from '../src/console.ts'
import { checkAnswer } from './contract.ts'

/** An answer, read. */
export interface Answer<T> {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: T
}

/** Members of answers that tests read, of any route. */
export interface Json {
  readonly [name: string]: unknown
}

/** Somebody who may do everything. */
export const admin: Authorization = {
  actor: 'ada',
  roles: ['finance'],
  permissions: { read: 'all', act: 'all', approve: 'all', configure: 'all' },
}

/** How a request of a test differs from one of the admin. */
export interface CallOptions {
  /** Who sends it; null for nobody. */
  readonly as?: Authorization | null | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** A host with a console on a server of HTTP, on a database of its own. */
export interface ConsoleHost {
  readonly pool: pg.Pool
  readonly driver: Driver<pg.PoolClient>
  readonly engine: Engine<pg.PoolClient>
  readonly gateway: MemoryGateway
  readonly logger: RecordingLogger
  /** Another engine on the same database, since a running one accepts no subscription. */
  again(): Engine<pg.PoolClient>
  enqueue(overrides?: Partial<EnqueueRequest>): Promise<EnqueuedTransfer>
  commit<T>(work: (tx: pg.PoolClient) => Promise<T>): Promise<T>
  /** Sends a request over HTTP and checks its answer against the document. */
  call<T = Json>(line: string, options?: CallOptions): Promise<Answer<T>>
  /** Serves another console, and gives its address. */
  serve(options?: Partial<ConsoleOptions<pg.PoolClient>>): Promise<string>
  /** Makes a console without a server. */
  make(options?: Partial<ConsoleOptions<pg.PoolClient>>): Console
}

const payout: EnqueueRequest = {
  accountId: 'acme',
  amount: { value: '12.50', currency: 'USD' },
  source: { addressId: '01J0000000000000000000000A', valueType: 'USDC', transferType: 'base' },
  destination: { addressId: '01J0000000000000000000000B', valueType: 'USD', transferType: 'ach_credit' },
}

/** The test says who sends a request in a header. */
const authorize: Authorize = (request) => {
  const said = request.headers.get('x-test-person')
  return said === null ? null : (JSON.parse(said) as Authorization)
}

/** Sends a request as the host of a test knows people. */
export async function send<T = Json>(
  url: string,
  line: string,
  { as = admin, body, headers = {} }: CallOptions = {},
): Promise<Answer<T>> {
  const [method = 'GET', path = '/'] = line.split(' ')
  const isAction = method !== 'GET' && method !== 'HEAD'
  const answer = await fetch(`${url}/api${path}`, {
    method,
    headers: {
      connection: 'close',
      ...(as === null ? {} : { 'x-test-person': JSON.stringify(as) }),
      ...(isAction ? { 'content-type': 'application/json', 'x-outlay-console': 'test' } : {}),
      ...headers,
    },
    ...(isAction ? { body: typeof body === 'string' ? body : JSON.stringify(body ?? {}) } : {}),
  })
  const text = await answer.text()
  if (method !== 'HEAD') checkAnswer(method, path.split('?')[0] ?? path, answer, text)
  return {
    status: answer.status,
    headers: answer.headers,
    text,
    json: (/json$/.test(answer.headers.get('content-type') ?? '') && text !== '' ? JSON.parse(text) : {}) as T,
  }
}

/** Makes a host, for the tests of the file. After each test its engines stop and its tables are emptied. */
export async function consoleHost(): Promise<ConsoleHost> {
  const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  const pool = new pg.Pool({ connectionString: database.url, max: 20 })
  const driver = pgDriver(pool)
  const logger = recordingLogger()
  const gateway = memoryGateway()
  const engines: Engine<pg.PoolClient>[] = []
  const servers: { close(): unknown }[] = []
  const again = () => {
    const engine = createEngine({ backend: postgres({ driver, logger }), gateway })
    engines.push(engine)
    return engine
  }
  const engine = again()
  const make: ConsoleHost['make'] = (options = {}) =>
    createConsole({ engine, driver, authorize, logger, rateLimit: { perSecond: 1_000, burst: 1_000 }, ...options })
  const serve: ConsoleHost['serve'] = async (options) => {
    const server = createServer(make(options).listener)
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const url = await serve()
  afterEach(async () => {
    await Promise.all(engines.map((one) => one.stop()))
    gateway.script(() => undefined)
    await emptyOutbox(pool)
  })
  afterAll(async () => {
    for (const server of servers) server.close()
    await pool.end()
  })
  return {
    ...{ pool, driver, engine, gateway, logger, again, serve, make },
    commit: (work) => driver.transaction(work),
    enqueue: (overrides = {}) => driver.transaction((tx) => engine.transfers.enqueue(tx, { ...payout, ...overrides })),
    call: (line, options) => send(url, line, options),
  }
}

async function migrateOutbox(url: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: url })
  await postgres({ driver: pgDriver(pool) }).migrate()
  await pool.end()
}

async function emptyOutbox(pool: pg.Pool): Promise<void> {
  await pool.query(
    // Without triggers: some tables refuse to be emptied.
    `do $$ begin perform set_config('session_replication_role', 'replica', true); execute (
       select 'truncate ' || string_agg(format('%I.%I', schemaname, tablename), ', ') from pg_tables
       where schemaname = 'outlay' and tablename <> 'migration'
     ) || ' cascade'; end $$`,
  )
}
