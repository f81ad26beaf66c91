import { randomBytes } from 'node:crypto'
import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine, type EnqueueRequest, fingerprint, Id } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import type { PoolClient } from 'pg'
import { PgBoss } from 'pg-boss'
import { type Database, openDatabase } from '../database.ts'
import { outboxTable } from './queue.ts'

/** A transfer with its key. */
export type Payout = EnqueueRequest & { readonly idempotencyKey: string }

/** A host that writes many transfers in one of its transactions. */
export interface EnqueueManyHost {
  readonly name: string
  readonly database: Database
  enqueue(client: PoolClient, payouts: readonly Payout[]): Promise<unknown>
  /** Tables that must have one row for each transfer. */
  readonly tables: readonly string[]
  close(): Promise<void>
}

/** `enqueueMany`: checks every request, then writes transfers and their rows in the outbox. */
export async function openOutlayMany(serverUrl: string): Promise<EnqueueManyHost> {
  const database = await openDatabase(serverUrl, 'bench_many_outlay', 2)
  const engine = createEngine({ backend: postgres({ driver: pgDriver(database.pool) }), gateway: memoryGateway() })
  await engine.migrate()
  return {
    name: 'outlay enqueueMany',
    database,
    enqueue: (client, payouts) => engine.transfers.enqueueMany(client, payouts),
    tables: ['outlay.transfer', outboxTable],
    close: () => database.close(),
  }
}

/** The limit: one `insert … select from unnest` of rows of a transfer's size, in a table with nothing but a primary key. */
export async function openInsertMany(serverUrl: string): Promise<EnqueueManyHost> {
  const database = await openDatabase(serverUrl, 'bench_many_insert', 2)
  await createTransferTable(database)
  return {
    name: 'one INSERT from unnest',
    database,
    enqueue: insertTransfers,
    tables: ['transfer'],
    close: () => database.close(),
  }
}

/** The same with one call of `boss.insert` behind it, both in the host's transaction. */
export async function openPgBossMany(serverUrl: string): Promise<EnqueueManyHost> {
  const database = await openDatabase(serverUrl, 'bench_many_boss', 2)
  await createTransferTable(database)
  const boss = new PgBoss({ connectionString: database.url, schema: 'boss', supervise: false, schedule: false, max: 2 })
  boss.on('error', (error) => {
    throw error
  })
  await boss.start()
  await boss.createQueue('transfer', { policy: 'standard', partition: true })
  await boss.getQueue('transfer')
  return {
    name: 'unnest + boss.insert',
    database,
    async enqueue(client, payouts) {
      const ids = await insertTransfers(client, payouts)
      const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values ?? []) }
      await boss.insert(
        'transfer',
        ids.map((transferId) => ({ data: { transferId } })),
        { db },
      )
    },
    tables: ['transfer', 'boss.job'],
    close: async () => {
      await boss.stop({ graceful: false })
      await database.close()
    },
  }
}

const createTransferTable = (database: Database) =>
  database.admin.query(`create table transfer (
    id text collate "C" primary key, account_id text not null, idempotency_key text not null, fingerprint text not null,
    request jsonb not null, stage text not null default 'queued', status text not null default 'pending',
    created_at timestamptz not null default clock_timestamp(), updated_at timestamptz not null default clock_timestamp()
  )`)

const clock = { now: () => new Date() }
const random = { bytes: (length: number) => randomBytes(length) }
const anyFingerprint = fingerprint({})

async function insertTransfers(client: PoolClient, payouts: readonly Payout[]): Promise<readonly string[]> {
  const ids = payouts.map(() => Id.generate(clock, random))
  await client.query({
    name: 'insert_transfers',
    text: `insert into transfer (id, account_id, idempotency_key, fingerprint, request)
      select n.id, n.account_id, n.key, n.fingerprint, n.request::jsonb
      from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) as n (id, account_id, key, fingerprint, request)`,
    values: [
      ids,
      payouts.map((payout) => payout.accountId),
      payouts.map((payout) => payout.idempotencyKey),
      payouts.map(() => anyFingerprint),
      payouts.map(({ accountId: _account, idempotencyKey: _key, ...request }) => JSON.stringify(request)),
    ],
  })
  return ids
}
