import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Id } from '@outlay/core'
import type { Client } from 'pg'
import { parseTicks, tickUs } from './server-time.ts'

/** Server time of one insertion, in microseconds; null where the server's processes cannot be seen. */
export interface RowTimes {
  /** All rows that a create at the service writes, by one statement, without functions, checks of parties and row-level security. */
  readonly rows: number | null
  /** One row with the stored answer, in a table with nothing but a primary key. */
  readonly bare: number | null
}

const clock = { now: () => new Date() }
const random = { bytes: (length: number) => randomBytes(length), fraction: () => Math.random() }

const warmUps = 300
const insertions = 3_000

/** The transfer of the engine may have been sent meanwhile. */
const asEnqueued = {
  id: '$1',
  idempotency_key: '$1',
  stage: `'queued'`,
  status: `'pending'`,
  remote_id: 'null',
  next_poll_at: 'null',
} as const

/** Tables that a create writes, and what is another value in each copy of a row. */
const written = [
  { table: 'outlay_service.transfer', other: { id: '$1' }, of: 'where id = $1' },
  { table: 'outlay_service.idempotency_key', other: { idempotency_key: '$1' }, of: 'limit 1' },
  { table: 'outlay_service_engine.transfer', other: asEnqueued, of: 'where id = $1' },
  { table: 'outlay_service.ledger_entry', other: { posting_id: '$1' }, of: `where posting_id = $1 and step = 'hold'` },
] as const

/**
 * Measures what the rows of a create cost the server at least: copies of those of the newest transfer, and the update of its wallet, written
 * by one prepared statement of a superuser. The database of the service must have a transfer, and is of no use afterwards.
 */
export async function measureRows(admin: Client): Promise<RowTimes> {
  const { rows } = await admin.query<{ id: string }>('select id from outlay_service.transfer order by id desc limit 1')
  const [newest] = rows
  if (newest === undefined) throw new Error('There is no transfer whose rows could be copied.')
  const inserts = []
  for (const [index, { table, other, of }] of written.entries()) {
    const copy = `public.copied_${index}`
    await admin.query(`create table ${copy} as select * from ${table} ${of.replace('$1', `'${newest.id}'`)}`)
    inserts.push(await copyText(admin, table, copy, other))
  }
  const outbox =
    'insert into outlay_service_engine.outbox (id, account_id, due_at, ready) select $2::uuid, x.account_id, now(), true from public.copied_2 x'
  const wallet = `update outlay_service.ledger_account set available = available - 1, held = held + 1
    where id = (select x.ledger_account_id from public.copied_3 x limit 1)`
  const steps = [...inserts, outbox, wallet].map((text, index) => `step_${index} as (${text})`)
  await admin.query('create table public.bare (id text primary key, uuid uuid, body text)')
  const bare = 'insert into public.bare select $1, $2::uuid, x.response_body from public.copied_1 x'
  return {
    rows: await time(admin, 'rows_of_a_create', `with ${steps.join(', ')} select 1`),
    bare: await time(admin, 'bare_row', bare),
  }
}

/** Describes the two times in a sentence. */
export function describeRows(rows: number | null, bare: number | null): string {
  if (rows === null || bare === null) return 'The server time of the rows alone cannot be read here.'
  const ratio = (bare / rows).toFixed(2)
  return `All rows of a create by one statement: ${rows.toFixed(0)} µs of the server; one row with its answer: ${bare.toFixed(0)} µs, ${ratio} of it.`
}

async function copyText(admin: Client, table: string, copy: string, other: Readonly<Record<string, string>>) {
  const { rows } = await admin.query<{ name: string }>(
    `select attname as name from pg_attribute
      where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [table],
  )
  const names = rows.map(({ name }) => `"${name}"`).join(', ')
  const values = rows.map(({ name }) => other[name] ?? `x."${name}"`).join(', ')
  return `insert into ${table} (${names}) select ${values} from ${copy} x`
}

async function time(admin: Client, name: string, text: string): Promise<number | null> {
  const insert = async (count: number) => {
    for (let index = 0; index < count; index += 1) {
      const id = Id.generate(clock, random)
      await admin.query({ name, text, values: [id, Id.toUuid(id)] })
    }
  }
  await insert(warmUps)
  const before = await readOwnTimeUs(admin)
  await insert(insertions)
  const after = await readOwnTimeUs(admin)
  return before === null || after === null ? null : (after - before) / insertions
}

/** Processor time that the session of this client has used so far, in microseconds; null where it cannot be read. */
async function readOwnTimeUs(admin: Client): Promise<number | null> {
  const { rows } = await admin.query<{ pid: number }>('select pg_backend_pid() as pid')
  const stat = await readFile(`/proc/${rows[0]?.pid}/stat`, 'utf8').catch(() => '')
  const ticks = parseTicks(stat)
  return ticks === null ? null : ticks * tickUs
}
