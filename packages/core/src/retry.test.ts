import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { IdempotencyKey } from './idempotency.ts'
import { alignedPollDelayMs, classifyAnswer, pollDelayMs, retryDelayMs, watchDelayMs } from './retry.ts'

describe('classifyAnswer', () => {
  it.each([
    [{ status: 201 }, 'accepted'],
    [{ status: 200 }, 'accepted'],
    [{ status: 201, readable: false }, 'unknown'],
    [{ status: 401 }, 'unauthorized'],
    [{ status: 403, readable: false }, 'unauthorized'],
    [{ status: 422, code: 'insufficient_balance' }, 'insufficient_balance'],
    [{ status: 422, code: 'idempotency_key_mismatch' }, 'key_mismatch'],
    [{ status: 422, code: 'invalid_account_number' }, 'rejected'],
    [{ status: 404, code: 'not_found' }, 'rejected'],
    // A page without a code may come from a proxy.
    [{ status: 400 }, 'unknown'],
    [{ status: 404 }, 'unknown'],
    [{ status: 410 }, 'unknown'],
    [{ status: 422, readable: false }, 'unknown'],
    [{ status: 409 }, 'throttled'],
    [{ status: 409, code: 'idempotency_key_in_flight' }, 'throttled'],
    [{ status: 422, code: 'idempotency_key_in_flight' }, 'unknown'],
    [{ status: 409, code: 'idempotency_key_mismatch' }, 'key_mismatch'],
    [{ status: 409, code: 'conflict' }, 'rejected'],
    [{ status: 429, readable: false }, 'throttled'],
    [{ status: 408 }, 'unknown'],
    [{ status: 425 }, 'unknown'],
    [{ status: 500 }, 'unknown'],
    [{ status: 503, code: 'insufficient_balance' }, 'unknown'],
    [{ status: 300 }, 'unknown'],
    [{ status: 302 }, 'unknown'],
    [{ status: 100 }, 'unknown'],
    [{}, 'unknown'],
  ] as const)('classifies %j as %s', (answer, outcome) => {
    expect(classifyAnswer(answer)).toBe(outcome)
  })

  it('refuses for good exactly what asks for a new key', () => {
    const codes = [
      undefined,
      'conflict',
      'idempotency_key_in_flight',
      'idempotency_key_mismatch',
      'insufficient_balance',
      'invalid_address',
    ]
    for (const code of codes) {
      for (let status = 100; status < 600; status += 1) {
        const isOver = ['rejected', 'key_mismatch'].includes(classifyAnswer({ status, code }))
        expect({ status, code, decision: IdempotencyKey.decide({ status, code }) }).toEqual({
          status,
          code,
          decision: isOver ? 'renew' : 'reuse',
        })
      }
    }
  })
})

describe('retryDelayMs', () => {
  it('doubles its bound up to five minutes, with full jitter below it', () => {
    const bounds = [1, 2, 3, 4, 8, 9, 10, 2000].map((attempt) => retryDelayMs({ attempt, fraction: 0.999999 }))
    expect(bounds).toEqual([999, 1999, 3999, 7999, 127_999, 255_999, 299_999, 299_999])
    expect(retryDelayMs({ attempt: 5, fraction: 0 })).toBe(0)
    expect(retryDelayMs({ attempt: 5, fraction: 0.5 })).toBe(8000)
  })

  it('never returns before it was asked to, up to an hour', () => {
    expect(retryDelayMs({ attempt: 1, fraction: 0, retryAfterMs: 30_000 })).toBe(30_000)
    expect(retryDelayMs({ attempt: 1, fraction: 0.5, retryAfterMs: 30_000 })).toBe(30_500)
    expect(retryDelayMs({ attempt: 1, fraction: 0, retryAfterMs: 10 ** 12 })).toBe(3_600_000)
    expect(retryDelayMs({ attempt: 1, fraction: 0.5, retryAfterMs: -1 })).toBe(500)
    expect(retryDelayMs({ attempt: 1, fraction: 0.5, retryAfterMs: Number.NaN })).toBe(500)
  })

  it('accepts other bounds, also with a Retry-After of zero', () => {
    expect(retryDelayMs({ attempt: 9, fraction: 0.5, baseMs: 10, capMs: 100 })).toBe(50)
    expect(retryDelayMs({ attempt: 1, fraction: 0.5, baseMs: 1000, capMs: 100, retryAfterMs: 0 })).toBe(50)
  })

  it('is a whole number within its bounds for any attempt', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1e6 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (attempt, fraction) => {
          const delay = retryDelayMs({ attempt, fraction })
          expect(Number.isInteger(delay) && delay >= 0 && delay < 300_000).toBe(true)
        },
      ),
    )
  })
})

describe('pollDelayMs', () => {
  const polls = (expectedMs: number) =>
    [0, 1, 2, 3, 4, 5, 6, 99].map((count) => pollDelayMs({ expectedMs, polls: count }))

  it('polls at quarters of the expected time and then ever more rarely', () => {
    expect(polls(10_000)).toEqual([2500, 2500, 2500, 2500, 5000, 10_000, 20_000, 900_000])
  })

  it('keeps to a quarter where that is longer than fifteen minutes', () => {
    expect(polls(7_200_000)).toEqual(Array.from({ length: 8 }, () => 1_800_000))
  })

  it('never polls more than once a second', () => {
    expect(pollDelayMs({ expectedMs: 0, polls: 0 })).toBe(1000)
  })
})

describe('alignedPollDelayMs', () => {
  const arbitrary = fc.record({
    nowMs: fc.integer({ min: 1.7e12, max: 1.9e12 }),
    delayMs: fc.integer({ min: 0, max: 1e9 }),
    accountId: fc.string(),
  })

  it('is a whole number, never less than the pause, and at most an eighth more', () => {
    fc.assert(
      fc.property(arbitrary, (poll) => {
        const aligned = alignedPollDelayMs(poll)
        expect(Number.isInteger(aligned) && aligned >= poll.delayMs && aligned <= poll.delayMs * 1.125).toBe(true)
      }),
    )
  })

  it('does not move a poll that is due at once, or nearly', () => {
    const aligned = (delayMs: number) => alignedPollDelayMs({ nowMs: 1_800_000_000_001, delayMs, accountId: 'acme' })
    expect([0, 1, 7, 8].map(aligned)).toEqual([0, 1, 7, 8])
  })

  it('aligns the polls of one account, also those of different pauses, and separates those of different accounts', () => {
    const times = (accountId: string) =>
      new Set(
        Array.from({ length: 4_096 }, (_, second) => {
          const nowMs = 1_800_000_000_000 + second * 1_000
          return nowMs + alignedPollDelayMs({ nowMs, delayMs: 43_200_000 + (second % 7) * 1_001, accountId })
        }),
      )
    expect(times('acme').size).toBeLessThanOrEqual(2)
    expect([...times('acme')].filter((time) => times('globex').has(time))).toEqual([])
  })
})

describe('watchDelayMs', () => {
  it('starts with fifteen seconds and doubles up to a quarter of an hour', () => {
    expect([0, 1, 2, 6, 99].map((idle) => watchDelayMs({ idle }))).toEqual([15_000, 30_000, 60_000, 900_000, 900_000])
  })
})
