import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine, type Engine, type EnqueueRequest, type Stage } from '@outlay/core'
import { memoryGateway, type Program, spawnNode, waitUntil } from '@outlay/testing'
import pg from 'pg'
import { expect } from 'vitest'
import { fates, startTally, type Tally } from './tally.ts'

/** One database, a service that counts, and hosts of several releases beside each other. */
export interface UpgradeStage extends AsyncDisposable {
  readonly pool: pg.Pool
  readonly tally: Tally
  /** The engine of this workspace, for commands and migrations; its workers do not run. */
  readonly engine: Engine<pg.PoolClient>
  /** Starts a host process on the code beside its entry. */
  spawn(entry: string, name: string, options?: { readonly migrate?: boolean }): Promise<Program>
  /** Lets a host enqueue so many transfers for each account. */
  enqueue(host: Program, each: number): Promise<void>
  /** Waits until the transfers of every account stand where that account's stand while the service is unkind. */
  reachStages(): Promise<void>
  /** Lets the service relent and everything settle, and proves that it did so once, in order, with nothing lost. */
  prove(): Promise<void>
}

/** Where the transfers of an account come to stand while the service is unkind. */
const unkindStages: Readonly<Record<(typeof fates)[number], Stage>> = {
  swift: 'settled',
  torn: 'settled',
  slow: 'submitted',
  poor: 'awaiting_funds',
  mismatched: 'blocked',
  held: 'submitting',
  paused: 'queued',
}

/** Sets the stage in an empty database. */
export async function setUpgradeStage(databaseUrl: string): Promise<UpgradeStage> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 4 })
  pool.on('error', () => {})
  await pool.query(
    `create table told (at bigint generated always as identity, transfer_id text, sequence integer, type text, host text)`,
  )
  const tally = await startTally()
  const driver = pgDriver(pool)
  const engine = createEngine({ backend: postgres({ driver }), gateway: memoryGateway() })
  const programs: Program[] = []
  let enqueued = 0
  return {
    pool,
    tally,
    engine,
    async spawn(entry, name, { migrate = false } = {}) {
      const env = {
        DATABASE_URL: databaseUrl,
        SERVICE_URL: tally.url,
        HOST_NAME: name,
        MIGRATE: migrate ? '1' : undefined,
      }
      const program = await spawnNode(entry, { env, readyTimeoutMs: 60_000 })
      programs.push(program)
      return program
    },
    async enqueue(host, each) {
      const requests = fates.flatMap((accountId) => Array.from({ length: each }, () => payout(accountId)))
      const before = host.messages.length
      host.send({ enqueue: requests })
      await waitUntil(() => host.messages.length > before, { timeoutMs: 60_000, describe: () => host.stderr() })
      enqueued += requests.length
    },
    reachStages: () => reachStages(pool),
    async prove() {
      tally.relent()
      await driver.transaction((tx) => engine.accounts.fundsArrived(tx, 'poor'))
      await driver.transaction((tx) => engine.accounts.resume(tx, 'paused'))
      let last: unknown
      await waitUntil(
        async () => {
          // One that was sent before the service relented may come to be blocked after that.
          const { rows } = await pool.query(`select id from outlay.transfer where stage = 'blocked'`)
          for (const { id } of rows) await driver.transaction((tx) => engine.transfers.release(tx, id))
          last = await left(pool)
          return (last as readonly unknown[]).length === 0
        },
        { timeoutMs: 180_000, describe: () => `everything to settle and to be told: ${JSON.stringify(last)}` },
      )
      await proveOnce(pool, tally, enqueued)
    },
    async [Symbol.asyncDispose]() {
      for (const program of programs) await program.kill('SIGKILL')
      await tally[Symbol.asyncDispose]()
      await pool.end()
    },
  }
}

function payout(accountId: string): EnqueueRequest {
  return {
    accountId,
    amount: { value: '12.50', currency: 'USD' },
    source: { addressId: '01J0000000000000000000000A', valueType: 'USDC', transferType: 'base' },
    destination: { addressId: '01J0000000000000000000000B', valueType: 'USD', transferType: 'ach_credit' },
  }
}

async function reachStages(pool: pg.Pool): Promise<void> {
  let last: unknown
  await waitUntil(
    async () => {
      const { rows } = await pool.query<{ account_id: keyof typeof unkindStages; stage: Stage }>(
        'select distinct account_id, stage from outlay.transfer order by 1, 2',
      )
      last = rows
      return rows.length === fates.length && rows.every((row) => unkindStages[row.account_id] === row.stage)
    },
    { timeoutMs: 120_000, describe: () => `every account to reach its stage: ${JSON.stringify(last)}` },
  )
}

/** Transfers that are not settled, and deliveries that are not acknowledged. */
async function left(pool: pg.Pool): Promise<readonly unknown[]> {
  const { rows } = await pool.query(
    `select account_id, stage, reason from outlay.transfer where stage <> 'settled'
     union all select subscription, 'delivery', last_error from outlay.delivery`,
  )
  return rows
}

async function proveOnce(pool: pg.Pool, tally: Tally, enqueued: number): Promise<void> {
  const transfers = await pool.query<{ key: string; status: string }>(
    `select account_id || ':' || idempotency_key as key, status from outlay.transfer`,
  )
  expect(transfers.rows).toHaveLength(enqueued)
  expect(new Set(transfers.rows.map(({ status }) => status))).toEqual(new Set(['complete']))
  expect(tally.effects).toEqual(new Map(transfers.rows.map(({ key }) => [key, 1])))
  const told = 'select transfer_id, sequence, type from told order by transfer_id, at'
  const recorded = `select e.transfer_id, e.sequence, e.type from outlay.event e
    join outlay.subscription s on s.name = 'events' and e.type = any (s.types) order by e.transfer_id, e.sequence`
  expect((await pool.query(told)).rows).toEqual((await pool.query(recorded)).rows)
}
