import { decideSubmission } from '../../packages/core/src/engine/submission.ts'
import { errorCodes, type Obstacle } from '../../packages/core/src/error.ts'
import type { Claim } from '../../packages/core/src/ports/claim.ts'
import type { SubmitResult } from '../../packages/core/src/ports/gateway.ts'
import { type Answer, classifyAnswer } from '../../packages/core/src/retry.ts'
import { statusOf } from '../../packages/service/src/http/problem.ts'
import { errorMeanings } from './error-meanings.ts'
import { code, duration, type Page, paragraphs, table } from './markdown.ts'

/** The page of error codes, and the engine's decision about each answer, computed by the functions that decide. */
export function writeErrors(): Page {
  const rows = errorCodes.map((one) => {
    const [meaning, remedy] = errorMeanings[one] ?? []
    if (meaning === undefined || remedy === undefined) throw new Error(`Say in error-meanings.ts what ${one} means.`)
    return [code(one), `${statusOf(one)}`, meaning, remedy]
  })
  return {
    name: 'errors',
    title: 'Errors',
    summary: 'every code in order of precedence, its HTTP status, its meaning, and what to do',
    body: paragraphs(
      'An expected refusal is an `OutlayError` with one of these codes and, where there is one, the field. `OutlayError.is(error, code)` distinguishes them, also when two copies of the package are installed. The service answers with the status and a [Problem](conventions.md#problem) with the same code. Codes are stable; of several broken rules the first one found gives the code, and `issues` has all.',
      table(['code', 'HTTP status', 'meaning', 'what to do'], rows),
      '## How the engine treats an answer',
      'The answer to the create of a transfer decides its next stage. The pause is the longest one after the first attempt and after many; the real one is a random part of it, and never less than Retry-After asks for.',
      table(['answer', 'outcome', 'stage', 'reason', 'event', 'pause'], answers.map(writeAnswer)),
    ),
  }
}

/** An answer, or the obstacle that kept a request from being sent or served. */
type Case = Answer & { readonly obstacle?: Obstacle; readonly unsent?: true }

const answers: readonly (readonly [text: string, answer: Case, unknownForHours?: number])[] = [
  ['201 with an id', { status: 201 }],
  ['401, 403, after a fresh token', { status: 401 }],
  ['422 `insufficient_balance`', { status: 422, code: 'insufficient_balance' }],
  ['422 `idempotency_key_mismatch`', { status: 422, code: 'idempotency_key_mismatch' }],
  ['409 `conflict`', { status: 409, code: 'conflict' }],
  ['another 409', { status: 409, code: 'idempotency_key_in_flight' }],
  ['another 4xx', { status: 422, code: 'ach_limit_exceeded' }],
  ['the same after a lost answer, without a proof', { status: 422, code: 'ach_limit_exceeded' }, 1],
  ['another 4xx without a code', { status: 400 }],
  ['408, 425', { status: 408 }],
  ['429', { status: 429 }],
  ['5xx', { status: 503 }],
  ['a body that cannot be read', { status: 201, readable: false }],
  ['none: timeout, reset', {}],
  ['none for 24 hours', {}, 25],
  ['not sent: no connection, or no token because its endpoint is down', { unsent: true, obstacle: 'unreachable' }],
  ['not sent: TLS fails, or the token endpoint is not at its address', { unsent: true, obstacle: 'misconfigured' }],
  ['404, 405, 410 or a redirect, without a code', { status: 404, obstacle: 'misconfigured' }],
  ['not sent: the credentials could not be read', { unsent: true, obstacle: 'credentials_unavailable' }],
]

const now = new Date(0)

function writeAnswer([text, answer, unknownForHours]: (typeof answers)[number]): readonly string[] {
  const outcome = answer.unsent ? 'throttled' : classifyAnswer(answer)
  const result = {
    outcome,
    obstacle: answer.obstacle,
    remoteId: 'remote',
    code: answer.code ?? '',
    detail: '',
  } as SubmitResult
  const decide = (attempt: number) =>
    decideSubmission(claimOf(attempt, unknownForHours), result, { now, fraction: 1, firstPollMs: 0 })
  const [first, late] = [decide(1), decide(50)]
  const pauses = [first, late].map(({ retryAfterMs }) => (retryAfterMs === null ? '' : duration(retryAfterMs)))
  return [
    text,
    code(outcome),
    code(first.stage),
    code(first.reason),
    first.events.map(({ type }) => code(type)).join(', ') || '–',
    first.retryAfterMs === null ? '–' : `${pauses[0]}, later ${pauses[1]}`,
  ]
}

function claimOf(attempt: number, unknownForHours = 0): Claim {
  const leg = { addressId: '', valueType: 'USDC', transferType: 'base' }
  return {
    transferId: '',
    accountId: '',
    gateway: '',
    submissionKey: '',
    request: { amount: { value: '1', currency: 'USDC' }, source: leg, destination: leg },
    attempt,
    claimedBy: '',
    claimedAt: now.toISOString(),
    reason: null,
    unknownSince: unknownForHours === 0 ? null : new Date(now.getTime() - unknownForHours * 3_600_000).toISOString(),
    unknownAttempt: unknownForHours === 0 ? null : 1,
    released: false,
    client: null,
    expiresAt: null,
    credentialRefusals: attempt - 1,
    ownRefusals: 0,
  }
}
