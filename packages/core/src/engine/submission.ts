import { type EventType, statusEvent } from '../event.ts'
import type { Claim, Settlement } from '../ports/claim.ts'
import { defaultKeyLifetimeMs, type Observation, type RegisterResult, type SubmitResult } from '../ports/gateway.ts'
import { retryDelayMs } from '../retry.ts'
import { type StatusState, TransferStatus } from '../transfer-status.ts'
import { momentOf } from './moment.ts'
import { readPaid } from './paid-amount.ts'

/** The input of a decision beside the answer. */
export interface SubmissionContext {
  readonly now: Date
  /** A uniform number in [0, 1) for jitter. */
  readonly fraction: number
  /** Delay until the first poll of a transfer with this destination, in milliseconds. */
  readonly firstPollMs: number
  /** How long the gateway's idempotency keys live, in milliseconds. Default 24 hours. */
  readonly keyLifetimeMs?: number | undefined
  /** How long its money may come back once it is complete, in milliseconds. Default: it cannot. */
  readonly returnWindowMs?: number | undefined
}

/** How long unknown outcomes are retried before a person has to decide, in milliseconds; never longer than keys live. */
export const unknownLimitMs = (keyLifetimeMs: number = defaultKeyLifetimeMs): number =>
  Math.min(24 * 3_600_000, keyLifetimeMs)

/**
 * Until how long after the first request the same key may be sent again, in milliseconds. What leaves later could arrive when the other
 * side has forgotten it: a request waits for its turn and is on its way for a while, at most five minutes here.
 */
export const lastSendMs = (keyLifetimeMs: number = defaultKeyLifetimeMs): number =>
  keyLifetimeMs - Math.min(300_000, keyLifetimeMs / 20)

/** How old an unknown outcome was when the transfer was claimed, by the database's clock, in milliseconds. */
export const unknownForMs = (claim: Claim, unknownSince: string): number =>
  Date.parse(claim.claimedAt) - Date.parse(unknownSince)

/** Pause after a refusal for lack of funds, doubling up to the cap, in milliseconds. */
const fundsBackoff = { baseMs: 30_000, capMs: 600_000 }

/** Pause until an account's refused credentials are probed, doubling up to the cap, in milliseconds. */
const credentialsBackoff = { baseMs: 5_000, capMs: 300_000 }

/** Refusals of a transfer's credentials after which it waits for a person, while others of its account are accepted. */
const ownRefusalsLimit = 6

/** Decides what the answer to one attempt means for its transfer and its account. Pure; every answer has a decision. */
export function decideSubmission(claim: Claim, answered: SubmitResult, context: SubmissionContext): Settlement {
  const result = readResult(answered)
  const settlement = decideTransfer(claim, result, context)
  return {
    ...settlement,
    // Of the attempt itself nothing else is known, whatever was answered last.
    answer: mayHaveActed(result) ? { ...settlement.answer, outcome: 'unknown' } : settlement.answer,
    credentials: isOwnRefusal(claim, result) ? null : credentialsOf(result),
    throttledForMs: throttledForMs(result),
  }
}

/**
 * While the service accepts others of the account, a refusal of the credentials concerns the one transfer, such as its
 * destination.
 */
function isOwnRefusal({ ownRefusals, credentialRefusals }: Claim, { outcome }: SubmitResult): boolean {
  return outcome === 'unauthorized' && ownRefusals > 0 && credentialRefusals === 0
}

/**
 * A service that refuses a request for its content has accepted the credentials; a busy or broken one may not have checked
 * them.
 */
function credentialsOf({ outcome }: SubmitResult): Settlement['credentials'] {
  if (outcome === 'unauthorized') return 'refused'
  return outcome === 'throttled' || outcome === 'unknown' ? null : 'good'
}

/** Only the service's own 429 concerns the account. A request that never left, or a key in flight, says nothing about it. */
function throttledForMs(result: SubmitResult): number | null {
  return result.outcome === 'throttled' && result.httpStatus === 429 ? (result.retryAfterMs ?? 0) : null
}

/** An acceptance without an id cannot be polled, and proves nothing. */
function readResult(result: SubmitResult): SubmitResult {
  if (result.outcome !== 'accepted' || (typeof result.remoteId === 'string' && result.remoteId !== '')) return result
  const { httpStatus, requestId } = result
  return { outcome: 'unknown', detail: 'accepted, but without an id', httpStatus, requestId }
}

/** True for an answer that decides every request with the key so far: an acceptance, or a refusal after the key was evaluated. */
const isProof = (result: SubmitResult): boolean =>
  result.outcome === 'accepted' ||
  ((result.outcome === 'rejected' || result.outcome === 'insufficient_balance') && result.keyEvaluated === true)

/** True for an answer that leaves open what became of a request of its attempt. */
const mayHaveActed = (result: SubmitResult): boolean => result.mayHaveActed === true && !isProof(result)

/** Since when it is not known what became of the key, this attempt included; null when its answer is the only one to judge. */
const openSince = ({ unknownSince, claimedAt }: Claim, result: SubmitResult): string | null =>
  unknownSince ?? (mayHaveActed(result) ? claimedAt : null)

function decideTransfer(before: Claim, result: SubmitResult, context: SubmissionContext): Settlement {
  const unknownSince = openSince(before, result)
  const claim = { ...before, unknownSince }
  if (unknownSince !== null && result.outcome !== 'key_mismatch' && !isProof(result)) {
    return decideStillUnknown(claim, unknownSince, result, context)
  }
  switch (result.outcome) {
    case 'accepted':
      return decideAccepted(claim, result, context)
    case 'insufficient_balance':
      return {
        ...waiting(claim, result, 'insufficient_balance', pauseMs(claim, context, fundsBackoff)),
        stage: 'awaiting_funds',
        unknownSince: null,
        // Only the first refusal is an event, not its repetitions.
        events: claim.reason === 'insufficient_balance' ? [] : [{ type: 'transfer.awaiting_funds' }],
      }
    case 'rejected':
      return decideRejected(claim, result, context)
    case 'key_mismatch':
      // The other request of the same host's key may have paid, so this one neither expires nor leaves as another client.
      return { ...blocked(claim, result, 'idempotency_key_mismatch'), unknownSince: unknownSince ?? claim.claimedAt }
    case 'unauthorized':
      return isOwnRefusal(claim, result)
        ? decideOwnRefusal(claim, result, context)
        : waiting(claim, result, 'unauthenticated', probePauseMs(claim, context))
    case 'throttled':
      return {
        ...waiting(claim, result, result.obstacle ?? 'rate_limited', pauseMs(claim, context, {}, result.retryAfterMs)),
        // A key in flight is a request at the service that nobody here has the answer to.
        unknownSince: result.httpStatus === 409 ? claim.claimedAt : null,
      }
    case 'unknown':
      return {
        ...waiting(
          claim,
          result,
          result.obstacle ?? 'outcome_unknown',
          pauseMs(claim, context, {}, result.retryAfterMs),
        ),
        unknownSince: claim.claimedAt,
      }
  }
}

/** An answer that proves nothing about an earlier request: the age of the unknown alone decides. */
function decideStillUnknown(
  claim: Claim,
  unknownSince: string,
  result: SubmitResult,
  context: SubmissionContext,
): Settlement {
  if (unknownForMs(claim, unknownSince) >= unknownLimitMs(context.keyLifetimeMs)) {
    return blocked(claim, result, 'outcome_unknown')
  }
  if (isOwnRefusal(claim, result)) return decideOwnRefusal(claim, result, context)
  if (result.outcome === 'unauthorized') {
    return waiting(claim, result, 'unauthenticated', probePauseMs(claim, context))
  }
  const retryAfterMs = 'retryAfterMs' in result ? result.retryAfterMs : undefined
  const reason = result.obstacle ?? (result.outcome === 'throttled' ? 'rate_limited' : 'outcome_unknown')
  return waiting(claim, result, reason, pauseMs(claim, context, {}, retryAfterMs))
}

function decideRejected(
  claim: Claim,
  result: Extract<SubmitResult, { outcome: 'rejected' }>,
  { now }: SubmissionContext,
): Settlement {
  const { code, detail } = result
  return {
    ...waiting(claim, result, null, null),
    ...forgetting(claim, code),
    stage: 'settled',
    status: 'failed',
    unknownSince: null,
    failure: { type: 'rejected', code, detail, occurredAt: now.toISOString(), retriable: false },
    events: [{ type: 'transfer.failed' }],
  }
}

/** A counterparty whose address no longer exists at the service is registered again for the next transfer to it. */
function forgetting({ request }: Claim, code: string): Pick<Settlement, 'forgetCounterparty'> {
  return code === 'invalid_address' && request.destination.address !== undefined ? { forgetCounterparty: true } : {}
}

const unseen = { status: 'pending', failure: null } as const

function decideAccepted(
  claim: Claim,
  result: Extract<SubmitResult, { outcome: 'accepted' }>,
  context: SubmissionContext,
): Settlement {
  const seen: Omit<Observation, 'remoteId'> = result.observation ?? unseen
  const pending = { status: 'pending' as const, failure: null }
  const reached: StatusState = TransferStatus.advance(pending, seen) ?? pending
  const final = TransferStatus.isFinal(reached.status, reached.failure)
  const windowMs = reached.status === 'complete' ? context.returnWindowMs : undefined
  const paid = reached.status === 'complete' ? readPaid(claim.request.amount, seen) : undefined
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
    pollAfterMs: final ? null : context.firstPollMs,
    events: types.map((type) => ({ type })),
    ...(seen.returns === undefined
      ? {}
      : { returns: seen.returns, returnsChangedAt: momentOf(seen.transfer?.updatedAt) }),
    ...(windowMs === undefined ? {} : { returnWindowMs: windowMs }),
    ...(paid?.paid === null ? { paidUnknown: paid.why } : paid?.isOther === true ? { paid: paid.paid } : {}),
  }
}

/** The transfer backs off alone and never counts as failed: a person grants the permission, or cancels it. */
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

/** The account's refusals in a row determine the pause, whichever of its transfers is the probe. */
function probePauseMs({ credentialRefusals }: Claim, { fraction }: SubmissionContext): number {
  return retryDelayMs({ attempt: credentialRefusals + 1, fraction, ...credentialsBackoff })
}

/** The pause until a transfer's next attempt, in milliseconds. */
export function pauseMs(
  claim: Claim,
  context: SubmissionContext,
  backoff: { readonly baseMs?: number; readonly capMs?: number },
  retryAfterMs?: number,
): number {
  return retryDelayMs({ attempt: claim.attempt, fraction: context.fraction, retryAfterMs, ...backoff })
}

/** The settlement of a transfer that returns to the queue; other settlements vary it. */
export function waiting(
  claim: Claim,
  result: SubmitResult | RegisterResult,
  reason: string | null,
  retryAfterMs: number | null,
): Settlement {
  return {
    transferId: claim.transferId,
    attempt: claim.attempt,
    claimedBy: claim.claimedBy,
    claimedAt: claim.claimedAt,
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
    pollAfterMs: null,
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
