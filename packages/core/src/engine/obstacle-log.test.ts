import { describe, expect, it } from 'vitest'
import { OutlayError, type OutlayErrorOptions } from '../error.ts'
import type { Gateway, SubmitResult } from '../ports/gateway.ts'
import { createObstacleLog, watchGateway } from './obstacle-log.ts'

const signal = new AbortController().signal

/** A gateway with a script, watched, and what its log warned of. */
function scene() {
  const warned: string[] = []
  let nowMs = 0
  let answer: SubmitResult = { outcome: 'accepted', remoteId: 'r' }
  let read: () => undefined = () => undefined
  const logger = {
    ...{ debug() {}, info() {}, error() {} },
    warn: ({ accountId, reason, lastedMs }: Readonly<Record<string, unknown>>, message: string) => {
      const end = message.includes('get through again')
      warned.push([accountId ?? 'others', reason ?? '', end ? 'ends' : 'begins', lastedMs ?? ''].join(' ').trim())
    },
  }
  const gateway: Gateway = { submit: async () => answer, get: async () => read() }
  const watched = watchGateway(gateway, createObstacleLog({ clock: { now: () => new Date(nowMs) }, logger }))
  return {
    ...{ warned, watched },
    pass: (ms: number) => {
      nowMs += ms
    },
    async send(result: SubmitResult, accountId = 'acme') {
      answer = result
      const submission = { transferId: 't', accountId, idempotencyKey: 'k', request: {} as never, attempt: 1 }
      expect(await watched.submit(submission, { signal })).toBe(result)
    },
    async poll(make: () => undefined) {
      read = make
      await watched.get('acme', 'r', { signal }).catch(() => undefined)
    },
  }
}

const refused = { outcome: 'throttled', obstacle: 'unreachable', detail: 'not sent: ECONNREFUSED' } as const
const wrong = { outcome: 'unknown', obstacle: 'misconfigured', detail: 'HTTP 404', httpStatus: 404 } as const
const accepted = { outcome: 'accepted', remoteId: 'r' } as const

describe('the log of obstacles', () => {
  it('warns once when it begins and once when it ends, with how long it lasted', async () => {
    const { send, pass, warned } = scene()
    for (let attempt = 0; attempt < 5; attempt += 1) await send(refused)
    pass(60_000)
    for (let attempt = 0; attempt < 3; attempt += 1) await send(accepted)
    expect(warned).toEqual(['acme unreachable begins', 'acme unreachable ends 60000'])
  })

  it('warns again when the obstacle becomes another one', async () => {
    const { send, warned } = scene()
    await send(refused)
    await send(wrong)
    await send({ outcome: 'unauthorized', detail: 'invalid_client' })
    expect(warned).toEqual(['acme unreachable begins', 'acme misconfigured begins', 'acme unauthenticated begins'])
  })

  it.each([
    { outcome: 'throttled', detail: 'not sent: the engine stops' },
    { outcome: 'unknown', detail: 'reset' },
    { outcome: 'unauthorized', detail: 'this one alone', httpStatus: 403 },
  ] as const)('neither begins nor ends with %o', async (result) => {
    const { send, warned } = scene()
    await send(result)
    await send(refused)
    if (result.outcome !== 'unauthorized') await send(result)
    expect(warned).toEqual(['acme unreachable begins'])
  })

  it.each([
    { outcome: 'throttled', detail: 'slower', httpStatus: 429 },
    { outcome: 'unknown', detail: 'broken', httpStatus: 500 },
    { outcome: 'rejected', code: 'no', detail: '' },
  ] as const)('ends with any answer of the service: %o', async (result) => {
    const { send, warned } = scene()
    await send(refused)
    await send(result)
    expect(warned).toHaveLength(2)
  })

  it('is notified of reads, too, which end what sending began unless the path is wrong', async () => {
    const { send, poll, warned } = scene()
    const fail = () => {
      throw new OutlayError('service_unavailable', 'connection failed')
    }
    const broken = () => {
      throw new OutlayError('service_unavailable', 'HTTP 500', { status: 500 })
    }
    await poll(broken)
    await poll(fail)
    await poll(fail)
    await poll(() => undefined)
    await send(wrong)
    await poll(() => undefined)
    expect(warned).toEqual(['acme unreachable begins', 'acme unreachable ends 0', 'acme misconfigured begins'])
  })

  it('keeps the reason that sending found while reads fail as well', async () => {
    const { send, poll, warned } = scene()
    const fail = () => {
      throw new OutlayError('service_unavailable', 'TLS failed')
    }
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await send(wrong)
      await poll(fail)
    }
    await send(accepted)
    await poll(fail)
    expect(warned).toEqual(['acme misconfigured begins', 'acme misconfigured ends 0', 'acme unreachable begins'])
  })

  it('names what a read says of itself, and does not take a page about one transfer for the path', async () => {
    const { poll, warned, watched } = scene()
    const fail = (options: OutlayErrorOptions) => () => {
      throw new OutlayError('service_unavailable', 'failed', options)
    }
    await poll(fail({ obstacle: 'misconfigured', status: 404 }))
    expect(warned).toEqual([])
    await poll(fail({ obstacle: 'misconfigured' }))
    await poll(fail({ obstacle: 'misconfigured' }))
    await poll(() => undefined)
    await poll(fail({ obstacle: 'credentials_unavailable' }))
    expect(warned).toEqual([
      'acme misconfigured begins',
      'acme misconfigured ends 0',
      'acme credentials_unavailable begins',
    ])
    expect(watched.list).toBeUndefined()
  })

  it('warns of a gateway that never says more than that no answer came, and not of one answer that is lost', async () => {
    const { send, poll, warned } = scene()
    const lost = { outcome: 'unknown', detail: 'fetch failed' } as const
    await send(lost)
    await send(lost)
    await send(accepted)
    await send(lost)
    await send(lost)
    expect(warned).toEqual([])
    await send(lost)
    await send(lost)
    await poll(() => undefined)
    await send(accepted)
    expect(warned).toEqual(['acme unanswered begins', 'acme unanswered ends 0'])
  })

  it('names ten accounts, says once that there are more, and once that all get through again', async () => {
    const { send, warned } = scene()
    const ids = Array.from({ length: 25 }, (_, index) => `a${index}`)
    for (const id of ids) await send(refused, id)
    expect(warned).toHaveLength(11)
    expect(warned.at(-1)).toBe('others unreachable begins')
    for (const id of ids) await send(accepted, id)
    expect(warned).toHaveLength(22)
    expect(warned.at(-1)).toBe('others  ends')
  })

  it('forgets accounts that are not asked about any more', async () => {
    const { send, pass, warned } = scene()
    for (let index = 0; index < 10; index += 1) await send(refused, `a${index}`)
    pass(3_600_000)
    await send(refused, 'late')
    expect(warned.at(-1)).toBe('late unreachable begins')
  })

  it('leaves the members alone that the gateway does not have', () => {
    const { watched } = scene()
    expect([watched.identify, watched.list, watched.registerAddress]).toEqual([undefined, undefined, undefined])
  })

  it('is notified of credentials that cannot be read, and not of a call that its caller ended', async () => {
    const warned: unknown[] = []
    const logger = { debug() {}, info() {}, error() {}, warn: (fields: unknown) => void warned.push(fields) }
    const failing = async () => Promise.reject(new TypeError('secret'))
    const gateway = { submit: failing, get: failing, identify: failing } as unknown as Gateway
    const watched = watchGateway(gateway, createObstacleLog({ clock: { now: () => new Date(0) }, logger }))
    await expect(watched.identify?.('other', { signal: AbortSignal.abort() })).rejects.toThrow(TypeError)
    await expect(watched.identify?.('acme', { signal })).rejects.toThrow(TypeError)
    expect(warned).toEqual([{ accountId: 'acme', reason: 'credentials_unavailable', detail: 'TypeError' }])
  })
})
