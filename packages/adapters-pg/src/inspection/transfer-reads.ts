import {
  Id,
  type Metadata,
  type ReturnedAmount,
  type Stage,
  type StoredTransfer,
  type TransferStatus,
} from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst, readIds } from '../database/read-rows.ts'
import { type Row, statements } from '../database/statement.ts'
import type { DatabaseNames } from '../schema/database-names.ts'
import { readOne, transferColumns } from '../transfers/transfer-row.ts'
import { type ReturnRecord, readReturn, returnsText } from './return-records.ts'
import { amountOf, conditionsOf, type TransferFilter } from './transfer-filter.ts'

/** What the transfers of a list come to, in one currency and status. */
export interface TransferTotal {
  readonly currency: string
  readonly status: TransferStatus
  readonly count: number
  /** Decimal string. */
  readonly amount: string
}

/** One transfer in a list. Times are ISO 8601, UTC. */
export interface TransferSummary {
  readonly id: string
  readonly accountId: string
  readonly idempotencyKey: string
  /** The idempotency key that is sent; null before the first attempt. */
  readonly submissionKey: string | null
  /** The client of its last request; null when none has left, or when the gateway does not distinguish clients. */
  readonly client: string | null
  readonly gateway: string
  readonly stage: Stage
  readonly status: TransferStatus
  readonly reason: string | null
  /** Decimal string. */
  readonly amount: string
  readonly currency: string
  /** Value type and rail or chain, for example `USDC base`. */
  readonly source: string
  readonly destination: string
  readonly failureCode: string | null
  readonly failureDetail: string | null
  readonly remoteId: string | null
  readonly attempts: number
  /** Milliseconds since it was enqueued. */
  readonly ageMs: number
  /** Since when the outcome of an attempt is unknown. */
  readonly unknownSince: string | null
  readonly nextAttemptAt: string | null
  readonly nextPollAt: string | null
  /** State of its job in the queue; null when it has none. */
  readonly jobState: string | null
  readonly notBefore: string | null
  readonly expiresAt: string | null
  readonly createdAt: string
  readonly updatedAt: string
  /** What the host has noted beside it; null where it has nothing. */
  readonly metadata: Metadata | null
  /** The ended transfer that it was resubmitted for, and the one that it was resubmitted as. */
  readonly resubmissionOf: string | null
  readonly resubmittedAs: string | null
  /** The batch that it belongs to. */
  readonly batchId: string | null
  /** What was paid, where that is another amount than was asked for: a decimal string in the same currency. Null otherwise. */
  readonly paidAmount: string | null
}

/** One attempt, as the log has it. */
export interface AttemptRecord {
  readonly attempt: number
  readonly worker: string
  readonly claimedAt: string
  /** Null when no answer was written: its outcome is not known. */
  readonly answeredAt: string | null
  readonly outcome: string | null
  readonly detail: string | null
  readonly httpStatus: number | null
  readonly requestId: string | null
  /** The transfer's id at the service, in an answer that accepted it. */
  readonly remoteId: string | null
  /** The gateway that it went to; null where none was to leave, and for those of earlier releases. */
  readonly gateway: string | null
  /** Given for an attempt that registered the counterparty under its own key; it could move no money. */
  readonly step?: 'registration' | undefined
}

/** One event, as it was recorded. */
export interface EventRecord {
  readonly sequence: number
  readonly type: string
  readonly stage: Stage
  readonly status: TransferStatus
  readonly reason: string | null
  readonly remoteId: string | null
  readonly attempt: number
  readonly occurredAt: string
  /** What came back; null for every event but `transfer.returned`. */
  readonly returned: ReturnedAmount | null
}

/** One event that a subscription has yet to handle. */
export interface DeliveryRecord {
  readonly subscription: string
  readonly sequence: number
  readonly dueAt: string
  readonly failures: number
  readonly dead: boolean
  readonly lastError: string | null
}

/** All that the database knows about one transfer, read at one moment. */
export interface TransferEvidence {
  readonly transfer: StoredTransfer
  readonly summary: TransferSummary
  /** Since when the outcome of an attempt is unknown. */
  readonly unknownSince: string | null
  /** Number of events by the transfer's row. */
  readonly eventSequence: number
  readonly attempts: readonly AttemptRecord[]
  readonly events: readonly EventRecord[]
  /** What came back of it, or is said to have, the earliest report first. */
  readonly returns: readonly ReturnRecord[]
  /** Events still to be delivered; handled ones are gone. */
  readonly deliveries: readonly DeliveryRecord[]
  /** Subscriptions that get at least one of its events. */
  readonly subscriptions: readonly string[]
  /** The other subscriptions, which get none of its events so far, with the types that they get. */
  readonly otherSubscriptions: readonly { readonly name: string; readonly types: readonly string[] }[]
  /** When its events and attempts went to the archive; null while they are live. */
  readonly archivedAt: string | null
  /** Transfers of the account that have the same id at the same gateway. */
  readonly sameRemoteId: readonly string[]
  /** Transfers of the account with the same request and another key, enqueued within a day; at most 20. */
  readonly sameRequest: readonly string[]
}

const iso = (column: string) => `{{schema}}.iso(${column})`
const ms = (interval: string) => `round(extract(epoch from ${interval}) * 1000)::float8`

const summaryColumns = `v.id, v.account_id, v.idempotency_key, v.stage, v.status, v.reason, v.amount, v.currency, v.source, v.destination,
  v.gateway, v.failure_code, v.failure_detail, v.remote_id, v.attempts, ${ms('v.age')} as age_ms, ${iso('v.unknown_since')} as unknown_since,
  ${iso('v.next_attempt_at')} as next_attempt_at, ${iso('v.next_poll_at')} as next_poll_at, v.job_state,
  ${iso('v.not_before')} as not_before, ${iso('v.expires_at')} as expires_at, ${iso('v.created_at')} as created_at,
  ${iso('v.updated_at')} as updated_at,
  case when v.attempts > 0 then coalesce(v.submission_key, v.idempotency_key) end as sent_key, nullif(v.client, '') as client,
  v.metadata, v.resubmission_of, v.resubmitted_as, v.batch_id, v.paid_amount`

const texts = {
  evidence_summary: `select ${summaryColumns} from {{schema}}.transfers v where v.id = $1`,
  evidence_transfer: `select ${transferColumns}, ${iso('t.unknown_since')} as unknown_since, t.event_sequence
    from {{schema}}.transfer t where t.id = $1`,
  evidence_attempts: `select a.attempt, a.worker, ${iso('a.claimed_at')} as claimed_at, ${iso('a.answered_at')} as answered_at, a.outcome,
    a.detail, a.http_status, a.request_id, a.remote_id, a.step, a.gateway from {{schema}}.logged_attempts_of($1) a order by a.attempt`,
  evidence_events: `select e.sequence, e.type, e.stage, e.status, e.reason, e.remote_id, e.attempt, ${iso('e.occurred_at')} as occurred_at,
      e.returned from {{schema}}.events_of($1) e order by e.sequence`,
  evidence_returns: returnsText,
  evidence_deliveries: `select d.subscription, d.sequence, ${iso('d.due_at')} as due_at, d.failures, d.dead, d.last_error
    from {{schema}}.subscription s join {{schema}}.delivery d on d.subscription = s.name
    where d.transfer_id = $1 order by d.subscription, d.sequence`,
  evidence_subscriptions: `select distinct s.name from {{schema}}.subscription s join {{schema}}.events_of($1) e on s.types @> array[e.type]
    order by s.name`,
  evidence_others: `select s.name, s.types from {{schema}}.subscription s
    where not exists (select 1 from {{schema}}.events_of($1) e where s.types @> array[e.type]) order by s.name`,
  evidence_archive: `select ${iso('a.archived_at')} as archived_at from {{schema}}.transfer t
    join {{schema}}.archive a on a.page = t.archive_page where t.id = $1`,
  evidence_remote: `select t.id from {{schema}}.transfer t where t.remote_id = $1 and t.account_id = $2 and t.gateway = $3 order by t.id`,
  evidence_request: `select t.id from {{schema}}.transfer t
    where t.id > $1 and t.id < $2 and t.account_id = $3 and t.fingerprint = $4 and t.id <> $5 order by t.id limit 20`,
} as const

/** Longest that two enqueues of one request are apart to be shown as alike, in milliseconds. */
const alikeMs = 24 * 3_600_000

/** Makes the reads that concern transfers. */
export function createTransferReads<Tx>(driver: Driver<Tx>, { tokens }: DatabaseNames) {
  const sql = statements(tokens, texts)
  return {
    /** Transfers, newest first. */
    async transfers(filter: TransferFilter = {}): Promise<readonly TransferSummary[]> {
      const { text, values } = listStatement(filter)
      const { list } = statements(tokens, { list: text })
      // Each combination of filters has its own text, so it is not prepared under one name.
      return (await driver.run(list.text, values)).rows.map(readSummary)
    },
    /**
     * Count and sum of all transfers that match, whatever the limit, by currency and status. Counts what was paid where that is
     * another amount than was asked for; one that cannot be read adds nothing to the sum. Reads each of them.
     */
    async totals(filter: Omit<TransferFilter, 'before' | 'limit'> = {}): Promise<readonly TransferTotal[]> {
      const { where, values } = conditionsOf(filter)
      const text = `select v.currency, v.status, count(*)::integer as count, coalesce(sum(${amountOf('coalesce(v.paid_amount, v.amount)')}), 0)::text as amount
        from {{schema}}.transfers v ${where} group by v.currency, v.status order by v.currency, v.status`
      const { total } = statements(tokens, { total: text })
      return (await driver.run(total.text, values)).rows.map(readTotal)
    },
    /** All that is known about one transfer; `undefined` when there is none. */
    async evidence(transferId: string): Promise<TransferEvidence | undefined> {
      return driver.transaction(async (tx) => {
        // One snapshot for all of it.
        await driver.execute(
          tx,
          { name: 'outlay_snapshot', text: 'set transaction isolation level repeatable read, read only' },
          [],
        )
        const read = (name: keyof typeof texts, ...values: unknown[]) => driver.execute(tx, sql[name], values)
        return gatherEvidence(read, transferId)
      })
    },
  }
}

type Read = (name: keyof typeof texts, ...values: unknown[]) => Promise<readonly Row[]>

async function gatherEvidence(read: Read, id: string): Promise<TransferEvidence | undefined> {
  const rows = await read('evidence_transfer', id)
  const transfer = readOne(rows)
  const [row] = rows
  const [summary] = await read('evidence_summary', id)
  if (transfer === undefined || row === undefined || summary === undefined) return undefined
  const { accountId, gateway, remoteId, fingerprint } = transfer
  const enqueuedAt = Date.parse(transfer.createdAt)
  const from = lowestId(enqueuedAt - alikeMs)
  const to = lowestId(enqueuedAt + alikeMs)
  return {
    transfer,
    summary: readSummary(summary),
    ...readProgress(row),
    attempts: (await read('evidence_attempts', id)).map(readAttempt),
    events: (await read('evidence_events', id)).map(readEventRecord),
    returns: (await read('evidence_returns', id)).map(readReturn),
    deliveries: (await read('evidence_deliveries', id)).map(readDelivery),
    subscriptions: (await read('evidence_subscriptions', id)).map((one) => readSubscription(one).name),
    otherSubscriptions: (await read('evidence_others', id)).map(readOther),
    archivedAt: readFirst(readArchive, await read('evidence_archive', id))?.archivedAt ?? null,
    sameRemoteId:
      remoteId === null
        ? []
        : readIds(await read('evidence_remote', remoteId, accountId, gateway)).filter((one) => one !== id),
    sameRequest: readIds(await read('evidence_request', from, to, accountId, fingerprint, id)),
  }
}

const lowestId = (atMs: number): string => Id.lowest(new Date(Math.max(0, atMs)))

function listStatement(filter: TransferFilter): { readonly text: string; readonly values: readonly unknown[] } {
  const { where, values } = conditionsOf(filter)
  const text = `select ${summaryColumns} from {{schema}}.transfers v ${where} order by v.id desc limit $${values.length + 1}`
  return { text, values: [...values, filter.limit ?? 50] }
}

const readTotal: (row: Row) => TransferTotal = rowDecoder('total of transfers', {
  currency: Column.text,
  status: Column.word<TransferStatus>(),
  count: Column.integer,
  amount: Column.text,
})

const readSummary: (row: Row) => TransferSummary = rowDecoder('transfer summary', {
  id: Column.text,
  accountId: Column.text,
  idempotencyKey: Column.text,
  submissionKey: Column.from('sent_key', Column.nullable(Column.text)),
  client: Column.nullable(Column.text),
  gateway: Column.text,
  stage: Column.word<Stage>(),
  status: Column.word<TransferStatus>(),
  reason: Column.nullable(Column.text),
  amount: Column.text,
  currency: Column.text,
  source: Column.text,
  destination: Column.text,
  failureCode: Column.nullable(Column.text),
  failureDetail: Column.nullable(Column.text),
  remoteId: Column.nullable(Column.text),
  attempts: Column.integer,
  ageMs: Column.number,
  unknownSince: Column.nullable(Column.text),
  nextAttemptAt: Column.nullable(Column.text),
  nextPollAt: Column.nullable(Column.text),
  jobState: Column.nullable(Column.text),
  notBefore: Column.nullable(Column.text),
  expiresAt: Column.nullable(Column.text),
  createdAt: Column.text,
  updatedAt: Column.text,
  metadata: Column.nullable(Column.json<Metadata>()),
  resubmissionOf: Column.nullable(Column.text),
  resubmittedAs: Column.nullable(Column.text),
  batchId: Column.nullable(Column.text),
  paidAmount: Column.nullable(Column.text),
})

const readAttempt: (row: Row) => AttemptRecord = rowDecoder('attempt', {
  attempt: Column.integer,
  worker: Column.text,
  claimedAt: Column.text,
  answeredAt: Column.nullable(Column.text),
  outcome: Column.nullable(Column.text),
  detail: Column.nullable(Column.text),
  httpStatus: Column.nullable(Column.integer),
  requestId: Column.nullable(Column.text),
  remoteId: Column.nullable(Column.text),
  gateway: Column.nullable(Column.text),
  step: Column.optional(Column.word<'registration'>()),
})

const readEventRecord: (row: Row) => EventRecord = rowDecoder('event', {
  sequence: Column.integer,
  type: Column.text,
  stage: Column.word<Stage>(),
  status: Column.word<TransferStatus>(),
  reason: Column.nullable(Column.text),
  remoteId: Column.nullable(Column.text),
  attempt: Column.integer,
  occurredAt: Column.text,
  returned: Column.nullable(Column.json<ReturnedAmount>()),
})

const readDelivery: (row: Row) => DeliveryRecord = rowDecoder('delivery', {
  subscription: Column.text,
  sequence: Column.integer,
  dueAt: Column.text,
  failures: Column.integer,
  dead: Column.boolean,
  lastError: Column.nullable(Column.text),
})

const readProgress = rowDecoder('transfer', {
  unknownSince: Column.nullable(Column.text),
  eventSequence: Column.integer,
})

const readSubscription = rowDecoder('subscription', { name: Column.text })
const readOther = rowDecoder('subscription', { name: Column.text, types: Column.texts })
const readArchive = rowDecoder('archive', { archivedAt: Column.nullable(Column.text) })
