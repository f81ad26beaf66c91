import type { OperatorNote } from '@outlay/core'
import { Column, checkText, rowDecoder } from '@outlay/core/adapter'
import { createAuditStore } from '../control/audit.ts'
import type { Driver } from '../database/driver.ts'
import { type Row, statements } from '../database/statement.ts'
import type { DatabaseNames } from '../schema/database-names.ts'

/** What an account has that is not settled. Times are ISO 8601, UTC. */
export interface AccountBacklog {
  readonly accountId: string
  /** The gateway of these transfers; an account with several has one entry for each. */
  readonly gateway: string
  readonly paused: boolean
  readonly queued: number
  readonly submitting: number
  readonly awaitingFunds: number
  readonly blocked: number
  readonly submitted: number
  /** What people have to approve or release. */
  readonly held: number
  /** When the oldest transfer was enqueued that the service may not have, those not counted that people hold. */
  readonly oldestUnsubmittedAt: string | null
  readonly oldestSubmittedAt: string | null
  readonly fundsArrivedAt: string | null
  /** Most submissions per second; null for no limit. */
  readonly ratePerSecond: number | null
  /** Most submissions under way at once; null for no limit. */
  readonly concurrency: number | null
  readonly weight: number
  /** Submissions per second while the engine throttles it after a 429; null when it is not throttled. */
  readonly throttledRatePerSecond: number | null
  /** Until when the service asked for a pause; null when that is over. */
  readonly throttledUntil: string | null
}

/** How far a subscription is behind. */
export interface SubscriptionLag {
  readonly name: string
  readonly types: readonly string[]
  /** Events that it has yet to handle, dead letters not counted. */
  readonly undelivered: number
  /** Those of them whose handler has failed at least once. */
  readonly failing: number
  readonly deadLetters: number
  /** When the oldest event that it has yet to handle was recorded. */
  readonly oldestAt: string | null
  readonly lagMs: number | null
  readonly lastError: string | null
  /** How long ago a process last attended it, in milliseconds, to the minute. */
  readonly unattendedMs: number
}

/** An event whose handler failed too often. */
export interface DeadLetter {
  readonly subscription: string
  readonly transferId: string
  readonly sequence: number
  readonly type: string
  readonly occurredAt: string
  readonly failures: number
  readonly lastError: string | null
}

/** Which dead letters are meant. Members that are absent do not narrow them. */
export interface DeadLetterFilter {
  readonly subscription?: string | undefined
  readonly transferId?: string | undefined
}

const texts = {
  // Where no account is paused, that is known without counting what waits.
  accounts: `select v.account_id, v.paused, v.queued, v.submitting, v.awaiting_funds, v.blocked, v.submitted, v.held,
      {{schema}}.iso(v.oldest_unsubmitted_at) as oldest_unsubmitted_at, {{schema}}.iso(v.oldest_submitted_at) as oldest_submitted_at,
      {{schema}}.iso(v.funds_arrived_at) as funds_arrived_at,
      v.rate_per_second, v.concurrency, v.weight, v.lowered_rate, {{schema}}.iso(v.throttled_until) as throttled_until, v.gateway
    from {{schema}}.account_backlog v where (not $1 or v.paused) and (not $1 or exists (select from {{schema}}.account a where a.paused)) and ($3::text[] is null or v.account_id = any ($3))
    order by v.oldest_unsubmitted_at nulls last, v.account_id, v.gateway limit $2`,
  subscriptions: `select v.name, v.types, v.undelivered, v.failing, v.dead_letters, {{schema}}.iso(v.oldest_at) as oldest_at,
      round(extract(epoch from v.lag) * 1000)::float8 as lag_ms, v.last_error,
      round(extract(epoch from clock_timestamp() - coalesce(v.attended_at, v.created_at)) * 1000)::float8 as unattended_ms
    from {{schema}}.subscription_lag v order by v.name`,
  dead_letters: `select d.subscription, d.transfer_id, d.sequence, e.type, {{schema}}.iso(e.occurred_at) as occurred_at, d.failures,
      d.last_error
    from {{schema}}.delivery d join {{schema}}.event e on e.transfer_id = d.transfer_id and e.sequence = d.sequence
    where d.dead and ($1::text is null or d.subscription = $1) and ($2::text is null or d.transfer_id = $2)
    order by e.occurred_at limit $3`,
  replay: `update {{schema}}.delivery d set dead = false, ready = true, failures = 0, due_at = clock_timestamp()
    where d.dead and d.subscription = $1 and ($2::text is null or d.transfer_id = $2) returning 1`,
  notify: `select pg_notify('{{channel}}', '')::text`,
} as const

/** Makes the reads that concern accounts and subscriptions, and the one command that dead letters need. */
export function createBacklogReads<Tx>(driver: Driver<Tx>, { tokens }: DatabaseNames) {
  const sql = statements(tokens, texts)
  const audit = createAuditStore(driver, tokens)
  return {
    /** Accounts with something unsettled, paused ones and ones with limits; those with the oldest unsubmitted transfer first. */
    async accounts(
      filter: {
        readonly paused?: boolean | undefined
        readonly limit?: number | undefined
        /** Only these. Default: all of them. */
        readonly accountIds?: readonly string[] | undefined
      } = {},
    ): Promise<readonly AccountBacklog[]> {
      const values = [filter.paused ?? false, filter.limit ?? 1000, filter.accountIds ?? null]
      return (await driver.query(sql.accounts, values)).map(readAccount)
    },
    /** Every subscription and how far it is behind. */
    async subscriptions(): Promise<readonly SubscriptionLag[]> {
      return (await driver.query(sql.subscriptions, [])).map(readLag)
    },
    /** Events whose handler failed too often, oldest first. */
    async deadLetters(filter: DeadLetterFilter = {}, limit = 100): Promise<readonly DeadLetter[]> {
      const values = [filter.subscription ?? null, filter.transferId ?? null, limit]
      return (await driver.query(sql.dead_letters, values)).map(readDeadLetter)
    },
    /** Puts dead letters of a subscription back, to be handled again at once, and writes who did that into the audit; returns how many. */
    async replayDeadLetters(
      tx: Tx,
      subscription: string,
      transferId?: string,
      { actor, reason }: OperatorNote = {},
    ): Promise<number> {
      if (actor !== undefined) checkText(actor, 'actor')
      if (reason !== undefined) checkText(reason, 'reason')
      const rows = await driver.execute(tx, sql.replay, [subscription, transferId ?? null])
      if (rows.length === 0) return 0
      const after = { subscription, replayed: rows.length }
      await audit.recordAudit(tx, {
        ...{ command: 'subscriptions.replay', actor: actor ?? null, reason: reason ?? null },
        ...{ transferId: transferId ?? null, before: null, after },
      })
      await driver.execute(tx, sql.notify, [])
      return rows.length
    },
  }
}

const readAccount: (row: Row) => AccountBacklog = rowDecoder('account backlog', {
  accountId: Column.text,
  gateway: Column.text,
  paused: Column.boolean,
  queued: Column.integer,
  submitting: Column.integer,
  awaitingFunds: Column.integer,
  blocked: Column.integer,
  submitted: Column.integer,
  held: Column.integer,
  oldestUnsubmittedAt: Column.nullable(Column.text),
  oldestSubmittedAt: Column.nullable(Column.text),
  fundsArrivedAt: Column.nullable(Column.text),
  ratePerSecond: Column.nullable(Column.number),
  concurrency: Column.nullable(Column.integer),
  weight: Column.number,
  throttledRatePerSecond: Column.from('lowered_rate', Column.nullable(Column.number)),
  throttledUntil: Column.nullable(Column.text),
})

const readLag: (row: Row) => SubscriptionLag = rowDecoder('subscription lag', {
  name: Column.text,
  types: Column.texts,
  undelivered: Column.integer,
  failing: Column.integer,
  deadLetters: Column.integer,
  oldestAt: Column.nullable(Column.text),
  lagMs: Column.nullable(Column.number),
  lastError: Column.nullable(Column.text),
  unattendedMs: Column.number,
})

const readDeadLetter: (row: Row) => DeadLetter = rowDecoder('dead letter', {
  subscription: Column.text,
  transferId: Column.text,
  sequence: Column.integer,
  type: Column.text,
  occurredAt: Column.text,
  failures: Column.integer,
  lastError: Column.nullable(Column.text),
})
