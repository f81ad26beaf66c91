import { type Driver, pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine, type Engine, type EnqueuedTransfer, type EnqueueRequest } from '@outlay/core'
import { type MemoryGateway, memoryGateway } from '@outlay/testing'
import { type TestDatabase, testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, afterEach } from 'vitest'
import { runOutlay } from '../src/run.ts'
import { jobTable } from './queue.ts'

/** The result of one run of the command line. */
export interface Run {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command line in this process. */
export async function outlay(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Promise<Run> {
  let stdout = ''
  let stderr = ''
  const code = await runOutlay(args, {
    env,
    stdout: (text) => {
      stdout += text
    },
    stderr: (text) => {
      stderr += text
    },
    signal: signal ?? new AbortController().signal,
    interactive: false,
  })
  return { code, stdout, stderr }
}

/** A host of the engine on a database. */
export interface Host {
  readonly database: TestDatabase
  readonly pool: pg.Pool
  readonly driver: Driver<pg.PoolClient>
  readonly gateway: MemoryGateway
  readonly engine: Engine<pg.PoolClient>
  enqueue(overrides?: Partial<EnqueueRequest>): Promise<EnqueuedTransfer>
  commit<T>(work: (tx: pg.PoolClient) => Promise<T>): Promise<T>
  /** Another engine on the same database, since a running one accepts no subscription. */
  again(): Engine<pg.PoolClient>
}

/** Makes a host on a database of its own; its engine is not started. After each test its engines stop and its tables are emptied. */
export async function testHost(): Promise<Host> {
  const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  const pool = new pg.Pool({ connectionString: database.url, max: 20 })
  const driver = pgDriver(pool)
  const engines: Engine<pg.PoolClient>[] = []
  const gateway = memoryGateway()
  const again = () => {
    const engine = createEngine({ backend: postgres({ driver }), gateway })
    engines.push(engine)
    return engine
  }
  const engine = again()
  const commit: Host['commit'] = (work) => driver.transaction(work)
  afterEach(async () => {
    await Promise.all(engines.map((one) => one.stop()))
    gateway.script(() => undefined)
    gateway.scriptAfter(() => undefined)
    await pool.query(
      `truncate outlay.transfer, outlay.event, outlay.attempt, outlay.delivery, outlay.subscription, outlay.account,
         outlay.unauthorized_account, outlay.account_throttle, outlay.submission_slot, outlay.stop, outlay.known_database, outlay.attended_gateway,
         outlay.reconciliation, ${jobTable}`,
    )
  })
  afterAll(() => pool.end())
  return {
    database,
    pool,
    driver,
    gateway,
    engine,
    again,
    commit,
    enqueue: (overrides = {}) => commit((tx) => engine.transfers.enqueue(tx, { ...payout, ...overrides })),
  }
}

const payout: EnqueueRequest = {
  accountId: 'acme',
  amount: { value: '12.50', currency: 'USD' },
  source: { addressId: '01J0000000000000000000000A', valueType: 'USDC', transferType: 'base' },
  destination: { addressId: '01J0000000000000000000000B', valueType: 'USD', transferType: 'ach_credit' },
}

/** Brings an empty database to the schema of the engine. */
async function migrateOutbox(url: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: url })
  await postgres({ driver: pgDriver(pool) }).migrate()
  await pool.end()
}
