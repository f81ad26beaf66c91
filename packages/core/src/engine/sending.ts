import { type Obstacle, OutlayError } from '../error.ts'
import { longestTimerMs } from '../number-option.ts'
import type { Claim, Settlement } from '../ports/claim.ts'
import { defaultKeyLifetimeMs, type Gateway, type Submission, type SubmitResult } from '../ports/gateway.ts'
import type { Logger, Timer } from '../ports/runtime.ts'
import type { WorkPort } from '../ports/work.ts'
import type { GuardedSendOptions } from './foreign-gateway.ts'
import {
  blocked,
  decideSubmission,
  lastSendMs,
  pauseMs,
  type SubmissionContext,
  unknownForMs,
  unknownLimitMs,
  waiting,
} from './submission.ts'

/** The client of a gateway's submissions when the gateway does not distinguish clients. */
export const anyClient = ''

/** Pause until a transfer whose client changed is claimed again, doubling up to the cap, in milliseconds. */
const changedClientBackoff = { baseMs: 30_000, capMs: 600_000 }

/** Throws Error for a lifetime of keys that is not a valid duration. */
export function checkKeyLifetime({ keyLifetimeMs = defaultKeyLifetimeMs }: Gateway): void {
  if (keyLifetimeMs > 0) return
  throw new Error(`keyLifetimeMs of a gateway is a number of milliseconds from 1 on; got ${keyLifetimeMs}.`)
}

/** Decides whether a claimed transfer must no longer be sent; `undefined` when it may be. Pure. */
export function decideUnsendable(claim: Claim, keyLifetimeMs: number = defaultKeyLifetimeMs): Settlement | undefined {
  const { unknownSince, released } = claim
  if (unknownSince === null) return decideExpired(claim)
  const ageMs = unknownForMs(claim, unknownSince)
  if (ageMs >= lastSendMs(keyLifetimeMs)) {
    const kept = `and the other side keeps its key for ${keyLifetimeMs / 3_600_000} hours, so sending it again could pay twice`
    return unsent(claim, 'key_expired', `not sent: ${whatIsUnknown(claim)}, ${kept}`)
  }
  if (released || ageMs < unknownLimitMs(keyLifetimeMs)) return undefined
  return unsent(claim, 'outcome_unknown', `not sent: ${whatIsUnknown(claim)}, so a person decides`)
}

/**
 * Runs what sends a claimed transfer, and says to it whether the key may still leave: a request may wait for its turn for longer
 * than the other side remembers the key. A timer measures that, since no clock of a worker decides. When the call has ended or was
 * abandoned, its key may not leave any more, since its outcome is decided already.
 */
export async function whileKeyLives<T>(
  timer: Timer,
  claim: Claim,
  keyLifetimeMs: number | undefined,
  run: (lives: () => boolean) => Promise<T>,
): Promise<T> {
  let lives = true
  const ageMs = claim.unknownSince === null ? 0 : unknownForMs(claim, claim.unknownSince)
  const end = () => {
    lives = false
  }
  const cancel = timer.after(Math.min(lastSendMs(keyLifetimeMs) - ageMs, longestTimerMs), end)
  try {
    return await run(() => lives)
  } finally {
    cancel()
    end()
  }
}

const whatIsUnknown = ({ unknownSince, unknownAttempt }: Claim): string =>
  `the outcome of attempt ${unknownAttempt ?? 'one'} is unknown since ${unknownSince}`

const unsent = (claim: Claim, reason: string, detail: string): Settlement =>
  blocked(claim, { outcome: 'throttled', detail }, reason)

/** A transfer whose request may have left does not expire: its outcome has to be found out, however late it is. */
function decideExpired(claim: Claim): Settlement | undefined {
  const { expiresAt, claimedAt } = claim
  if (expiresAt === null || Date.parse(claimedAt) < Date.parse(expiresAt)) return undefined
  const detail = `The transfer was not sent by ${expiresAt}, after which the host did not want it any more.`
  return {
    ...waiting(claim, { outcome: 'rejected', code: 'expired', detail }, null, null),
    stage: 'settled',
    status: 'failed',
    failure: { type: 'expired', code: 'expired', detail, occurredAt: claimedAt, retriable: false },
    events: [{ type: 'transfer.failed' }],
  }
}

/** The client that sends a transfer, or why none may now. */
export type Sender = { readonly client: string } | Unsent

/** Why no request has left. */
export interface Unsent {
  readonly reason: 'client_changed' | 'rate_limited' | Obstacle
  readonly detail: string
}

/**
 * Finds the client as which a transfer is sent, and records a new one before the request leaves. While an outcome is unknown,
 * only the client that sent first may send: for another client the key is new. No recorded client means that no request has
 * left, since each is recorded first, or that an earlier release sent it, which recorded none.
 */
export async function findSender<Tx>(
  { backend, gateway }: { readonly backend: Pick<WorkPort<Tx>, 'recordClient'>; readonly gateway: Gateway },
  claim: Claim,
  signal: AbortSignal,
): Promise<Sender> {
  const { accountId, client: known, unknownSince } = claim
  const waits = (reason: Unsent['reason'], detail: string): Unsent => ({ reason, detail: `not sent: ${detail}` })
  let client: unknown
  try {
    client = (await gateway.identify?.(accountId, { signal, wanted: known ?? undefined })) ?? anyClient
  } catch (error) {
    if (signal.aborted) return waits('rate_limited', 'the engine stops')
    if (OutlayError.is(error, 'invalid_request'))
      return waits('misconfigured', 'the address of the account could not be found')
    // Only the error's class is logged: a vault's message may hold a secret.
    const kind = error instanceof Error ? error.name : typeof error
    return waits('credentials_unavailable', `the client of the account could not be found (${kind})`)
  }
  if (typeof client !== 'string') return waits('misconfigured', 'the gateway does not return the client of the account')
  if (client === known) return { client }
  if (known !== null && unknownSince !== null) {
    const detail = `not sent: ${whatIsUnknown(claim)} and left as "${known}"; the account now sends as "${client}", to whom its key is new`
    return { reason: 'client_changed', detail }
  }
  const isRecorded = await backend.recordClient(claim, client).catch(() => false)
  return isRecorded ? { client } : waits('rate_limited', 'its client could not be recorded')
}

/** Decides what happens to a transfer that may not be sent now. Pure. */
export function decideUnsent(claim: Claim, { reason, detail }: Unsent, context: SubmissionContext): Settlement {
  const result = { outcome: 'throttled', detail } as const
  if (reason === 'client_changed') return waiting(claim, result, reason, pauseMs(claim, context, changedClientBackoff))
  return decideSubmission(claim, reason === 'rate_limited' ? result : { ...result, obstacle: reason }, context)
}

/** Sends one transfer. If the gateway throws, the outcome is unknown. */
export async function sendTransfer(
  { gateway, logger }: { readonly gateway: Gateway; readonly logger: Logger },
  claim: Claim,
  request: Submission['request'],
  client: string,
  sending: GuardedSendOptions,
): Promise<SubmitResult> {
  const { transferId, accountId, submissionKey: idempotencyKey, attempt, metadata } = claim
  const noted = metadata === undefined ? {} : { metadata }
  const submission = { transferId, accountId, idempotencyKey, request, attempt, ...noted }
  try {
    return await gateway.submit(client === anyClient ? submission : { ...submission, client }, sending)
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    // Only the error's class: its message may quote the request, and the attempts log keeps it.
    const kind = error instanceof Error ? error.name : typeof error
    logger.error({ transferId, attempt, error: kind }, 'The gateway threw; the outcome counts as unknown.')
    return { outcome: 'unknown', detail }
  }
}
