import { randomUUID } from 'node:crypto'
import {
  createEngine,
  type Engine,
  type EngineOptions,
  type EnqueuedTransfer,
  type EnqueueRequest,
  type Logger,
  type StoredTransfer,
} from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { type TestDatabase, testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, afterEach } from 'vitest'
import { postgres } from '../src/backend.ts'
import type { Driver } from '../src/database/driver.ts'
import { pgDriver } from '../src/drivers/pg.ts'
import { emptyOutbox, migrateOutbox, samplePayout } from './outbox.ts'

/** An engine of a host on node-postgres. */
export type HostEngine = Engine<pg.PoolClient>

/** How an engine of a test differs from the usual one, which has a service in memory that completes everything at once. */
export interface OpenOptions extends Partial<EngineOptions<pg.PoolClient>> {
  readonly driver?: Driver<pg.PoolClient> | undefined
  readonly logger?: Logger | undefined
  readonly deployment?: string | undefined
  /** The share of the longest pause after which everything is tried again, instead of a random one. */
  readonly fraction?: number | undefined
}

/** A host on a database of its own. After each test its engines stop and the engine's tables are emptied. */
export interface TestHost {
  readonly database: TestDatabase
  readonly pool: pg.Pool
  readonly driver: Driver<pg.PoolClient>
  open(options?: OpenOptions): HostEngine
  stopAll(): Promise<void>
  /** Begins a transaction that stays open until it is ended, or else is rolled back after the test. */
  begin(isolation?: 'read committed' | 'repeatable read' | 'serializable'): Promise<pg.PoolClient>
  commit<T>(work: (tx: pg.PoolClient) => Promise<T>): Promise<T>
  rows(text: string, values?: unknown[]): Promise<pg.QueryResult['rows']>
  enqueue(engine: HostEngine, overrides?: Partial<EnqueueRequest>): Promise<EnqueuedTransfer>
  enqueueMany(engine: HostEngine, count: number, accountId?: string): Promise<readonly EnqueuedTransfer[]>
  /** Outcome and detail of each attempt of a transfer. */
  outcomes(id: string): Promise<pg.QueryResult['rows']>
  /** Lets ten minutes pass for the requests without an answer or a known outcome: none of them can arrive any more. */
  forgetRequests(): Promise<unknown>
}

/** Makes a host, for the tests of the file or `describe` that calls it. */
export async function testHost(config: pg.PoolConfig = {}): Promise<TestHost> {
  const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  const pool = new pg.Pool({ connectionString: database.url, max: 30, ...config })
  // A session that a test ends may be lost while the pool closes it; only the pool reports that.
  pool.on('error', () => undefined)
  const driver = pgDriver(pool)
  const engines: HostEngine[] = []
  const stopAll = async () => {
    await Promise.all(engines.splice(0).map((engine) => engine.stop()))
  }
  const begun: pg.PoolClient[] = []
  afterEach(async () => {
    for (const tx of begun.splice(0)) {
      await tx.query('rollback')
      tx.release()
    }
    await stopAll()
    await emptyOutbox(pool)
  })
  afterAll(() => pool.end())
  const rows: TestHost['rows'] = async (text, values = []) => (await pool.query(text, values)).rows
  return {
    ...{ database, pool, driver, stopAll, rows },
    open({ driver: on = driver, logger, deployment, fraction, ...options } = {}) {
      const backend = options.backend ?? postgres({ driver: on, logger, deployment })
      const random = fraction === undefined ? {} : { random: { ...backend.runtime.random, fraction: () => fraction } }
      const runtime = { ...random, ...options.runtime }
      const gateway = options.gateways === undefined ? memoryGateway({ idPrefix: randomUUID() }) : undefined
      const engine = createEngine({ gateway, ...options, backend, runtime })
      engines.push(engine)
      return engine
    },
    async begin(isolation) {
      const tx = await pool.connect()
      begun.push(tx)
      await tx.query(isolation === undefined ? 'begin' : `begin isolation level ${isolation}`)
      return tx
    },
    commit: driver.transaction,
    enqueue: (engine, { accountId = 'acme', ...overrides } = {}) =>
      driver.transaction((tx) => engine.transfers.enqueue(tx, samplePayout(accountId, overrides))),
    enqueueMany: (engine, count, accountId = 'acme') => {
      const payouts = Array.from({ length: count }, () => samplePayout(accountId))
      return driver.transaction((tx) => engine.transfers.enqueueMany(tx, payouts))
    },
    forgetRequests: () =>
      rows(
        `update outlay.attempt set claimed_at = claimed_at - interval '11 minutes' where answered_at is null or outcome = 'unknown'`,
      ),
    outcomes: (id) => rows('select outcome, detail from outlay.attempt where transfer_id = $1 order by attempt', [id]),
  }
}

/** Waits until a transfer has these members, and gives it. */
export const reach = (
  engine: Pick<HostEngine, 'transfers'>,
  id: string,
  wanted: Partial<StoredTransfer>,
  timeoutMs = 60_000,
): Promise<StoredTransfer> =>
  waitUntil(
    async () => {
      const transfer = await engine.transfers.get(id)
      const isThere = Object.entries(wanted).every(
        ([name, value]) => transfer?.[name as keyof StoredTransfer] === value,
      )
      return isThere ? transfer : undefined
    },
    { timeoutMs, describe: `${id} to be ${JSON.stringify(wanted)}` },
  )
