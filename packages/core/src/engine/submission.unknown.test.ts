import { describe, expect, it } from 'vitest'
import { claimedAt, hoursAgo, sampleClaim } from '../../test/sample-claim.ts'
import type { SubmitResult } from '../ports/gateway.ts'
import { decideSubmission } from './submission.ts'

const hour = 3_600_000

const decide = (result: SubmitResult, unknownSince: string | null, keyLifetimeMs?: number) =>
  decideSubmission(
    sampleClaim(unknownSince === null ? {} : { unknownSince, unknownAttempt: 1, reason: 'outcome_unknown' }),
    result,
    { now: claimedAt, fraction: 0.5, firstPollMs: 7_500, keyLifetimeMs },
  )

const detail = 'what was said'
const bare = [
  { outcome: 'accepted', remoteId: 'r' },
  { outcome: 'insufficient_balance', detail },
  { outcome: 'key_mismatch', detail },
  { outcome: 'rejected', code: 'not_found', detail },
  { outcome: 'unauthorized', detail },
  { outcome: 'throttled', detail },
  { outcome: 'throttled', detail, httpStatus: 409 },
  { outcome: 'throttled', detail, httpStatus: 429 },
  { outcome: 'unknown', detail },
] as const satisfies readonly SubmitResult[]

/** Every outcome, with and without `keyEvaluated`. */
const answers: readonly SubmitResult[] = bare.flatMap((answer) => [
  answer,
  { ...answer, keyEvaluated: false },
  { ...answer, keyEvaluated: true },
])

const proves = ({ outcome, keyEvaluated }: SubmitResult) =>
  outcome === 'accepted' || ((outcome === 'rejected' || outcome === 'insufficient_balance') && keyEvaluated === true)

describe('an outcome that is unknown', () => {
  it.each(answers.filter(proves))('ends by %o, however old it is', (answer) => {
    for (const age of [1, 23.99, 24, 1_000]) {
      const settlement = decide(answer, hoursAgo(age))
      const stages = { accepted: 'submitted', rejected: 'settled', insufficient_balance: 'awaiting_funds' }
      expect(settlement).toMatchObject({ unknownSince: null, stage: stages[answer.outcome as keyof typeof stages] })
    }
  })

  it.each(answers.filter((answer) => !proves(answer)))('does not end by %o, and never moves', (answer) => {
    for (const age of [0, 1, 23.99, 24, 1_000]) {
      const settlement = decide(answer, hoursAgo(age))
      expect(settlement.unknownSince).toBe(hoursAgo(age))
      const isOver = age >= 24 || answer.outcome === 'key_mismatch'
      expect(settlement).toMatchObject({ status: 'pending', failure: null, remoteId: null })
      expect([age, settlement.stage]).toEqual([age, isOver ? 'blocked' : 'queued'])
      expect(settlement.retryAfterMs === null).toBe(isOver)
      if (answer.outcome === 'key_mismatch') continue
      const waits = { unauthorized: 'unauthenticated', throttled: 'rate_limited' } as const
      const reason = age >= 24 ? 'outcome_unknown' : (waits[answer.outcome as keyof typeof waits] ?? 'outcome_unknown')
      expect(settlement).toMatchObject({ reason, events: isOver ? [{ type: 'transfer.blocked' }] : [] })
    }
  })

  it('says the same about the credentials and the throttle as an answer that leaves nothing unknown', () => {
    for (const answer of answers) {
      const { credentials, throttledForMs } = decide(answer, null)
      expect(decide(answer, hoursAgo(1))).toMatchObject({ credentials, throttledForMs })
      expect(decide(answer, hoursAgo(24))).toMatchObject({ credentials, throttledForMs })
    }
  })

  it('is never older than the keys of the other side live', () => {
    const lost = { outcome: 'unknown', detail } as const
    expect(decide(lost, hoursAgo(0.9), hour).stage).toBe('queued')
    expect(decide(lost, hoursAgo(1), hour)).toMatchObject({ stage: 'blocked', reason: 'outcome_unknown' })
    expect(decide(lost, hoursAgo(23.9), 480 * hour).stage).toBe('queued')
    expect(decide(lost, hoursAgo(24), 480 * hour).stage).toBe('blocked')
  })

  it('begins with the claim of an attempt that has no answer, is in flight, or has the key of another request, and with nothing else', () => {
    for (const answer of answers) {
      const begins = ['unknown', 'key_mismatch'].includes(answer.outcome) || answer.httpStatus === 409
      expect(decide(answer, null).unknownSince).toBe(begins ? claimedAt.toISOString() : null)
    }
  })

  it('is the result of an acceptance without an id', () => {
    for (const remoteId of ['', undefined, null, 7] as unknown as string[]) {
      const settlement = decide({ outcome: 'accepted', remoteId, httpStatus: 201, keyEvaluated: true }, null)
      expect(settlement).toMatchObject({
        stage: 'queued',
        reason: 'outcome_unknown',
        unknownSince: claimedAt.toISOString(),
      })
      expect(settlement.answer).toEqual({
        ...{ outcome: 'unknown', detail: 'accepted, but without an id' },
        ...{ httpStatus: 201, requestId: null },
      })
    }
  })
})

describe('a refusal that may come from a proxy, after the request was passed on', () => {
  const open = [
    { outcome: 'unauthorized', detail, httpStatus: 403 },
    { outcome: 'throttled', detail, httpStatus: 429 },
  ] as const satisfies readonly SubmitResult[]

  it.each(open)('begins an unknown outcome: $outcome', (result) => {
    expect(decide(result, null)).toMatchObject({ stage: 'queued', unknownSince: null })
    expect(decide({ ...result, mayHaveActed: true }, null)).toMatchObject({
      stage: 'queued',
      unknownSince: claimedAt.toISOString(),
    })
    expect(decide({ ...result, mayHaveActed: true }, hoursAgo(1))).toMatchObject({ unknownSince: hoursAgo(1) })
  })

  it.each([
    { outcome: 'rejected', code: 'invalid_request', detail, httpStatus: 400 },
    { outcome: 'insufficient_balance', detail, httpStatus: 402 },
    { outcome: 'key_mismatch', detail, httpStatus: 422 },
  ] as const satisfies readonly SubmitResult[])('ends nothing: $outcome, unless it is a proof', (result) => {
    const doubtful = { status: 'pending', failure: null, unknownSince: claimedAt.toISOString() }
    const stage = result.outcome === 'key_mismatch' ? 'blocked' : 'queued'
    expect(decide({ ...result, mayHaveActed: true }, null)).toMatchObject({ ...doubtful, stage })
    if (result.outcome === 'key_mismatch') return
    expect(decide({ ...result, mayHaveActed: true, keyEvaluated: true }, null).unknownSince).toBeNull()
  })

  it.each(open)('keeps what the answer says about the account: $outcome', (result) => {
    const [plain, doubtful] = [decide(result, null), decide({ ...result, mayHaveActed: true }, null)]
    expect(doubtful.answer.outcome).toBe('unknown')
    expect({ ...doubtful, answer: plain.answer, unknownSince: null }).toEqual(plain)
  })
})
