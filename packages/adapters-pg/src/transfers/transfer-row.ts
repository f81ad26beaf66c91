import type {
  Amount,
  Environment,
  Metadata,
  Stage,
  StoredRequest,
  StoredTransfer,
  TransferFailure,
  TransferStatus,
} from '@outlay/core'
import { type Claim, Column, type PolledTransfer, rowDecoder } from '@outlay/core/adapter'
import { readFirst } from '../database/read-rows.ts'
import type { Row } from '../database/statement.ts'
import { metadataOf, resubmissionOf } from './beside.ts'

/** What a statement selects of the transfer table `t` for {@link readTransfer}. */
export const transferColumns = `t.id, t.account_id, t.idempotency_key, t.fingerprint, t.request, t.stage, t.status, t.failure, t.remote_id,
  t.reason, t.attempt, {{schema}}.iso(t.not_before) as not_before, {{schema}}.iso(t.expires_at) as expires_at, {{schema}}.iso(t.created_at) as created_at, {{schema}}.iso(t.updated_at) as updated_at, t.environment, t.gateway, t.batch_id, t.paid -> 'amount' as paid_amount,
  ${metadataOf('t.id')} as metadata, ${resubmissionOf('t.id')} as resubmission_of,
  (select x.successor_id from {{schema}}.resubmission x where x.transfer_id = t.id) as resubmitted_as,
  (select x.created_by from {{schema}}.transfer_creator x where x.transfer_id = t.id) as created_by`

/** Reads a row of the transfer table as the statements of this package select it. */
export const readTransfer: (row: Row) => StoredTransfer = rowDecoder('transfer', {
  id: Column.text,
  accountId: Column.text,
  idempotencyKey: Column.text,
  fingerprint: Column.text,
  request: Column.json<StoredRequest>(),
  notBefore: Column.nullable(Column.text),
  expiresAt: Column.nullable(Column.text),
  // Events do not select it.
  environment: Column.optional(Column.word<Environment>()),
  gateway: Column.text,
  metadata: Column.optional(Column.json<Metadata>()),
  batchId: Column.optional(Column.text),
  resubmissionOf: Column.optional(Column.text),
  resubmittedAs: Column.optional(Column.text),
  createdBy: Column.optional(Column.text),
  paidAmount: Column.optional(Column.json<Amount>()),
  stage: Column.word<Stage>(),
  status: Column.word<TransferStatus>(),
  failure: Column.nullable(Column.json<TransferFailure>()),
  remoteId: Column.nullable(Column.text),
  attempt: Column.integer,
  reason: Column.nullable(Column.text),
  createdAt: Column.text,
  updatedAt: Column.text,
})

/** Reads the transfer of a statement that finds one at most. */
export const readOne = (rows: readonly Row[]): StoredTransfer | undefined => readFirst(readTransfer, rows)

/** Reads a claim, but for who made it. */
export const readClaim: (row: Row) => Omit<Claim, 'claimedBy'> = rowDecoder('claim', {
  registration: Column.optional(Column.json<NonNullable<Claim['registration']>>()),
  transferId: Column.from('id', Column.text),
  accountId: Column.text,
  submissionKey: Column.from('idempotency_key', Column.text),
  request: Column.json<StoredRequest>(),
  attempt: Column.integer,
  claimedAt: Column.text,
  reason: Column.nullable(Column.text),
  unknownSince: Column.nullable(Column.text),
  unknownAttempt: Column.nullable(Column.integer),
  released: Column.boolean,
  client: Column.nullable(Column.text),
  expiresAt: Column.nullable(Column.text),
  environment: Column.optional(Column.word<Environment>()),
  gateway: Column.text,
  metadata: Column.optional(Column.json<Metadata>()),
  credentialRefusals: Column.from('refusals', Column.integer),
  ownRefusals: Column.integer,
  // Only traced statements select these two.
  traceparent: Column.or(Column.text, undefined),
  createdAt: Column.or(Column.text, undefined),
})

/** Reads a transfer that is due for a poll. */
export const readPolled: (row: Row) => PolledTransfer = rowDecoder('polled transfer', {
  transferId: Column.from('id', Column.text),
  accountId: Column.text,
  remoteId: Column.text,
  status: Column.word<TransferStatus>(),
  transferType: Column.or(Column.text, ''),
  polls: Column.integer,
  gateway: Column.text,
  // Only traced statements select it.
  traceparent: Column.or(Column.text, undefined),
})
