import type { Environment, Stage, StoredRequest, StoredTransfer, TransferFailure, TransferStatus } from '@outlay/core'
import type { Claim, PolledTransfer } from '@outlay/core/adapter'
import type { Row } from '../database/statement.ts'

/** What a statement selects of the transfer table `t` for {@link readTransfer}. */
export const transferColumns = `t.id, t.account_id, t.idempotency_key, t.fingerprint, t.request, t.stage, t.status, t.failure, t.remote_id,
  t.reason, t.attempt, {{schema}}.iso(t.not_before) as not_before, {{schema}}.iso(t.expires_at) as expires_at, {{schema}}.iso(t.created_at) as created_at, {{schema}}.iso(t.updated_at) as updated_at, t.environment`

/** Reads the transfer of a statement that finds one at most. */
export function readOne(rows: readonly Row[]): StoredTransfer | undefined {
  const [row] = rows
  return row === undefined ? undefined : readTransfer(row)
}

const environmentOf = ({ environment }: Row) =>
  environment === null || environment === undefined ? {} : { environment: environment as Environment }

/** Reads a row of the transfer table as the statements of this package select it. */
export function readTransfer(row: Row): StoredTransfer {
  return {
    id: row['id'] as string,
    accountId: row['account_id'] as string,
    idempotencyKey: row['idempotency_key'] as string,
    fingerprint: row['fingerprint'] as string,
    request: row['request'] as StoredRequest,
    notBefore: (row['not_before'] ?? null) as string | null,
    expiresAt: (row['expires_at'] ?? null) as string | null,
    ...environmentOf(row),
    stage: row['stage'] as Stage,
    status: row['status'] as TransferStatus,
    failure: (row['failure'] ?? null) as TransferFailure | null,
    remoteId: (row['remote_id'] ?? null) as string | null,
    attempt: row['attempt'] as number,
    reason: (row['reason'] ?? null) as string | null,
    createdAt: row['created_at'] as string,
    updatedAt: row['updated_at'] as string,
  }
}

/** Reads a claim. */
export function readClaim(row: Row): Claim {
  const registration = row['registration'] as Claim['registration'] | null
  return {
    ...(registration === null ? {} : { registration }),
    transferId: row['id'] as string,
    accountId: row['account_id'] as string,
    submissionKey: row['idempotency_key'] as string,
    request: row['request'] as StoredRequest,
    attempt: row['attempt'] as number,
    claimedAt: row['claimed_at'] as string,
    reason: (row['reason'] ?? null) as string | null,
    unknownSince: (row['unknown_since'] ?? null) as string | null,
    unknownAttempt: (row['unknown_attempt'] ?? null) as number | null,
    released: row['released'] as boolean,
    client: (row['client'] ?? null) as string | null,
    expiresAt: (row['expires_at'] ?? null) as string | null,
    ...environmentOf(row),
    credentialRefusals: row['refusals'] as number,
    ownRefusals: row['own_refusals'] as number,
    traceparent: (row['traceparent'] ?? undefined) as string | undefined,
    createdAt: row['created_at'] as string | undefined,
  }
}

/** Reads a transfer that is due for a poll. */
export function readPolled(row: Row): PolledTransfer {
  return {
    transferId: row['id'] as string,
    accountId: row['account_id'] as string,
    remoteId: row['remote_id'] as string,
    status: row['status'] as TransferStatus,
    transferType: (row['transfer_type'] ?? '') as string,
    polls: row['polls'] as number,
    traceparent: (row['traceparent'] ?? undefined) as string | undefined,
  }
}
