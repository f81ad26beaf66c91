import { describe, expect, it } from 'vitest'
import type { Gateway } from '../ports/gateway.ts'
import { foreignGateway } from './foreign-gateway.ts'
import { NotUnderstood } from './foreign-value.ts'
import { readFound, readListPage, readRegisterResult, readSubmitResult } from './gateway-answers.ts'

const reported: string[] = []
const report = (field: string) => void reported.push(field)
const failure = {
  type: 'returned',
  code: 'R03',
  detail: 'no account',
  occurredAt: '2026-01-05T08:00:00Z',
  retriable: false,
}

const circular: Record<string, unknown> = { outcome: 'accepted' }
circular['remoteId'] = circular

/** Answers that no gateway of this release gives, with the invalid member. */
const nonsense: readonly (readonly [string, unknown])[] = [
  ['', undefined],
  ['', null],
  ['', 'accepted'],
  ['outcome', {}],
  ['outcome', []],
  ['outcome', { outcome: 5n }],
  ['outcome', { outcome: 'accepted_with_thanks', remoteId: 'r1' }],
  ['remoteId', { outcome: 'accepted' }],
  ['remoteId', { outcome: 'accepted', remoteId: '' }],
  ['remoteId', { outcome: 'accepted', remoteId: 12n }],
  ['remoteId', { outcome: 'accepted', remoteId: 'r'.repeat(256) }],
  ['remoteId', { outcome: 'accepted', remoteId: 'r\0' }],
  ['remoteId', { outcome: 'accepted', remoteId: 'r\ud800' }],
  ['remoteId', circular],
  ['httpStatus', { outcome: 'throttled', httpStatus: 429n, detail: '' }],
  ['httpStatus', { outcome: 'throttled', httpStatus: 429.5, detail: '' }],
  ['retryAfterMs', { outcome: 'throttled', retryAfterMs: Number.NaN, detail: '' }],
  ['retryAfterMs', { outcome: 'unknown', retryAfterMs: Number.POSITIVE_INFINITY, detail: '' }],
  ['retryAfterMs', { outcome: 'throttled', retryAfterMs: -1, detail: '' }],
  ['code', { outcome: 'rejected', detail: 'no' }],
  ['detail', { outcome: 'insufficient_balance', detail: 7n }],
  ['requestId', { outcome: 'unauthorized', detail: '', requestId: {} }],
]

describe('an answer to a submission', () => {
  it('is unknown when it is not understood, and names the member alone', () => {
    for (const [field, answer] of nonsense) {
      reported.length = 0
      expect(readSubmitResult(answer, report)).toEqual({
        outcome: 'unknown',
        detail: expect.stringContaining('understood'),
      })
      expect(reported).toEqual([field])
    }
  })

  it('is unknown when a member throws', () => {
    const answer = {
      outcome: 'accepted',
      get remoteId(): string {
        throw new Error('not loaded')
      },
    }
    expect(readSubmitResult(answer, report).outcome).toBe('unknown')
    expect(readSubmitResult(Proxy.revocable({}, {}).proxy, report).outcome).toBe('unknown')
  })

  it('is passed on unchanged when it is understood, with unknown members of plain values', () => {
    const seen = { remoteId: 'r1', status: 'failed', failure } as const
    expect(
      readSubmitResult({ outcome: 'accepted', remoteId: 'r1', httpStatus: 201, observation: seen }, report),
    ).toEqual({
      outcome: 'accepted',
      remoteId: 'r1',
      httpStatus: 201,
      observation: seen,
    })
    const later = { outcome: 'throttled', detail: 'busy', retryAfterMs: 5, judged: true, raw: { deep: 5n }, count: 3n }
    expect(readSubmitResult(later, report)).toEqual({
      outcome: 'throttled',
      detail: 'busy',
      retryAfterMs: 5,
      judged: true,
    })
  })

  it('keeps an obstacle that this release knows, and drops any other', () => {
    const answer = { outcome: 'throttled', detail: 'not sent' }
    expect(readSubmitResult({ ...answer, obstacle: 'unreachable' }, report).obstacle).toBe('unreachable')
    for (const obstacle of ['gremlins', 7, null]) {
      expect(readSubmitResult({ ...answer, obstacle }, report)).toMatchObject({ ...answer, obstacle: undefined })
    }
  })

  it('stays an acceptance when only its status is not understood', () => {
    reported.length = 0
    const answer = {
      outcome: 'accepted',
      remoteId: 'r1',
      observation: { remoteId: 'r1', status: 'done', failure: null },
    }
    expect(readSubmitResult(answer, report)).toEqual({ outcome: 'accepted', remoteId: 'r1' })
    expect(reported).toEqual(['observation.status'])
  })
})

describe('an answer to a registration', () => {
  it('is unknown without an id that can be one', () => {
    expect(readRegisterResult({ outcome: 'accepted', addressId: 5n }, report).outcome).toBe('unknown')
    expect(readRegisterResult({ outcome: 'insufficient_balance', detail: '' }, report).outcome).toBe('unknown')
    expect(readRegisterResult({ outcome: 'accepted', addressId: 'a1' }, report)).toEqual({
      outcome: 'accepted',
      addressId: 'a1',
    })
  })
})

describe('a page of a list', () => {
  it('drops only invalid observations', () => {
    reported.length = 0
    const good = { remoteId: 'r1', status: 'complete', failure: null }
    const observations = [
      good,
      { ...good, status: 'gone' },
      null,
      { ...good, remoteId: '' },
      { ...good, remoteId: 'r2' },
    ]
    expect(readListPage({ observations, next: 'c' }, report)).toEqual({
      observations: [good, { ...good, remoteId: 'r2' }],
      next: 'c',
      unreadable: 3,
    })
    expect(reported).toEqual(['observations.status', 'observations.', 'observations.remoteId'])
    expect(readListPage({ observations: [good, null], unreadable: 2 }, report).unreadable).toBe(3)
  })

  it('is none without a list', () => {
    for (const page of [undefined, {}, { observations: 'r1' }, { observations: [], next: 5n }]) {
      expect(() => readListPage(page, report)).toThrow()
    }
  })
})

it('a transfer that is read is the one that was asked for, and an answer that is not understood does not count as missing', () => {
  const seen = { remoteId: 'r1', status: 'complete', failure: null }
  expect(readFound(seen, 'r1', report)).toEqual(seen)
  expect(readFound(undefined, 'r1', report)).toBeUndefined()
  expect(() => readFound(seen, 'r2', report)).toThrow(NotUnderstood)
  expect(() => readFound({ ...seen, status: 5n }, 'r1', report)).toThrow(NotUnderstood)
})

describe('a foreign gateway', () => {
  const runtime = (lines: unknown[]) => ({
    timer: { after: () => () => undefined },
    logger: { debug() {}, info() {}, warn() {}, error: (fields: unknown) => void lines.push(fields) },
  })
  const limits = { submitMs: 1, readMs: 1, lookupMs: 1, screenMs: 1 }
  const { signal } = new AbortController()
  const submission = {} as Parameters<Gateway['submit']>[0]

  it('is reported once for each kind of invalid answer, without its content', async () => {
    const lines: unknown[] = []
    const secret = { outcome: 'accepted', remoteId: 'secret\0' } as const
    const own: Gateway = { submit: async () => secret, get: async () => undefined }
    const gateway = foreignGateway(own, runtime(lines), limits)
    await gateway.submit(submission, { signal })
    await gateway.submit(submission, { signal })
    expect(lines).toEqual([{ call: 'submit', field: 'remoteId' }])
  })

  it('keeps its own members, those of its class, and those that are of a later release', async () => {
    class Own {
      #sent = 0
      readonly keyLifetimeMs = 5
      async submit() {
        this.#sent += 1
        return { outcome: 'accepted', remoteId: `r${this.#sent}` } as const
      }
      async get() {
        return undefined
      }
      async identify(accountId: string) {
        return `${accountId} ${this.#sent}`
      }
    }
    const gateway = foreignGateway(Object.freeze(new Own()), runtime([]), limits)
    expect(await gateway.submit(submission, { signal })).toMatchObject({ remoteId: 'r1' })
    expect(await (gateway as unknown as Own).identify('acme')).toBe('acme 1')
    expect((gateway as unknown as Own).keyLifetimeMs).toBe(5)
    expect([gateway.list, gateway.registerAddress]).toEqual([undefined, undefined])
  })

  it('sends nothing for an engine that has stopped', async () => {
    const gateway = foreignGateway(
      { submit: async () => Promise.reject(), get: async () => undefined },
      runtime([]),
      limits,
    )
    expect(await gateway.submit(submission, { signal: AbortSignal.abort() })).toMatchObject({ outcome: 'throttled' })
  })
})
