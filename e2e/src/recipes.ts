import { createHmac } from 'node:crypto'
import { Amount, type Engine, type EnqueueRequest, type TransferEvent } from '@outlay/core'
import type { Pool, PoolClient } from 'pg'

/** What a clock on the wall says in a time zone, as if it were UTC, in milliseconds. */
function wallTime(at: Date, timeZone: string): number {
  const format = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone, hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit' },
    ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
  })
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second)
}

/** The moment at which a clock in a time zone shows this date and hour, also in the weeks of daylight saving time. */
export function momentIn(timeZone: string, year: number, month: number, day: number, hour: number): Date {
  const wanted = Date.UTC(year, month - 1, day, hour)
  const near = new Date(wanted - (wallTime(new Date(wanted), timeZone) - wanted))
  return new Date(near.getTime() - (wallTime(near, timeZone) - wanted))
}

/** Tomorrow at nine in New York. */
export function tomorrowAtNine(now: Date, timeZone = 'America/New_York'): Date {
  const tomorrow = new Date(wallTime(now, timeZone) + 86_400_000)
  return momentIn(timeZone, tomorrow.getUTCFullYear(), tomorrow.getUTCMonth() + 1, tomorrow.getUTCDate(), 9)
}

/** The last day of a month that is neither on a weekend nor in `holidays`, as 2026-11-30. */
export function lastBankingDay(year: number, month: number, holidays: readonly string[]): string {
  for (let day = new Date(Date.UTC(year, month, 0)); ; day = new Date(day.getTime() - 86_400_000)) {
    const date = day.toISOString().slice(0, 10)
    if (day.getUTCDay() % 6 !== 0 && !holidays.includes(date)) return date
  }
}

/** Enqueues the rent of a month for its last banking day; once, however often it is called. */
export async function enqueueRent(
  engine: Engine<PoolClient>,
  tx: PoolClient,
  request: EnqueueRequest,
  [year, month]: readonly [year: number, month: number],
  holidays: readonly string[],
) {
  const date = lastBankingDay(year, month, holidays)
  const [, , day = 1] = date.split('-').map(Number)
  const notBefore = momentIn('America/New_York', year, month, day, 9)
  return engine.transfers.enqueue(tx, { ...request, notBefore, idempotencyKey: `rent-${year}-${month}` })
}

/** Pays a run as one batch. A run that is started twice is one run. */
export async function payRun(
  engine: Engine<PoolClient>,
  tx: PoolClient,
  run: string,
  payments: readonly EnqueueRequest[],
): Promise<string> {
  const { id, state } = await engine.batches.create(tx, { key: run })
  if (state !== 'open') return id
  await engine.transfers.enqueueMany(
    tx,
    payments.map((one, index) => ({ ...one, batchId: id, idempotencyKey: `${run}-${index}` })),
  )
  await engine.batches.close(tx, id)
  return id
}

/** Requests a payment of an expense: at once up to the limit, and above it once somebody else has approved it. */
export async function requestExpense(
  engine: Engine<PoolClient>,
  tx: PoolClient,
  expense: { readonly id: string; readonly by: string; readonly limit: Amount; readonly request: EnqueueRequest },
): Promise<'enqueued' | 'waits'> {
  const { id, by, limit, request } = expense
  await tx.query('insert into expense (id, requested_by, request) values ($1, $2, $3)', [id, by, request])
  if (Amount.compare(request.amount, limit) > 0) return 'waits'
  await engine.transfers.enqueue(tx, { ...request, idempotencyKey: `expense-${id}` })
  return 'enqueued'
}

/** Approves an expense and enqueues its payment in the same transaction: once, and not by who requested it. */
export async function approveExpense(engine: Engine<PoolClient>, tx: PoolClient, id: string, by: string) {
  const approve = `update expense set approved_by = $2 where id = $1 and approved_by is null and requested_by <> $2 returning request`
  const { rows } = await tx.query<{ readonly request: EnqueueRequest }>(approve, [id, by])
  const [expense] = rows
  if (expense === undefined) throw new Error(`Somebody else has to approve the expense ${id}, or has done so.`)
  return engine.transfers.enqueue(tx, { ...expense.request, idempotencyKey: `expense-${id}` })
}

/** The handler writes what the customer is to get; its transaction is that of the acknowledgement, so it is written once. */
export async function noteForCustomer(event: TransferEvent, tx: PoolClient): Promise<void> {
  const body = { id: event.id, type: event.type, payment: event.transfer.metadata?.['order'], at: event.occurredAt }
  await tx.query('insert into customer_webhook (id, body) values ($1, $2) on conflict do nothing', [event.id, body])
}

/** Posts the oldest note, outside of any transaction, and deletes it after a 2xx. The customer may get one twice, with the same id. */
export async function postNext(pool: Pool, url: string, secret: string): Promise<boolean> {
  const { rows } = await pool.query<{ readonly id: string; readonly body: object }>(
    `update customer_webhook set next_at = now() + interval '1 minute' where id = (
       select id from customer_webhook where next_at <= now() order by next_at limit 1 for update skip locked) returning id, body`,
  )
  const [note] = rows
  if (note === undefined) return false
  const body = JSON.stringify(note.body)
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  const headers = { 'content-type': 'application/json', signature }
  const answer = await fetch(url, { method: 'POST', body, headers, signal: AbortSignal.timeout(10_000) })
  if (answer.ok) await pool.query('delete from customer_webhook where id = $1', [note.id])
  return answer.ok
}
