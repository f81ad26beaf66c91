import { describe, expect, it } from 'vitest'
import { claimedAt, hoursAgo, sampleClaim } from '../../test/sample-claim.ts'
import type { Claim } from '../ports/claim.ts'
import type { SubmitResult } from '../ports/gateway.ts'
import { decideSubmission } from './submission.ts'

/** The worker's own clock, which no decision uses. */
const wrongClock = new Date('2031-01-01T00:00:00.000Z')

const decide = (result: SubmitResult, overrides: Partial<Claim> = {}, fraction = 0.5) =>
  decideSubmission(sampleClaim(overrides), result, { now: wrongClock, fraction, firstPollMs: 7_500 })

describe('the decision about an answer', () => {
  it('polls an accepted transfer, and forgets that an earlier outcome was unknown', () => {
    const accepted = decide(
      { outcome: 'accepted', remoteId: 'r', httpStatus: 201, requestId: 'q' },
      { unknownSince: hoursAgo(1) },
    )
    expect(accepted).toMatchObject({
      stage: 'submitted',
      status: 'pending',
      remoteId: 'r',
      unknownSince: null,
      retryAfterMs: null,
      pollAfterMs: 7_500,
      events: [{ type: 'transfer.submitted' }],
      answer: { outcome: 'accepted', detail: null, httpStatus: 201, requestId: 'q' },
    })
  })

  it.each([
    ['pending', 'submitted', ['transfer.submitted']],
    ['processing', 'submitted', ['transfer.submitted', 'transfer.processing']],
    ['complete', 'settled', ['transfer.submitted', 'transfer.completed']],
    ['canceled', 'settled', ['transfer.submitted', 'transfer.canceled']],
  ] as const)('applies the status in the answer: %s', (status, stage, events) => {
    const observation = { remoteId: 'r', status, failure: null }
    const accepted = decide({ outcome: 'accepted', remoteId: 'r', observation })
    expect(accepted).toMatchObject({ stage, status, pollAfterMs: stage === 'settled' ? null : 7_500 })
    expect(accepted.events.map((event) => event.type)).toEqual(events)
  })

  it('settles an answer that already says failed for good, and polls one that may recover', () => {
    const failure = {
      type: 'rejected',
      code: 'R03',
      detail: '',
      occurredAt: claimedAt.toISOString(),
      retriable: false,
    } as const
    const answer = (retriable: boolean) =>
      decide({
        outcome: 'accepted',
        remoteId: 'r',
        observation: { remoteId: 'r', status: 'failed', failure: { ...failure, retriable } },
      })
    expect(answer(false)).toMatchObject({ stage: 'settled', status: 'failed', pollAfterMs: null })
    expect(answer(true)).toMatchObject({ stage: 'submitted', status: 'failed', pollAfterMs: 7_500 })
  })

  it('defers a transfer that lacks funds, with one event', () => {
    const short = { outcome: 'insufficient_balance', detail: 'short' } as const
    expect(decide(short)).toMatchObject({
      stage: 'awaiting_funds',
      reason: 'insufficient_balance',
      retryAfterMs: 15_000,
      events: [{ type: 'transfer.awaiting_funds' }],
    })
    const again = decide(short, { attempt: 9, reason: 'insufficient_balance' }, 0.999)
    expect(again.events).toEqual([])
    expect(again.retryAfterMs).toBeLessThanOrEqual(600_000)
    expect(again.retryAfterMs).toBeGreaterThan(500_000)
  })

  it('fails a refused transfer for good with the code of the service', () => {
    expect(
      decide(
        { outcome: 'rejected', code: 'invalid_account_number', detail: 'no', keyEvaluated: true },
        { unknownSince: hoursAgo(2) },
      ),
    ).toMatchObject({
      stage: 'settled',
      status: 'failed',
      unknownSince: null,
      retryAfterMs: null,
      failure: {
        type: 'rejected',
        code: 'invalid_account_number',
        detail: 'no',
        occurredAt: wrongClock.toISOString(),
        retriable: false,
      },
      events: [{ type: 'transfer.failed' }],
      answer: { outcome: 'rejected', detail: 'no', httpStatus: null, requestId: null },
    })
  })

  it('forgets a counterparty given in full only when the service no longer has its address', () => {
    const address = { kind: 'wallet', name: 'Ada', lastFour: '', transferTypes: ['base'], fingerprint: 'f' } as const
    const destination = { addressId: 'b', address, valueType: 'USDC', transferType: 'base' }
    const whole = { request: { ...sampleClaim().request, destination } }
    const refused = (code: string, overrides: Partial<Claim>) =>
      decide({ outcome: 'rejected', code, detail: '' }, overrides).forgetCounterparty
    expect(refused('invalid_address', whole)).toBe(true)
    expect(refused('ach_limit_exceeded', whole)).toBeUndefined()
    expect(refused('invalid_address', {})).toBeUndefined()
  })

  it('blocks a key that the service has for another request', () => {
    expect(decide({ outcome: 'key_mismatch', detail: 'other' })).toMatchObject({
      stage: 'blocked',
      status: 'pending',
      reason: 'idempotency_key_mismatch',
      retryAfterMs: null,
      events: [{ type: 'transfer.blocked' }],
    })
  })

  it('comes back slower after refused credentials than after anything else', () => {
    expect(decide({ outcome: 'unauthorized', detail: '401' })).toMatchObject({
      stage: 'queued',
      reason: 'unauthenticated',
      retryAfterMs: 2_500,
      unknownSince: null,
      credentials: 'refused',
    })
  })

  it('blocks a transfer that is refused alone while others of its account are accepted, after a backoff', () => {
    const refused = { outcome: 'unauthorized', detail: 'HTTP 403', httpStatus: 403 } as const
    const alone = decide(refused, { ownRefusals: 1, attempt: 9 }, 0.5)
    expect(alone).toMatchObject({ stage: 'queued', reason: 'unauthorized', credentials: null, ownRefusals: 1 })
    expect(alone.retryAfterMs).toBe(2_500)
    expect(decide(refused, { ownRefusals: 5 }, 0.5).retryAfterMs).toBe(40_000)
    expect(decide(refused, { ownRefusals: 6 })).toMatchObject({
      stage: 'blocked',
      status: 'pending',
      reason: 'unauthorized',
      retryAfterMs: null,
      events: [{ type: 'transfer.blocked' }],
    })
    // The probe of an account with refused credentials decides for the account.
    const probe = decide(refused, { ownRefusals: 6, credentialRefusals: 1 })
    expect(probe).toMatchObject({ stage: 'queued', reason: 'unauthenticated', credentials: 'refused' })
    expect(decide({ outcome: 'accepted', remoteId: 'r' }, { ownRefusals: 6 })).toMatchObject({ credentials: 'good' })
  })

  it('probes refused credentials with a delay that grows with their refusals, whichever transfer is the probe', () => {
    const refused = { outcome: 'unauthorized', detail: '401' } as const
    const pause = (credentialRefusals: number, attempt: number) =>
      decide(refused, { credentialRefusals, attempt }, 0.5).retryAfterMs
    expect([pause(0, 7), pause(1, 1), pause(2, 1), pause(40, 1)]).toEqual([2_500, 5_000, 10_000, 150_000])
  })

  it.each([
    [{ outcome: 'accepted', remoteId: 'r' }, 'good'],
    [{ outcome: 'insufficient_balance', detail: '' }, 'good'],
    [{ outcome: 'key_mismatch', detail: '' }, 'good'],
    [{ outcome: 'rejected', code: 'no', detail: '' }, 'good'],
    [{ outcome: 'throttled', detail: '' }, null],
    [{ outcome: 'unknown', detail: '' }, null],
  ] as const)('reads from %o about the credentials: %s', (result, credentials) => {
    expect(decide(result).credentials).toBe(credentials)
  })

  it('comes back when the service asks for it, and keeps what is unknown unknown', () => {
    const throttled = { outcome: 'throttled', detail: '429', retryAfterMs: 30_000 } as const
    const decided = decide(throttled, { unknownSince: hoursAgo(3) })
    expect(decided).toMatchObject({ stage: 'queued', reason: 'rate_limited', unknownSince: hoursAgo(3) })
    expect(decided.retryAfterMs).toBeGreaterThanOrEqual(30_000)
  })

  it('gives an obstacle as the reason, whether or not an outcome is unknown', () => {
    const unsent = { outcome: 'throttled', obstacle: 'unreachable', detail: 'not sent: refused' } as const
    expect(decide(unsent)).toMatchObject({ stage: 'queued', reason: 'unreachable', unknownSince: null })
    expect(decide(unsent, { unknownSince: hoursAgo(1) })).toMatchObject({
      ...{ stage: 'queued', reason: 'unreachable', unknownSince: hoursAgo(1) },
    })
    expect(decide(unsent, { unknownSince: hoursAgo(24) })).toMatchObject({
      stage: 'blocked',
      reason: 'outcome_unknown',
    })
    const wrongPath = { outcome: 'unknown', obstacle: 'misconfigured', detail: 'HTTP 404', httpStatus: 404 } as const
    expect(decide(wrongPath)).toMatchObject({ reason: 'misconfigured', unknownSince: claimedAt.toISOString() })
  })

  it('treats a key in flight at the service as an unknown outcome, but not a request to wait', () => {
    const throttled = { outcome: 'throttled', detail: 'later' } as const
    const inFlight = { stage: 'queued', reason: 'rate_limited', unknownSince: claimedAt.toISOString() }
    expect(decide({ ...throttled, httpStatus: 409 })).toMatchObject(inFlight)
    expect(decide({ ...throttled, httpStatus: 409 }, { unknownSince: hoursAgo(3) }).unknownSince).toBe(hoursAgo(3))
    expect(decide({ ...throttled, httpStatus: 429 }).unknownSince).toBeNull()
    expect(decide({ ...throttled, detail: 'not sent: no connection' }).unknownSince).toBeNull()
  })

  it('treats a missing answer as an unknown outcome from its first time on, and blocks it after 24 hours, never fails it', () => {
    const lost = { outcome: 'unknown', detail: 'reset' } as const
    expect(decide(lost)).toMatchObject({
      stage: 'queued',
      reason: 'outcome_unknown',
      unknownSince: claimedAt.toISOString(),
    })
    expect(decide(lost, { unknownSince: hoursAgo(23.99) })).toMatchObject({
      stage: 'queued',
      unknownSince: hoursAgo(23.99),
    })
    expect(decide(lost, { unknownSince: hoursAgo(24) })).toMatchObject({
      stage: 'blocked',
      status: 'pending',
      reason: 'outcome_unknown',
      unknownSince: hoursAgo(24),
      events: [{ type: 'transfer.blocked' }],
    })
  })

  it('never waits longer than five minutes for an unknown outcome', () => {
    const pauses = Array.from(
      { length: 40 },
      (_, attempt) => decide({ outcome: 'unknown', detail: '' }, { attempt: attempt + 1 }, 0.999).retryAfterMs,
    )
    expect(Math.max(...pauses.map(Number))).toBeLessThanOrEqual(300_000)
    expect(pauses[0]).toBeLessThan(Number(pauses[5]))
  })
})

describe('the decision about a whole account', () => {
  it('throttles the whole account only for a 429 of the service itself', () => {
    const throttled = { outcome: 'throttled', detail: 'later' } as const
    expect(decide({ ...throttled, httpStatus: 429, retryAfterMs: 2_000 }).throttledForMs).toBe(2_000)
    expect(decide({ ...throttled, httpStatus: 429 }).throttledForMs).toBe(0)
    expect(decide({ ...throttled, httpStatus: 409, retryAfterMs: 2_000 }).throttledForMs).toBeNull()
    expect(decide({ ...throttled, detail: 'not sent: no connection' }).throttledForMs).toBeNull()
    expect(decide({ outcome: 'unknown', detail: 'unreadable', httpStatus: 429 }).throttledForMs).toBeNull()
    expect(decide({ outcome: 'accepted', remoteId: 'r', httpStatus: 201 }).throttledForMs).toBeNull()
  })
})
