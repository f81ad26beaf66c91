import type { Claim, Settlement } from '../ports/claim.ts'
import type { Gateway, RegisterResult, SendOptions } from '../ports/gateway.ts'
import type { Logger } from '../ports/runtime.ts'
import {
  blocked,
  decideSubmission,
  pauseMs,
  type SubmissionContext,
  unknownForMs,
  unknownLimitMs,
  waiting,
} from './submission.ts'

/** Registers the counterparty of a claim under its own key. If the gateway throws, the outcome is unknown. */
export async function registerCounterparty(
  gateway: Gateway,
  logger: Logger,
  claim: Claim,
  options: SendOptions,
): Promise<RegisterResult> {
  const { transferId, accountId, attempt, registration } = claim
  if (registration === undefined) {
    return { outcome: 'rejected', code: 'missing_field', detail: 'The details of the counterparty are gone.' }
  }
  if (gateway.registerAddress === undefined) {
    const detail = 'not sent: the gateway of this process registers no addresses'
    return { outcome: 'throttled', obstacle: 'misconfigured', detail }
  }
  const { idempotencyKey, address } = registration
  try {
    return await gateway.registerAddress({ transferId, accountId, idempotencyKey, address, attempt }, options)
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    // Only the error's class: its message may quote the details, and the attempts log keeps it.
    const kind = error instanceof Error ? error.name : typeof error
    logger.error({ transferId, attempt, error: kind }, 'The gateway threw; the registration counts as unknown.')
    return { outcome: 'unknown', detail }
  }
}

/**
 * Decides what the answer to a registration means for its transfer. Pure.
 *
 * A registration moves no money. While its outcome is unknown, the transfer may be canceled or expire, even when it is blocked
 * after 24 hours. A refusal ends the registration whether or not its key was evaluated. A key that the other side has forgotten
 * is no danger: at worst it has the counterparty twice. Every other answer means what it means for a transfer.
 */
export function decideRegistration(claim: Claim, answered: RegisterResult, context: SubmissionContext): Settlement {
  // Whether the first of two requests was carried out makes no difference: it is the same counterparty.
  const result = { ...readResult(answered), mayHaveActed: false }
  switch (result.outcome) {
    case 'accepted':
      return { ...waiting(claim, result, null, 0), addressId: result.addressId, credentials: 'good' }
    case 'unknown':
      return decideUnknown(claim, result, context)
    case 'rejected':
    case 'key_mismatch':
      return { ...decideSubmission(claim, result, context), unknownSince: claim.unknownSince, forgetCounterparty: true }
    default:
      return decideUnanswered(claim, result, context)
  }
}

function readResult(result: RegisterResult): RegisterResult {
  if (result.outcome !== 'accepted' || (typeof result.addressId === 'string' && result.addressId !== '')) return result
  const { httpStatus, requestId } = result
  return { outcome: 'unknown', detail: 'accepted, but without an id', httpStatus, requestId }
}

const isOver = (claim: Claim, since: string, { keyLifetimeMs }: SubmissionContext): boolean =>
  unknownForMs(claim, since) >= unknownLimitMs(keyLifetimeMs)

function decideUnknown(
  claim: Claim,
  result: Extract<RegisterResult, { outcome: 'unknown' }>,
  context: SubmissionContext,
): Settlement {
  const since = claim.registration?.unknownSince ?? claim.claimedAt
  const reason = 'registration_unknown'
  const settlement = isOver(claim, since, context)
    ? blocked(claim, result, reason)
    : waiting(claim, result, reason, pauseMs(claim, context, {}, result.retryAfterMs))
  return { ...settlement, registrationUnknownSince: since }
}

/** Refused credentials and pauses do not extend the limit of an unknown outcome. */
function decideUnanswered(
  claim: Claim,
  result: Extract<RegisterResult, { outcome: 'unauthorized' | 'throttled' }>,
  context: SubmissionContext,
): Settlement {
  const decided = { ...decideSubmission(claim, result, context), unknownSince: claim.unknownSince }
  const since = claim.registration?.unknownSince ?? null
  if (since === null || !isOver(claim, since, context)) return decided
  const { credentials, throttledForMs } = decided
  return { ...blocked(claim, result, 'registration_unknown'), credentials, throttledForMs }
}
