import type { EventType, StoredTransfer, Subscription, TransferEvent } from '@outlay/core'
import type { Driver } from './driver.ts'
import { type Row, type Statement, statements } from './statement.ts'
import { withTraceContext } from './trace-contexts.ts'
import { readTransfer } from './transfer-row.ts'

const texts = {
  register: `insert into {{schema}}.subscription (name, types) values ($1, $2::text[])
    on conflict (name) do update set types = excluded.types where subscription.types <> excluded.types`,
  acknowledge: `delete from {{schema}}.delivery d using unnest($2::text[], $3::integer[]) as n (transfer_id, sequence)
    where d.subscription = $1 and d.transfer_id = n.transfer_id and d.sequence = n.sequence`,
  fail: `update {{schema}}.delivery d
    set failures = d.failures + 1, last_error = $4, dead = d.failures + 1 >= $5,
        due_at = clock_timestamp() + least(3600, power(2, least(d.failures, 12))) * interval '1 second' * (0.5 + random())
    from (
      select f.subscription, f.transfer_id, f.sequence from {{schema}}.delivery f
      where f.subscription = $1 and f.transfer_id = $2 and f.sequence = $3 for no key update skip locked
    ) f
    where d.subscription = f.subscription and d.transfer_id = f.transfer_id and d.sequence = f.sequence
    returning d.failures, d.dead`,
} as const

/**
 * The next events of a subscription. An earlier event of the same transfer that is not acknowledged yet, dead or alive, holds
 * the later ones back. The limit is no parameter: Postgres would plan the statement anew for each value, every time.
 */
const nextText = `select d.transfer_id, d.sequence, e.type, {{schema}}.iso(e.occurred_at) as occurred_at,
    t.id, t.account_id, t.idempotency_key, t.fingerprint, t.request,
    {{schema}}.iso(t.not_before) as not_before, {{schema}}.iso(t.expires_at) as expires_at,
    e.stage, e.status, e.failure, e.remote_id, e.reason, e.attempt,
    {{schema}}.iso(t.created_at) as created_at, {{schema}}.iso(e.occurred_at) as updated_at
  from {{schema}}.delivery d
  join {{schema}}.event e on e.transfer_id = d.transfer_id and e.sequence = d.sequence
  join {{schema}}.transfer t on t.id = d.transfer_id
  where d.subscription = $1 and d.due_at <= statement_timestamp() and not d.dead
    and not exists (
      select 1 from {{schema}}.delivery b
      where b.subscription = d.subscription and b.transfer_id = d.transfer_id and b.sequence < d.sequence)
  order by d.due_at limit {{limit}}
  for update of d skip locked`
const tracedNextText = withTraceContext(nextText, 'transfer_id')

/** Failures of one event after which it becomes a dead letter: about a day and a half of backoff. */
const maxFailures = 40

/** What became of one look for events. */
export type DeliveryOutcome =
  | { readonly kind: 'none' }
  | { readonly kind: 'handled'; readonly count: number }
  | { readonly kind: 'failed'; readonly count: number; readonly event: TransferEvent; readonly error: unknown }

/** The store of subscriptions and their deliveries. */
export type SubscriptionStore<Tx> = ReturnType<typeof createSubscriptionStore<Tx>>

/** Makes the store of subscriptions on a driver. */
export function createSubscriptionStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, texts)
  const next = createNext(tokens)
  return {
    async register(name: string, types: readonly EventType[]): Promise<void> {
      await driver.query(sql.register, [name, [...types]])
    },
    /**
     * Takes up to `limit` events, runs the handler on each and acknowledges them, all in one transaction. `onTaken` hears
     * how many before the first handler runs; `traced` adds the trace contexts.
     */
    async deliver(
      subscription: Subscription<Tx>,
      limit: number,
      onTaken: (count: number) => void,
      traced = false,
    ): Promise<DeliveryOutcome> {
      let current: TransferEvent | undefined
      let count = 0
      try {
        return await driver.transaction(async (tx) => {
          const rows = await driver.execute(tx, next(limit, traced), [subscription.name])
          count = rows.length
          if (count === 0) return { kind: 'none' }
          onTaken(count)
          const events = rows.map(readEvent).sort(inLockOrder)
          for (const event of events) {
            current = event
            await subscription.handler(event, tx)
          }
          const ids = events.map((event) => event.transferId)
          const sequences = events.map((event) => event.sequence)
          await driver.execute(tx, sql.acknowledge, [subscription.name, ids, sequences])
          return { kind: 'handled', count }
        })
      } catch (error) {
        if (current === undefined) throw error
        return { kind: 'failed', count, event: current, error }
      }
    },
    /** Puts a failed event off, or makes it a dead letter when it failed too often. */
    async fail(subscription: string, event: TransferEvent, error: unknown): Promise<{ readonly dead: boolean }> {
      const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
      const values = [
        subscription,
        event.transferId,
        event.sequence,
        text.slice(0, 1000).toWellFormed().replaceAll('\0', '\ufffd'),
        maxFailures,
      ]
      const [row] = await driver.query(sql.fail, values)
      return { dead: row?.['dead'] === true }
    },
  }
}

/** Makes the statements that take the next events, one for each limit. */
function createNext(tokens: Readonly<Record<string, string>>): (limit: number, traced: boolean) => Statement {
  const made = new Map<string, Statement>()
  return (limit, traced) => {
    const key = `${limit}${traced ? '_traced' : ''}_next`
    const statement =
      made.get(key) ??
      statements({ ...tokens, limit: String(limit) }, { [key]: traced ? tracedNextText : nextText })[key]
    if (statement === undefined) throw new Error(`There is no statement ${key}.`)
    made.set(key, statement)
    return statement
  }
}

/** Batches side by side come to accounts and transfers in one order, so that what their handlers lock cannot deadlock. */
function inLockOrder(a: TransferEvent, b: TransferEvent): number {
  if (a.accountId !== b.accountId) return a.accountId < b.accountId ? -1 : 1
  if (a.transferId !== b.transferId) return a.transferId < b.transferId ? -1 : 1
  return a.sequence - b.sequence
}

function readEvent(row: Row): TransferEvent {
  const transfer: StoredTransfer = readTransfer(row)
  const sequence = row['sequence'] as number
  return {
    id: `${transfer.id}-${sequence}`,
    type: row['type'] as EventType,
    accountId: transfer.accountId,
    transferId: transfer.id,
    sequence,
    occurredAt: row['occurred_at'] as string,
    transfer,
    ...(typeof row['traceparent'] === 'string' ? { traceparent: row['traceparent'] } : {}),
  }
}
