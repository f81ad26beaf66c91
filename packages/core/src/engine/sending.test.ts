import { describe, expect, it } from 'vitest'
import type { Gateway } from '../ports/gateway.ts'
import type { Claim } from '../ports/work.ts'
import { checkKeyLifetime, decideUnsendable, decideUnsent, findSender, sendTransfer } from './sending.ts'

const now = new Date('2026-11-20T12:00:00.000Z')
const hour = 3_600_000
const hoursAgo = (hours: number) => new Date(now.getTime() - hours * hour).toISOString()

const claim = (overrides: Partial<Claim> = {}): Claim => ({
  transferId: '01J00000000000000000000001',
  accountId: 'acme',
  submissionKey: 'key',
  request: {
    amount: { value: '1.00', currency: 'USDC' },
    source: { addressId: 'a', valueType: 'USDC', transferType: 'base' },
    destination: { addressId: 'b', valueType: 'USDC', transferType: 'base' },
  },
  attempt: 4,
  claimedAt: now.toISOString(),
  reason: null,
  unknownSince: null,
  unknownAttempt: null,
  released: false,
  client: 'ours',
  expiresAt: null,
  credentialRefusals: 0,
  ownRefusals: 0,
  ...overrides,
})

const unknown = (hours: number, overrides: Partial<Claim> = {}) =>
  claim({ unknownSince: hoursAgo(hours), unknownAttempt: 2, ...overrides })

const { signal } = new AbortController()

describe('what is not sent any more', () => {
  it('is nothing while no outcome is unknown, however long it waits', () => {
    expect(decideUnsendable(claim())).toBeUndefined()
    expect(decideUnsendable(claim({ reason: 'insufficient_balance', attempt: 900 }), hour)).toBeUndefined()
  })

  it('is what has expired by the clock of the database, unless a request may have left', () => {
    expect(decideUnsendable(claim({ expiresAt: '2026-11-20T12:00:00.001Z' }))).toBeUndefined()
    expect(decideUnsendable(unknown(2, { expiresAt: hoursAgo(1) }))).toBeUndefined()
    expect(decideUnsendable(claim({ expiresAt: now.toISOString() }))).toMatchObject({
      stage: 'settled',
      status: 'failed',
      failure: { type: 'expired', retriable: false, occurredAt: now.toISOString() },
      credentials: null,
      events: [{ type: 'transfer.failed' }],
      answer: { outcome: 'rejected', detail: expect.stringContaining(now.toISOString()), httpStatus: null },
    })
  })

  it('is one whose outcome is unknown for 24 hours, unless a person released it', () => {
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

  it('is one whose key the other side may have forgotten, released or not, with the evidence', () => {
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

  it('has 24 hours where the gateway does not say how long keys live', () => {
    expect(decideUnsendable(unknown(24, { released: true }))).toMatchObject({ reason: 'key_expired' })
    expect(decideUnsendable(unknown(1), 0.5 * hour)).toMatchObject({ reason: 'key_expired' })
  })

  it('takes no lifetime that is no time', () => {
    for (const keyLifetimeMs of [0, -1, Number.NaN]) {
      expect(() => checkKeyLifetime({ keyLifetimeMs } as Gateway)).toThrow('keyLifetimeMs')
    }
    for (const keyLifetimeMs of [undefined, 1, Number.POSITIVE_INFINITY]) {
      expect(() => checkKeyLifetime({ keyLifetimeMs } as Gateway)).not.toThrow()
    }
  })
})

describe('as whom a transfer is sent', () => {
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

  it('is not written down again while it stays the same', async () => {
    for (const unknownSince of [null, hoursAgo(1)]) {
      expect(await find(ours, { unknownSince })).toEqual({ sender: { client: 'ours' }, recorded: [] })
      expect(await find(undefined, { unknownSince, client: '' })).toEqual({ sender: { client: '' }, recorded: [] })
      expect(await find(async () => undefined, { unknownSince, client: '' })).toMatchObject({ recorded: [] })
    }
  })

  it('is written down before the request leaves when it is news, and no outcome is unknown', async () => {
    const { transferId, attempt } = claim()
    expect(await find(theirs, {})).toEqual({
      sender: { client: 'theirs' },
      recorded: [{ transferId, attempt, client: 'theirs' }],
    })
  })

  it('is free while none is on record, since each is written down before a request leaves', async () => {
    for (const unknownSince of [null, hoursAgo(1)]) {
      const { sender, recorded } = await find(ours, { unknownSince, client: null })
      expect([sender, recorded.length]).toEqual([{ client: 'ours' }, 1])
    }
  })

  it.each([
    ['another client', theirs, 'ours'],
    ['nobody in particular', undefined, 'ours'],
    ['a client where there was none', ours, ''],
  ])('is not %s while an outcome is unknown', async (_, identify, client) => {
    const { sender, recorded } = await find(identify, { unknownSince: hoursAgo(1), unknownAttempt: 3, client })
    expect(sender).toMatchObject({ reason: 'client_changed', detail: expect.stringContaining('attempt 3') })
    expect(recorded).toEqual([])
  })

  it('sends nothing while it cannot be found or written down, and says nothing of what a vault says', async () => {
    const failing = async () => Promise.reject(new TypeError('secret'))
    expect((await find(failing, {})).sender).toEqual({
      reason: 'rate_limited',
      detail: 'not sent: as whom the account sends could not be found (TypeError)',
    })
    const strange = (async () => 7) as unknown as Gateway['identify']
    expect((await find(strange, {})).sender).toMatchObject({ reason: 'rate_limited' })
    expect((await find(theirs, {}, false)).sender).toMatchObject({ reason: 'rate_limited' })
    expect((await find(theirs, {}, new Error('no database'))).sender).toMatchObject({ reason: 'rate_limited' })
  })
})

describe('a transfer that nobody may send', () => {
  const context = { now, fraction: 0.5, firstLookMs: 7_500 }

  it('waits, and longer and longer, while its client is another one', () => {
    const unsent = { reason: 'client_changed', detail: 'not sent: another one' } as const
    const first = decideUnsent(unknown(1, { attempt: 1 }), unsent, context)
    expect(first).toMatchObject({ stage: 'queued', reason: 'client_changed', unknownSince: hoursAgo(1), events: [] })
    expect(first).toMatchObject({ retryAfterMs: 15_000, credentials: null, throttledForMs: null })
    expect(first.answer).toMatchObject({ outcome: 'throttled', detail: 'not sent: another one', httpStatus: null })
    expect(decideUnsent(unknown(1, { attempt: 99 }), unsent, context).retryAfterMs).toBe(300_000)
  })

  it('waits as one that never left otherwise, and no longer than any other whose outcome is unknown', () => {
    const unsent = { reason: 'rate_limited', detail: 'not sent: no vault' } as const
    expect(decideUnsent(claim(), unsent, context)).toMatchObject({ stage: 'queued', reason: 'rate_limited' })
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

  it('is unknown when the gateway throws, and the log has nothing of what it says', async () => {
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
    const text = 'The gateway threw; the outcome is taken as unknown.'
    expect(logged).toEqual(thrown.map(([, error]) => [{ transferId, attempt, error }, text]))
  })
})
