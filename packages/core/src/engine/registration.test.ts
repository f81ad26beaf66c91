import { describe, expect, it } from 'vitest'
import { sampleClaim } from '../../test/sample-claim.ts'
import type { Gateway, RegisterResult } from '../ports/gateway.ts'
import { decideRegistration, registerCounterparty } from './registration.ts'
import { decideUnsendable } from './sending.ts'

const now = new Date('2026-11-20T12:00:00.000Z')
const wallet = { kind: 'wallet', name: 'Ada', address: '0x1', transferTypes: ['base'] } as const
const summary = { kind: 'wallet', name: 'Ada', lastFour: '', transferTypes: ['base'], fingerprint: 'f' } as const

const claim = sampleClaim({
  request: {
    ...sampleClaim().request,
    destination: { address: summary, valueType: 'USDC', transferType: 'base' },
  },
  registration: { idempotencyKey: 'own key', address: wallet, unknownSince: null },
  attempt: 3,
  client: null,
})
const decide = (result: RegisterResult) => decideRegistration(claim, result, { now, fraction: 0.5, firstPollMs: 7_500 })

describe('the decision about a registration', () => {
  it('sends the transfer at once when it is accepted, without an event', () => {
    expect(decide({ outcome: 'accepted', addressId: 'a-1', httpStatus: 201, requestId: 'q' })).toMatchObject({
      ...{ stage: 'queued', status: 'pending', reason: null, addressId: 'a-1', remoteId: null, credentials: 'good' },
      ...{ retryAfterMs: 0, pollAfterMs: null, events: [] },
      answer: { outcome: 'accepted', httpStatus: 201, requestId: 'q' },
    })
  })

  it('leaves the transfer free while the key of the registration is in flight', () => {
    const settlement = decide({ outcome: 'throttled', detail: 'in flight', httpStatus: 409 })
    expect(settlement).toMatchObject({ stage: 'queued', reason: 'rate_limited', unknownSince: null })
  })

  it('tries an unknown one again, and leaves the transfer free: no money can have moved', () => {
    const settlement = decide({ outcome: 'unknown', detail: 'reset' })
    expect(settlement).toMatchObject({ stage: 'queued', reason: 'registration_unknown', unknownSince: null })
    expect(settlement).toMatchObject({ credentials: null, events: [], retryAfterMs: expect.any(Number) })
    expect(settlement.registrationUnknownSince).toBe(now.toISOString())
    const late = { ...claim, reason: 'registration_unknown', expiresAt: '2026-11-20T11:00:00.000Z' }
    expect(decideUnsendable(late)).toMatchObject({ status: 'failed', failure: { code: 'expired' } })
  })

  it('blocks the transfer when it stays unknown for 24 hours, still free to be canceled', () => {
    const since = (hours: number) => new Date(now.getTime() - hours * 3_600_000).toISOString()
    const after = (unknownSince: string) => {
      const late = { ...claim, registration: { idempotencyKey: 'own key', address: wallet, unknownSince } }
      const result = { outcome: 'unknown', detail: 'reset' } as const
      return decideRegistration(late, result, { now, fraction: 0.5, firstPollMs: 7_500 })
    }
    expect(after(since(23.9))).toMatchObject({ stage: 'queued', registrationUnknownSince: since(23.9) })
    expect(after(since(24))).toMatchObject({
      ...{ stage: 'blocked', reason: 'registration_unknown', unknownSince: null, retryAfterMs: null },
      events: [{ type: 'transfer.blocked' }],
    })
  })

  it.each([
    { outcome: 'unauthorized', detail: 'no' },
    { outcome: 'throttled', detail: 'slow down', httpStatus: 429 },
    { outcome: 'throttled', detail: 'in flight', httpStatus: 409 },
  ] as const)('does not extend the limit of an unknown outcome for %o', (result) => {
    const unknownSince = new Date(now.getTime() - 24 * 3_600_000).toISOString()
    const late = { ...claim, registration: { idempotencyKey: 'own key', address: wallet, unknownSince } }
    const settlement = decideRegistration(late, result, { now, fraction: 0.5, firstPollMs: 7_500 })
    expect(settlement).toMatchObject({ stage: 'blocked', reason: 'registration_unknown', unknownSince: null })
    expect(settlement).toMatchObject({
      credentials: decide(result).credentials,
      throttledForMs: decide(result).throttledForMs,
    })
  })

  it('treats an acceptance without an id as an unknown outcome', () => {
    for (const addressId of ['', undefined as unknown as string]) {
      expect(decide({ outcome: 'accepted', addressId })).toMatchObject({ reason: 'registration_unknown' })
    }
  })

  it('fails the transfer for good when it is refused, with the code and the member', () => {
    const detail = 'destination.address.routingNumber: is not known'
    expect(decide({ outcome: 'rejected', code: 'invalid_routing_number', detail })).toMatchObject({
      ...{ stage: 'settled', status: 'failed', forgetCounterparty: true, events: [{ type: 'transfer.failed' }] },
      failure: { type: 'rejected', code: 'invalid_routing_number', detail, retriable: false },
    })
  })

  it.each([
    [{ outcome: 'key_mismatch', detail: 'used' }, 'blocked', 'idempotency_key_mismatch', 'good'],
    [{ outcome: 'unauthorized', detail: 'no' }, 'queued', 'unauthenticated', 'refused'],
    [{ outcome: 'throttled', detail: 'slow down' }, 'queued', 'rate_limited', null],
  ] as const)('treats %o as it does for a transfer', (result, stage, reason, credentials) => {
    expect(decide(result)).toMatchObject({ stage, reason, credentials, status: 'pending', unknownSince: null })
  })

  it('uses a new key for the counterparty only when the current one is used up', () => {
    const forgotten = (result: RegisterResult) => decide(result).forgetCounterparty
    expect(forgotten({ outcome: 'key_mismatch', detail: 'used' })).toBe(true)
    expect(forgotten({ outcome: 'rejected', code: 'invalid_address', detail: '' })).toBe(true)
    expect(forgotten({ outcome: 'unknown', detail: 'reset' })).toBeUndefined()
    expect(forgotten({ outcome: 'throttled', detail: 'slow down' })).toBeUndefined()
    expect(forgotten({ outcome: 'unauthorized', detail: 'no' })).toBeUndefined()
  })
})

describe('a registration', () => {
  const logged: unknown[] = []
  const logger = { debug() {}, info() {}, warn() {}, error: (...line: unknown[]) => void logged.push(line) }
  const { signal } = new AbortController()
  const run = (gateway: Partial<Gateway>, claimed = claim) =>
    registerCounterparty(gateway as Gateway, logger, claimed, { signal })

  it('carries its own key and the details, and ends when the worker does', async () => {
    const seen: unknown[] = []
    const registerAddress: Gateway['registerAddress'] = async (registration, options) => {
      seen.push(registration)
      expect(options.signal).toBe(signal)
      return { outcome: 'accepted', addressId: 'a-1' }
    }
    expect(await run({ registerAddress })).toEqual({ outcome: 'accepted', addressId: 'a-1' })
    const { transferId, accountId, attempt } = claim
    expect(seen).toEqual([{ transferId, accountId, attempt, idempotencyKey: 'own key', address: wallet }])
  })

  it('is unknown when the gateway throws, and the log does not have the message', async () => {
    const thrown = [new TypeError('no bank 021000021'), 'no bank 021000021']
    for (const error of thrown) {
      const registerAddress = () => Promise.reject(error)
      expect(await run({ registerAddress })).toEqual({ outcome: 'unknown', detail: 'no bank 021000021' })
    }
    const { transferId, attempt } = claim
    const text = 'The gateway threw; the registration counts as unknown.'
    expect(logged).toEqual(['TypeError', 'string'].map((error) => [{ transferId, attempt, error }, text]))
  })

  it('waits for another process when the gateway of this one cannot register', async () => {
    expect(await run({})).toMatchObject({ outcome: 'throttled' })
  })

  it('ends the transfer when there are no details to register', async () => {
    const { registration: _, ...bare } = claim
    expect(await run({}, bare)).toMatchObject({ outcome: 'rejected', code: 'missing_field' })
  })
})
