import { type EventType, statusEvent } from '../event.ts'
import type { RegisterResult, SubmitResult } from '../ports/gateway.ts'
import type { Claim, Settlement } from '../ports/work.ts'
import { retryDelayMs } from '../retry.ts'
import { type StatusState, TransferStatus } from '../transfer-status.ts'
import { momentOf } from './moment.ts'

/** What the decision about an answer depends on beside the answer. */
export interface SubmissionContext {
  readonly now: Date
  /** A uniform number in [0, 1) for jitter. */
  readonly fraction: number
  /** How long until the first look at the status of a transfer with this destination, in milliseconds. */
  readonly firstLookMs: number
}

/** Unknown outcomes are tried again for this long before a person has to decide, in milliseconds. */
export const unknownOutcomeLimitMs = 24 * 3_600_000

/** Pause after a refusal for lack of funds, doubling up to the cap, in milliseconds. */
const fundsBackoff = { baseMs: 30_000, capMs: 600_000 }

/** Pause until an account's refused credentials are probed, doubling up to the cap, in milliseconds. */
const credentialsBackoff = { baseMs: 5_000, capMs: 300_000 }

/** A transfer that is refused so often for its credentials, while others of its account are not, waits for a person. */
const ownRefusalsLimit = 6

/** Decides whether a claimed transfer must not be sent any more; `undefined` when it may. A request that may have left counts. */
export function decideExpired(claim: Claim, now: Date): Settlement | undefined {
  const { expiresAt, unknownSince } = claim
  if (expiresAt === null || unknownSince !== null || now.getTime() < Date.parse(expiresAt)) return undefined
  const detail = `The transfer was not sent by ${expiresAt}, after which the host did not want it any more.`
  return {
    ...waiting(claim, { outcome: 'rejected', code: 'expired', detail }, null, null),
    stage: 'settled',
    status: 'failed',
    failure: { type: 'expired', code: 'expired', detail, occurredAt: now.toISOString(), retriable: false },
    events: [{ type: 'transfer.failed' }],
  }
}

/** Decides what the answer to one attempt means for its transfer and its account. Pure; every answer has a decision. */
export function decideSubmission(claim: Claim, result: SubmitResult, context: SubmissionContext): Settlement {
  return {
    ...decideTransfer(claim, result, context),
    credentials: isOwnRefusal(claim, result) ? null : credentialsOf(result),
    throttledForMs: throttledForMs(result),
  }
}

/** While others of the account pass, a refusal of the credentials is about the one transfer, such as where its money goes. */
function isOwnRefusal({ ownRefusals, credentialRefusals }: Claim, { outcome }: SubmitResult): boolean {
  return outcome === 'unauthorized' && ownRefusals > 0 && credentialRefusals === 0
}

/** Whoever refuses a request for what it says has accepted the credentials; whoever is busy or broken may not have looked. */
function credentialsOf({ outcome }: SubmitResult): Settlement['credentials'] {
  if (outcome === 'unauthorized') return 'refused'
  return outcome === 'throttled' || outcome === 'unknown' ? null : 'good'
}

/** Only the service's own 429 is about the account: a request that never left, or a key in flight, says nothing about it. */
function throttledForMs(result: SubmitResult): number | null {
  return result.outcome === 'throttled' && result.httpStatus === 429 ? (result.retryAfterMs ?? 0) : null
}

function decideTransfer(claim: Claim, result: SubmitResult, context: SubmissionContext): Settlement {
  switch (result.outcome) {
    case 'accepted':
      return decideAccepted(claim, result, context)
    case 'insufficient_balance':
      return {
        ...waiting(claim, result, 'insufficient_balance', pauseMs(claim, context, fundsBackoff)),
        stage: 'awaiting_funds',
        // The first refusal is news, its repetitions are not.
        events: claim.reason === 'insufficient_balance' ? [] : [{ type: 'transfer.awaiting_funds' }],
      }
    case 'rejected':
      return {
        ...waiting(claim, result, null, null),
        ...forgetting(claim, result.code),
        stage: 'settled',
        status: 'failed',
        unknownSince: null,
        failure: {
          type: 'rejected',
          code: result.code,
          detail: result.detail,
          occurredAt: context.now.toISOString(),
          retriable: false,
        },
        events: [{ type: 'transfer.failed' }],
      }
    case 'key_mismatch':
      return blocked(claim, result, 'idempotency_key_mismatch')
    case 'unauthorized':
      if (isOwnRefusal(claim, result)) return decideOwnRefusal(claim, result, context)
      return waiting(claim, result, 'unauthenticated', probePauseMs(claim, context))
    case 'throttled':
      return {
        ...waiting(claim, result, 'rate_limited', pauseMs(claim, context, {}, result.retryAfterMs)),
        // A key in flight is a request at the service that nobody here has the answer to.
        unknownSince: claim.unknownSince ?? (result.httpStatus === 409 ? context.now.toISOString() : null),
      }
    case 'unknown':
      return decideUnknown(claim, result, context)
  }
}

/** A counterparty whose address the service does not have any more is registered anew for the next transfer to it. */
function forgetting({ request }: Claim, code: string): Pick<Settlement, 'forgetCounterparty'> {
  return code === 'invalid_address' && request.destination.address !== undefined ? { forgetCounterparty: true } : {}
}

function decideAccepted(
  claim: Claim,
  result: Extract<SubmitResult, { outcome: 'accepted' }>,
  context: SubmissionContext,
): Settlement {
  const seen = result.observation ?? { status: 'pending' as const, failure: null }
  const pending = { status: 'pending' as const, failure: null }
  const reached: StatusState = TransferStatus.advance(pending, seen) ?? pending
  const final = TransferStatus.isFinal(reached.status, reached.failure)
  const types: EventType[] = ['transfer.submitted']
  if (reached.status !== 'pending') types.push(statusEvent(reached.status))
  return {
    ...waiting(claim, result, null, null),
    stage: final ? 'settled' : 'submitted',
    status: reached.status,
    failure: reached.failure,
    remoteId: result.remoteId,
    unknownSince: null,
    reachedAt: momentOf(reached.reachedAt),
    followAfterMs: final ? null : context.firstLookMs,
    events: types.map((type) => ({ type })),
  }
}

/** It backs off by itself, and is never taken for failed: a person gives the permission, or cancels it. */
function decideOwnRefusal(claim: Claim, result: SubmitResult, context: SubmissionContext): Settlement {
  const { ownRefusals } = claim
  const { fraction } = context
  const pause = retryDelayMs({ attempt: ownRefusals, fraction, ...credentialsBackoff })
  const settlement =
    ownRefusals < ownRefusalsLimit
      ? waiting(claim, result, 'unauthorized', pause)
      : blocked(claim, result, 'unauthorized')
  return { ...settlement, ownRefusals }
}

function decideUnknown(
  claim: Claim,
  result: Extract<SubmitResult, { outcome: 'unknown' }>,
  context: SubmissionContext,
): Settlement {
  const unknownSince = claim.unknownSince ?? context.now.toISOString()
  if (context.now.getTime() - Date.parse(unknownSince) >= unknownOutcomeLimitMs) {
    return { ...blocked(claim, result, 'outcome_unknown'), unknownSince }
  }
  const pause = pauseMs(claim, context, {}, result.retryAfterMs)
  return { ...waiting(claim, result, 'outcome_unknown', pause), unknownSince }
}

/** The account's refusals in a row set the pace, whichever of its transfers is the probe. */
function probePauseMs({ credentialRefusals }: Claim, { fraction }: SubmissionContext): number {
  return retryDelayMs({ attempt: credentialRefusals + 1, fraction, ...credentialsBackoff })
}

/** How long an attempt's transfer waits for its next one, in milliseconds. */
export function pauseMs(
  claim: Claim,
  context: SubmissionContext,
  backoff: { readonly baseMs?: number; readonly capMs?: number },
  retryAfterMs?: number,
): number {
  return retryDelayMs({ attempt: claim.attempt, fraction: context.fraction, retryAfterMs, ...backoff })
}

/** The settlement of a transfer that goes back to the queue, for the others to vary. */
export function waiting(
  claim: Claim,
  result: SubmitResult | RegisterResult,
  reason: string | null,
  retryAfterMs: number | null,
): Settlement {
  return {
    transferId: claim.transferId,
    attempt: claim.attempt,
    stage: 'queued',
    status: 'pending',
    failure: null,
    remoteId: null,
    reason,
    unknownSince: claim.unknownSince,
    credentials: null,
    credentialRefusals: claim.credentialRefusals,
    reachedAt: null,
    throttledForMs: null,
    retryAfterMs,
    followAfterMs: null,
    events: [],
    answer: {
      outcome: result.outcome,
      detail: 'detail' in result ? result.detail : null,
      httpStatus: result.httpStatus ?? null,
      requestId: result.requestId ?? null,
    },
  }
}

/** The settlement of a transfer that waits for a person. */
export function blocked(claim: Claim, result: SubmitResult | RegisterResult, reason: string): Settlement {
  return { ...waiting(claim, result, reason, null), stage: 'blocked', events: [{ type: 'transfer.blocked' }] }
}
