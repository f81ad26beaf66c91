import { describe, expect, it } from 'vitest'
import { claimedAt, hoursAgo, sampleClaim } from '../../test/sample-claim.ts'
import { OutlayError } from '../error.ts'
import type { Claim } from '../ports/claim.ts'
import type { Gateway } from '../ports/gateway.ts'
import { checkKeyLifetime, decideUnsendable, decideUnsent, findSender, sendTransfer, whileKeyLives } from './sending.ts'

const hour = 3_600_000

const claim = (overrides: Partial<Claim> = {}) => sampleClaim({ attempt: 4, client: 'ours', ...overrides })

const unknown = (hours: number, overrides: Partial<Claim> = {}) =>
  claim({ unknownSince: hoursAgo(hours), unknownAttempt: 2, ...overrides })

const { signal } = new AbortController()

describe('the decision not to send a transfer any more', () => {
  it('spares a transfer without an unknown outcome, however long it waits', () => {
    expect(decideUnsendable(claim())).toBeUndefined()
    expect(decideUnsendable(claim({ reason: 'insufficient_balance', attempt: 900 }), hour)).toBeUndefined()
  })

  it('covers a transfer that expired by the database clock, unless a request may have left', () => {
    expect(decideUnsendable(claim({ expiresAt: '2026-11-20T12:00:00.001Z' }))).toBeUndefined()
    expect(decideUnsendable(unknown(2, { expiresAt: hoursAgo(1) }))).toBeUndefined()
    expect(decideUnsendable(claim({ expiresAt: claimedAt.toISOString() }))).toMatchObject({
      stage: 'settled',
      status: 'failed',
      failure: { type: 'expired', retriable: false, occurredAt: claimedAt.toISOString() },
      credentials: null,
      events: [{ type: 'transfer.failed' }],
      answer: { outcome: 'rejected', detail: expect.stringContaining(claimedAt.toISOString()), httpStatus: null },
    })
  })

  it('covers a transfer whose outcome is unknown for 24 hours, unless a person released it', () => {
    expect(decideUnsendable(unknown(23.99), 480 * hour)).toBeUndefined()
    expect(decideUnsendable(unknown(24, { released: true }), 480 * hour)).toBeUndefined()
    expect(decideUnsendable(unknown(24), 480 * hour)).toMatchObject({
      stage: 'blocked',
      reason: 'outcome_unknown',
      unknownSince: hoursAgo(24),
      retryAfterMs: null,
      credentials: null,
      events: [{ type: 'transfer.blocked' }],
      answer: {
        outcome: 'throttled',
        detail: expect.stringContaining('not sent: the outcome of attempt 2 is unknown'),
      },
    })
  })

  it('covers a transfer whose key the other side may have forgotten, released or not, with the evidence', () => {
    expect(decideUnsendable(unknown(479.9, { released: true }), 480 * hour)).toBeUndefined()
    for (const released of [true, false]) {
      const settlement = decideUnsendable(unknown(480, { released }), 480 * hour)
      expect(settlement).toMatchObject({ stage: 'blocked', reason: 'key_expired', unknownSince: hoursAgo(480) })
      expect(settlement).toMatchObject({ retryAfterMs: null, events: [{ type: 'transfer.blocked' }] })
      expect(settlement?.answer.detail).toBe(
        `not sent: the outcome of attempt 2 is unknown since ${hoursAgo(480)}, and the other side keeps its key for 480 hours, so sending it again could pay twice`,
      )
    }
  })

  it('is one whose request could arrive when its key is forgotten: within five minutes, or a twentieth of a short life', () => {
    for (const released of [true, false]) {
      expect(decideUnsendable(unknown(24 - 6 / 60, { released }))).toBeUndefined()
      expect(decideUnsendable(unknown(24 - 4 / 60, { released }))).toMatchObject({ reason: 'key_expired' })
      expect(decideUnsendable(unknown(0.94, { released }), hour)).toBeUndefined()
      expect(decideUnsendable(unknown(0.96, { released }), hour)).toMatchObject({ reason: 'key_expired' })
    }
    expect(decideUnsendable(unknown(1_000, { released: true }), Number.POSITIVE_INFINITY)).toBeUndefined()
  })

  it('has 24 hours where the gateway does not say how long keys live', () => {
    expect(decideUnsendable(unknown(24, { released: true }))).toMatchObject({ reason: 'key_expired' })
    expect(decideUnsendable(unknown(1), 0.5 * hour)).toMatchObject({ reason: 'key_expired' })
  })

  it('refuses a lifetime of keys that is not a duration', () => {
    for (const keyLifetimeMs of [0, -1, Number.NaN]) {
      expect(() => checkKeyLifetime({ keyLifetimeMs } as Gateway)).toThrow('keyLifetimeMs')
    }
    for (const keyLifetimeMs of [undefined, 1, Number.POSITIVE_INFINITY]) {
      expect(() => checkKeyLifetime({ keyLifetimeMs } as Gateway)).not.toThrow()
    }
  })
})

describe('the client that sends a transfer', () => {
  const find = async (identify: Gateway['identify'], overrides: Partial<Claim>, isWritten: boolean | Error = true) => {
    const recorded: unknown[] = []
    const backend = {
      async recordClient({ transferId, attempt }: Pick<Claim, 'transferId' | 'attempt'>, client: string) {
        if (isWritten instanceof Error) throw isWritten
        recorded.push({ transferId, attempt, client })
        return isWritten
      },
    }
    const gateway = { ...(identify === undefined ? {} : { identify }) } as Gateway
    return { sender: await findSender({ backend, gateway }, claim(overrides), signal), recorded }
  }
  const ours = async () => 'ours'
  const theirs = async () => 'theirs'

  it('is not recorded again while it stays the same', async () => {
    for (const unknownSince of [null, hoursAgo(1)]) {
      expect(await find(ours, { unknownSince })).toEqual({ sender: { client: 'ours' }, recorded: [] })
      expect(await find(undefined, { unknownSince, client: '' })).toEqual({ sender: { client: '' }, recorded: [] })
      expect(await find(async () => undefined, { unknownSince, client: '' })).toMatchObject({ recorded: [] })
    }
  })

  it('is recorded before the request leaves when it is new, and no outcome is unknown', async () => {
    const { transferId, attempt } = claim()
    expect(await find(theirs, {})).toEqual({
      sender: { client: 'theirs' },
      recorded: [{ transferId, attempt, client: 'theirs' }],
    })
  })

  it('is free while none is on record, since each is recorded before a request leaves', async () => {
    for (const unknownSince of [null, hoursAgo(1)]) {
      const { sender, recorded } = await find(ours, { unknownSince, client: null })
      expect([sender, recorded.length]).toEqual([{ client: 'ours' }, 1])
    }
  })

  it.each([
    ['another client', theirs, 'ours'],
    ['no client in particular', undefined, 'ours'],
    ['a client where there was none', ours, ''],
  ])('is not %s while an outcome is unknown', async (_, identify, client) => {
    const { sender, recorded } = await find(identify, { unknownSince: hoursAgo(1), unknownAttempt: 3, client })
    expect(sender).toMatchObject({ reason: 'client_changed', detail: expect.stringContaining('attempt 3') })
    expect(recorded).toEqual([])
  })

  it('sends nothing while it cannot be found or recorded, and does not log the message of a vault', async () => {
    const failing = async () => Promise.reject(new TypeError('secret'))
    expect((await find(failing, {})).sender).toEqual({
      reason: 'credentials_unavailable',
      detail: 'not sent: the client of the account could not be found (TypeError)',
    })
    const lost = async () => Promise.reject(new OutlayError('invalid_request', 'the address could not be found'))
    expect((await find(lost, {})).sender).toMatchObject({ reason: 'misconfigured' })
    const strange = (async () => 7) as unknown as Gateway['identify']
    expect((await find(strange, {})).sender).toMatchObject({ reason: 'misconfigured' })
    expect((await find(theirs, {}, false)).sender).toMatchObject({ reason: 'rate_limited' })
    expect((await find(theirs, {}, new Error('no database'))).sender).toMatchObject({ reason: 'rate_limited' })
  })
})

describe('a transfer that no client may send', () => {
  const context = { now: claimedAt, fraction: 0.5, firstPollMs: 7_500 }

  it('waits, longer each time, while its client is another one', () => {
    const unsent = { reason: 'client_changed', detail: 'not sent: another one' } as const
    const first = decideUnsent(unknown(1, { attempt: 1 }), unsent, context)
    expect(first).toMatchObject({ stage: 'queued', reason: 'client_changed', unknownSince: hoursAgo(1), events: [] })
    expect(first).toMatchObject({ retryAfterMs: 15_000, credentials: null, throttledForMs: null })
    expect(first.answer).toMatchObject({ outcome: 'throttled', detail: 'not sent: another one', httpStatus: null })
    expect(decideUnsent(unknown(1, { attempt: 99 }), unsent, context).retryAfterMs).toBe(300_000)
  })

  it('otherwise waits as if it never left, and no longer than any other with an unknown outcome', () => {
    const unsent = { reason: 'credentials_unavailable', detail: 'not sent: no vault' } as const
    expect(decideUnsent(claim(), unsent, context)).toMatchObject({ stage: 'queued', reason: 'credentials_unavailable' })
    const unrecorded = { reason: 'rate_limited', detail: 'not sent: its client could not be recorded' } as const
    expect(decideUnsent(claim(), unrecorded, context)).toMatchObject({ stage: 'queued', reason: 'rate_limited' })
    expect(decideUnsent(claim(), unsent, context).unknownSince).toBeNull()
    expect(decideUnsent(unknown(24), unsent, context)).toMatchObject({ stage: 'blocked', reason: 'outcome_unknown' })
  })
})

describe('a submission', () => {
  const logged: unknown[] = []
  const logger = { debug() {}, info() {}, warn() {}, error: (...line: unknown[]) => void logged.push(line) }
  const { transferId, accountId, attempt } = claim()
  const request = claim().request as Parameters<typeof sendTransfer>[2]

  it('carries the key of the engine, and the client where there is one', async () => {
    const seen: unknown[] = []
    const submit: Gateway['submit'] = async (submission, options) => {
      seen.push(submission)
      expect(options.signal).toBe(signal)
      return { outcome: 'accepted', remoteId: 'r' }
    }
    const gateway = { submit } as Gateway
    for (const client of ['', 'ours']) await sendTransfer({ gateway, logger }, claim(), request, client, { signal })
    const plain = { transferId, accountId, idempotencyKey: 'key', request, attempt }
    expect(seen).toEqual([plain, { ...plain, client: 'ours' }])
  })

  it('is unknown when the gateway throws, and the log does not have the message', async () => {
    const thrown: [() => Promise<never>, string][] = [
      [() => Promise.reject(new TypeError('021000021')), 'TypeError'],
      [() => Promise.reject('021000021'), 'string'],
      [
        () => {
          throw new RangeError('021000021')
        },
        'RangeError',
      ],
    ]
    for (const [submit] of thrown) {
      const gateway = { submit } as unknown as Gateway
      const result = await sendTransfer({ gateway, logger }, claim(), request, '', { signal })
      expect(result).toEqual({ outcome: 'unknown', detail: '021000021' })
    }
    const text = 'The gateway threw; the outcome counts as unknown.'
    expect(logged).toEqual(thrown.map(([, error]) => [{ transferId, attempt, error }, text]))
  })
})

describe('the key of a call', () => {
  it.each<[string, () => Promise<void>]>([
    ['has ended', async () => undefined],
    ['has failed', () => Promise.reject(new Error('no'))],
  ])('may not leave any more when the call %s, however old it is', async (_, call) => {
    const timer = { after: () => () => undefined }
    const seen: boolean[] = []
    let lives = () => false
    const run = (given: () => boolean) => {
      lives = given
      seen.push(lives())
      return call()
    }
    await whileKeyLives(timer, claim(), undefined, run).catch(() => undefined)
    expect([...seen, lives()]).toEqual([true, false])
  })
})
