import { type Driver, pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine, type Engine, type EnqueuedTransfer, type EnqueueRequest } from '@outlay/core'
import { type MemoryGateway, memoryGateway } from '@outlay/testing'
import pg from 'pg'
import { runOutlay } from '../src/run.ts'

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

/** Brings an empty database to the schema of the engine. */
export async function migrateOutbox(url: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: url })
  await postgres({ driver: pgDriver(pool) }).migrate()
  await pool.end()
}

/** A host of the engine on a database. */
export interface Host {
  readonly pool: pg.Pool
  readonly driver: Driver<pg.PoolClient>
  readonly gateway: MemoryGateway
  readonly engine: Engine<pg.PoolClient>
  enqueue(overrides?: Partial<EnqueueRequest>): Promise<EnqueuedTransfer>
  commit<T>(work: (tx: pg.PoolClient) => Promise<T>): Promise<T>
  /** Another engine on the same database, since a running one accepts no subscription. */
  again(): Engine<pg.PoolClient>
  /** Stops engines and empties the tables. */
  reset(): Promise<void>
  close(): Promise<void>
}

/** Opens a host; its engine is not started. */
export function openHost(url: string): Host {
  const pool = new pg.Pool({ connectionString: url, max: 20 })
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
  return {
    pool,
    driver,
    gateway,
    engine,
    again,
    commit,
    enqueue: (overrides = {}) => commit((tx) => engine.transfers.enqueue(tx, { ...payout, ...overrides })),
    async reset() {
      await Promise.all(engines.map((one) => one.stop()))
      gateway.script(() => undefined)
      gateway.scriptAfter(() => undefined)
      await pool.query(
        'truncate outlay.transfer, outlay.event, outlay.attempt, outlay.delivery, outlay.subscription, outlay.account, outlay.unauthorized_account, outlay.account_throttle, outlay.submission_slot, outlay_queue.job',
      )
    },
    async close() {
      await Promise.all(engines.map((one) => one.stop()))
      await pool.end()
    },
  }
}

const payout: EnqueueRequest = {
  accountId: 'acme',
  amount: { value: '12.50', currency: 'USD' },
  source: { addressId: '01J0000000000000000000000A', valueType: 'USDC', transferType: 'base' },
  destination: { addressId: '01J0000000000000000000000B', valueType: 'USD', transferType: 'ach_credit' },
}
