import {
  type EventType,
  OutlayError,
  type ReturnedAmount,
  type StoredTransfer,
  type SubscriptionRemoval,
  type TransferEvent,
} from '@outlay/core'
import { Column, rowDecoder, type Subscription } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { type Row, statements } from '../database/statement.ts'
import { namedThrownText } from '../database/thrown-text.ts'
import { readTransfer } from '../transfers/transfer-row.ts'
import { createAcknowledgedEvents } from './acknowledged-events.ts'
import { createBegunEventStore, maxFailures, retryAt } from './begun-events.ts'
import { createHandlerRun, type HandlerRun } from './handler-run.ts'
import { createNextStatements, type DeliveryPlace } from './next-deliveries.ts'

const texts = {
  register: 'select {{schema}}.register_subscription($1, $2::text[])::text',
  // What is missing is read before the function stores it again.
  attend: `select {{schema}}.attend_subscription($1, $2::text[], $3::bigint) as attended,
    array(select x.type from unnest($2::text[]) as x (type)
      where not exists (select 1 from {{schema}}.subscription s where s.name = $1 and x.type = any (s.types))) as missing`,
  // The lock keeps each where it is until it is written.
  make_due_ready: `with ready as (
      update {{schema}}.delivery d set ready = true
      where d.ctid = any (array(
        select x.ctid from {{schema}}.delivery x
        where x.subscription = $1 and not x.ready and not x.dead and x.due_at <= statement_timestamp()
        order by x.due_at limit {{window}} for no key update skip locked))
      returning 1
    )
    select count(*)::integer as count from ready`,
  resume_deferred: 'select {{schema}}.resume_deferred_deliveries($1)::text',
  remove: `select r.known, r.removed, r.pending, {{schema}}.attended_for($1, $2::text[]) as attended_for_ms
    from {{schema}}.remove_subscription($1, $2::text[], $3) r`,
  fail: `update {{schema}}.delivery d
    set ready = false, begun = false, failures = d.failures + 1, last_error = $4, dead = d.failures + 1 >= $5, due_at = ${retryAt}
    from (
      select f.subscription, f.transfer_id, f.sequence from {{schema}}.delivery f
      where f.subscription = $1 and f.transfer_id = $2 and f.sequence = $3 for no key update skip locked
    ) f
    where d.subscription = f.subscription and d.transfer_id = f.transfer_id and d.sequence = f.sequence
    returning d.failures, d.dead`,
} as const

const handlingTexts = {
  acknowledge: 'select {{schema}}.acknowledge_deliveries($1, $2, $3::text[], $4::integer[]) as acknowledged',
  terminate: `select pg_terminate_backend(a.pid, 2000) as ended from pg_stat_activity a
    where a.pid = $1 and a.backend_xid::text::bigint = $2::bigint & 4294967295`,
} as const

/** Most ready events of one account that one statement reads. */
const windowSize = 1_000

/** The result of one fetch of events. */
export type DeliveryOutcome =
  | { readonly kind: 'none' }
  /** Events were committed as begun; the next fetch handles them. */
  | { readonly kind: 'begun' }
  | {
      readonly kind: 'handled'
      /** How long the slowest event of each account took, in milliseconds; those handled together share their time. */
      readonly tookMs: ReadonlyMap<string, number>
    }
  | {
      readonly kind: 'failed'
      /** Events that shared the transaction. */
      readonly count: number
      readonly event: TransferEvent
      readonly error: unknown
      /** True when the failure is of that event and of no other that shared the transaction. */
      readonly isItsOwn: boolean
    }
  | { readonly kind: 'stopped' }

/** How events are fetched. */
export interface DeliverOptions {
  readonly limit: number
  /** Types whose earlier events defer later ones of their transfer; null for all. */
  readonly holding: readonly string[] | null
  /** Accounts whose events are left to others. */
  readonly exceptAccounts: readonly string[]
  /** Transfers whose events are left to others: one of them has just failed and is about to be deferred. */
  readonly exceptTransfers: readonly string[]
  /** True to commit events as begun before their handler runs, also those that have not failed. */
  readonly isCautious: boolean
  /** Only events behind that place in their order. */
  readonly place: DeliveryPlace
  /** Called with the accounts of the fetched events before the first handler runs; with false they are left to other loops. */
  readonly onLeased: (accountIds: readonly string[]) => boolean
  /** Called with a failed event before that event can be fetched again. */
  readonly onFailed: (event: TransferEvent) => void
  /** Ends a handler that runs when the engine stops for good. */
  readonly signal: AbortSignal
  /** Adds the trace contexts. */
  readonly traced?: boolean | undefined
}

/** Types of a subscription, when a process records that it attends some. */
export interface Attended {
  /** All types that any process has attended within the time. */
  readonly attended: readonly string[]
  /** Its own types that somebody had removed. */
  readonly missing: readonly string[]
}

/** The store of subscriptions and their deliveries. */
export type SubscriptionStore<Tx> = ReturnType<typeof createSubscriptionStore<Tx>>

/** Makes the store of subscriptions on a driver. */
export function createSubscriptionStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements({ ...tokens, window: String(windowSize) }, texts)
  const { deliveries_end: end, deliveries_behind: behind } = createNextStatements(tokens, windowSize)
  return {
    /** Adds the types to the subscription, which it makes where there is none. */
    async register(name: string, types: readonly EventType[]): Promise<void> {
      await driver.query(sql.register, [name, [...types]])
    },
    /** Records that this process attends these types, and stores again those that are missing. */
    async attend(name: string, types: readonly EventType[], withinMs: number): Promise<Attended> {
      const read = readFirst(readAttended, await driver.query(sql.attend, [name, [...types], withinMs]))
      return { attended: read?.attended ?? types, missing: read?.missing ?? [] }
    },
    deliver: createDeliver(driver, tokens),
    failBegun: createBegunEventStore(driver, tokens).failBegun,
    /** Where the ready events that one fetch reads end; undefined when it reads all of them. */
    async readEnd(
      { name, types }: Subscription<Tx>,
      { exceptAccounts, place }: { readonly exceptAccounts: readonly string[]; readonly place: DeliveryPlace },
    ): Promise<DeliveryPlace | undefined> {
      const read = readFirst(readPlace, await driver.query(end, [name, exceptAccounts, ...place, [...types]]))
      return read === undefined ? undefined : [read.accountId, read.dueAt, read.transferId, read.sequence]
    },
    /** Defers a failed event, or makes it a dead letter when it failed too often. */
    async fail(subscription: string, event: TransferEvent, error: unknown): Promise<{ readonly dead: boolean }> {
      const text = namedThrownText(error)
      const values = [
        subscription,
        event.transferId,
        event.sequence,
        text.slice(0, 1000).toWellFormed().replaceAll('\0', '\ufffd'),
        maxFailures,
      ]
      return { dead: readFirst(readFailed, await driver.query(sql.fail, values))?.dead === true }
    },
    /** Makes deferred deliveries ready whose time has come; returns true when there may be more of them. */
    async makeDueReady(name: string): Promise<boolean> {
      return readFirst(readDeferred, await driver.query(sql.make_due_ready, [name]))?.count === windowSize
    },
    /**
     * Defers ready deliveries that are behind an earlier one of their transfer, among the first behind a place. Returns how many, and the
     * account where it ended; undefined when it has read them all.
     */
    async deferBehind(
      { name, types }: Pick<Subscription<Tx>, 'name' | 'types'>,
      { holding, place }: Pick<DeliverOptions, 'holding' | 'place'>,
    ): Promise<{ readonly count: number; readonly endedAt: string | undefined }> {
      const values = [name, [], ...place, [...types], holding]
      return readFirst(readSwept, await driver.query(behind, values)) ?? { count: 0, endedAt: undefined }
    },
    /** Makes deferred deliveries due again. */
    async resumeDeferred(name: string): Promise<void> {
      await driver.query(sql.resume_deferred, [name])
    },
    /** Removes a subscription, or types of it; not while a process attends it, nor while there are events to handle, unless discarded. */
    async remove(
      tx: Tx,
      name: string,
      types: readonly string[] | null,
      discard: boolean,
    ): Promise<SubscriptionRemoval> {
      const [row = {}] = await driver.execute(tx, sql.remove, [name, types, discard])
      return readRemoval(row)
    },
  }
}

/**
 * Makes what fetches up to `limit` events of the subscription's own types, runs the handler on each and acknowledges them, all
 * in one transaction. A handler that exceeds its time limit loses its connection: nothing that it writes later is kept.
 */
function createDeliver<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, handlingTexts)
  const { deliveries_next: next, traced_deliveries_next: nextTraced } = createNextStatements(tokens, windowSize)
  const acknowledged = createAcknowledgedEvents()
  const begun = createBegunEventStore(driver, tokens)
  const terminate = async ({ pid, xact }: TransactionMark) => {
    await driver.query(sql.terminate, [pid, xact])
  }
  const handleAll = async (tx: Tx, subscription: Subscription<Tx>, rows: readonly Row[], run: HandlerRun) => {
    const mark = readMark(rows[0] ?? {})
    const events = rows.map(readEvent).sort(inLockOrder)
    const isAgain = acknowledged.forget(subscription.name, events)
    const tookMs = new Map<string, number>()
    for (const together of subscription.together ? [events] : events.map((event) => [event])) {
      const begunAt = performance.now()
      await run.handle(
        together,
        (context) => (isAgain ? Promise.reject(new Error(rolledBack)) : subscription.handler(together, tx, context)),
        () => terminate(mark),
      )
      const ms = (performance.now() - begunAt) / together.length
      for (const { accountId } of together) tookMs.set(accountId, Math.max(ms, tookMs.get(accountId) ?? 0))
    }
    const handled = [events.map(({ transferId }) => transferId), events.map(({ sequence }) => sequence)]
    const values = [subscription.name, mark.xact, ...handled]
    const [row] = await driver.execute(tx, sql.acknowledge, values).catch((error: unknown) => {
      if (OutlayError.is(error, 'no_transaction')) return []
      throw error
    })
    if (row !== undefined && readAcknowledged(row).acknowledged) return { tookMs, events }
    throw new Error('The handler ended the transaction that it was given; the engine commits it or rolls it back.')
  }
  return async (subscription: Subscription<Tx>, options: DeliverOptions): Promise<DeliveryOutcome> => {
    const { limit, holding, exceptAccounts, exceptTransfers, traced = false, place, signal, onFailed } = options
    const { name, types, timeoutMs } = subscription
    const statement = traced ? nextTraced : next
    const longest = String(timeoutMs + serverGraceMs)
    const values = [name, exceptAccounts, ...place, [...types], holding, exceptTransfers, limit, longest]
    const run = createHandlerRun({ timeoutMs, serverEndsMs: timeoutMs + serverGraceMs + 1_000, signal, onFailed })
    let count = 0
    const transaction = driver.transaction(
      async (tx) => {
        const rows = await driver.execute(tx, statement, values)
        count = rows.length
        if (count === 0 || !options.onLeased(rows.map((row) => readOwner(row).accountId))) return undefined
        if (await begun.begin(tx, name, rows, options.isCautious)) return 'begun'
        return handleAll(tx, subscription, rows, run).catch((error: unknown) => {
          // Before the rollback, after which others may fetch it.
          const event = run.current()
          if (event !== undefined) onFailed(event)
          throw error
        })
      },
      { longestMs: limit * timeoutMs + 2 * serverGraceMs },
    )
    try {
      const handled = await run.orAbandoned(transaction)
      if (handled === undefined || handled === 'begun') return { kind: handled ?? 'none' }
      acknowledged.add(name, handled.events)
      return { kind: 'handled', tookMs: handled.tookMs }
    } catch (error) {
      if (run.isStopped()) return { kind: 'stopped' }
      const event = run.current()
      if (event === undefined) throw error
      onFailed(event)
      const isItsOwn = count === 1 || (run.hasExceeded() && !subscription.together)
      return { kind: 'failed', count, event, error, isItsOwn }
    }
  }
}

/**
 * How long the server waits beyond the time limit of a handler before it ends the session, in milliseconds: for a
 * process that stands still, or has no connection left to end it.
 */
const serverGraceMs = 10_000

const rolledBack =
  'The last transaction of this event was lost although its commit did not fail; await every statement of the handler.'

/** The session and transaction in which events were fetched. */
interface TransactionMark {
  readonly pid: number
  readonly xact: string
}

const readMark: (row: Row) => TransactionMark = rowDecoder('delivery', { pid: Column.integer, xact: Column.text })

/** Batches side by side come to accounts and transfers in one order, so that what their handlers lock cannot deadlock. */
function inLockOrder(a: TransferEvent, b: TransferEvent): number {
  if (a.accountId !== b.accountId) return a.accountId < b.accountId ? -1 : 1
  if (a.transferId !== b.transferId) return a.transferId < b.transferId ? -1 : 1
  return a.sequence - b.sequence
}

function readEvent(row: Row): TransferEvent {
  const transfer: StoredTransfer = readTransfer(row)
  const { sequence, type, occurredAt, returned, ...trace } = readOccurrence(row)
  return {
    id: `${transfer.id}-${sequence}`,
    type,
    accountId: transfer.accountId,
    transferId: transfer.id,
    sequence,
    occurredAt,
    transfer,
    ...(returned === null ? {} : { returned }),
    ...trace,
    // The database writes what came back with the event of a return alone.
  } as TransferEvent
}

const readOccurrence = rowDecoder('event', {
  sequence: Column.integer,
  type: Column.word<EventType>(),
  occurredAt: Column.text,
  returned: Column.nullable(Column.json<ReturnedAmount>()),
  traceparent: Column.optional(Column.text),
})

const readPlace = rowDecoder('delivery', {
  accountId: Column.text,
  dueAt: Column.text,
  transferId: Column.text,
  sequence: Column.integer,
})
const readOwner = rowDecoder('event', { accountId: Column.text })
const readAcknowledged = rowDecoder('acknowledgement', { acknowledged: Column.boolean })
const readAttended = rowDecoder('subscription', {
  attended: Column.or(Column.texts, undefined),
  missing: Column.texts,
})
const readFailed = rowDecoder('delivery', { dead: Column.boolean })
const readDeferred = rowDecoder('delivery', { count: Column.integer })
const readSwept = rowDecoder('sweep', { count: Column.integer, endedAt: Column.or(Column.text, undefined) })

const readRemoval: (row: Row) => SubscriptionRemoval = rowDecoder('subscription', {
  known: Column.or(Column.boolean, false),
  removed: Column.or(Column.boolean, false),
  pending: Column.or(Column.integer, 0),
  attendedForMs: Column.or(Column.integer, 0),
})
