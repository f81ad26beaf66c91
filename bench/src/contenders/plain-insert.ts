import { randomBytes } from 'node:crypto'
import { fingerprint, Id } from '@outlay/core'
import type { Client } from 'pg'
import { openDatabase } from '../database.ts'
import { createHostTable, type EnqueueHost, pgTransact } from '../enqueue-host.ts'
import { sampleTransfer } from '../sample-transfer.ts'

const clock = { now: () => new Date() }
const random = { bytes: (length: number) => randomBytes(length), fraction: () => Math.random() }

/** Creates a table for rows of a transfer's size with nothing but a primary key. */
export async function createTransferTable(admin: Client): Promise<void> {
  await admin.query(`create table transfer (
    id text collate "C" primary key, account_id text not null, idempotency_key text not null, fingerprint text not null,
    request jsonb not null, stage text not null default 'queued', status text not null default 'pending',
    created_at timestamptz not null default clock_timestamp(), updated_at timestamptz not null default clock_timestamp()
  )`)
}

const anyFingerprint = fingerprint({})

/** A row of that table, with the columns that have no default. */
export interface TransferRow {
  readonly id: string
  readonly account_id: string
  readonly idempotency_key: string
  readonly fingerprint: string
  readonly request: object
}

/** The row of the n-th transfer, with an id of its own. */
export function transferRow(n: number): TransferRow {
  const { accountId, idempotencyKey, ...request } = sampleTransfer(n)
  const id = Id.generate(clock, random)
  return { id, account_id: accountId, idempotency_key: idempotencyKey, fingerprint: anyFingerprint, request }
}

/** The insert of the n-th transfer into that table, as a named statement, and its id. */
export function insertTransfer(n: number) {
  const { request, ...row } = transferRow(n)
  return {
    id: row.id,
    statement: {
      name: 'insert_transfer',
      text: 'insert into transfer (id, account_id, idempotency_key, fingerprint, request) values ($1, $2, $3, $4, $5)',
      values: [row.id, row.account_id, row.idempotency_key, row.fingerprint, JSON.stringify(request)],
    },
  }
}

/** For orientation: the host's row and nothing else. */
export async function openHostRow(serverUrl: string, clients: number): Promise<EnqueueHost> {
  const database = await openDatabase(serverUrl, 'bench_host_row', clients)
  await createHostTable(database.admin)
  return {
    name: 'host row alone',
    database,
    transact: pgTransact(database, () => Promise.resolve()),
    countComplete: () => database.count('select count(*) from invoice'),
    countRest: async () => [await database.count('select count(*) from invoice')],
    close: () => database.close(),
  }
}
