import { describe, expect, it } from 'vitest'
import { OutlayError } from '../error.ts'
import type { Gateway, Observation } from '../ports/gateway.ts'
import type { PolledTransfer } from '../ports/work.ts'
import { foreignGateway } from './foreign-gateway.ts'
import { decideChange, pollTransfers, readPage } from './polling.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const signal = new AbortController().signal
const seen = (index: number): Observation => ({ remoteId: `r${index}`, status: 'processing', failure: null })
const polled = (index: number): PolledTransfer => ({
  transferId: `t${index}`,
  accountId: 'acme',
  gateway: 'default',
  remoteId: `r${index}`,
  status: 'pending',
  transferType: 'base',
  polls: 0,
})
const at = (minute: number) => `2026-01-05T08:0${minute}:00.000Z`
const range = (length: number) => Array.from({ length }, (_, index) => index)

/** A gateway with a number of transfers, newest first; the last page points to itself. */
function listing(total: number): Gateway {
  return {
    submit: () => Promise.reject(new Error('not here')),
    async get(_accountId, remoteId) {
      const index = Number(remoteId.slice(1))
      if (index >= total) throw new Error('not now')
      return seen(index)
    },
    async list(_accountId, { cursor = '0', limit }) {
      const from = Number(cursor)
      const next = String(Math.min(from + limit, Math.floor((total - 1) / limit) * limit))
      return {
        observations: range(total)
          .slice(from, from + limit)
          .map(seen),
        next,
      }
    },
  }
}

describe('a poll of submitted transfers', () => {
  it('reads each', async () => {
    const { observations } = await pollTransfers(listing(9), silent, 'acme', range(9).map(polled), signal)
    expect(observations.map(({ remoteId }) => remoteId).toSorted()).toEqual(range(9).map((index) => `r${index}`))
  })

  it('leaves out what cannot be read now, and says so in the log', async () => {
    const lines: unknown[] = []
    const logger = { ...silent, debug: (...line: unknown[]) => void lines.push(line) }
    const readings = await pollTransfers(listing(3), logger, 'acme', [polled(1), polled(99)], signal)
    expect(readings).toMatchObject({ observations: [seen(1)], missing: [] })
    expect(lines).toEqual([[{ transferId: 't99', error: 'not now' }, expect.any(String)]])
  })

  it.each([
    ['misconfigured', new OutlayError('service_unavailable', 'TLS failed', { obstacle: 'misconfigured' })],
    ['unreachable', new OutlayError('service_unavailable', 'no answer')],
    ['poll_failed', new OutlayError('service_unavailable', 'HTTP 503', { status: 503 })],
    ['poll_failed', new OutlayError('unauthenticated', 'HTTP 401', { status: 401 })],
    ['poll_failed', new SyntaxError('no JSON')],
    ['poll_failed', undefined],
    ['unreachable', new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } })],
    [null, new OutlayError('rate_limited', 'HTTP 429', { status: 429 })],
  ] as const)('says of each that could not be read why not: %s', async (trouble, fail) => {
    const get: Gateway['get'] = async (_, id) => (id === 'r1' ? seen(1) : Promise.reject(fail))
    const transfers = [polled(1), polled(2)]
    expect(await pollTransfers({ ...listing(3), get }, silent, 'acme', transfers, signal)).toEqual({
      observations: [seen(1)],
      missing: [],
      troubles: new Map([['t2', trouble]]),
    })
  })

  it('says nothing of those that it did not ask for, or whose answer a stop cut off', async () => {
    const stop = new AbortController()
    const get: Gateway['get'] = () => {
      stop.abort()
      return Promise.reject(new OutlayError('aborted', 'stopped'))
    }
    const transfers = range(20).map((index) => polled(index))
    expect(await pollTransfers({ ...listing(3), get }, silent, 'acme', transfers, stop.signal)).toEqual({
      observations: [],
      missing: [],
    })
  })

  it('names what the other side does not have', async () => {
    const gateway: Gateway = { ...listing(3), get: async (_, id) => (id === 'r1' ? undefined : seen(2)) }
    const readings = await pollTransfers(gateway, silent, 'acme', [polled(1), polled(2)], signal)
    expect(readings).toEqual({ observations: [seen(2)], missing: ['t1'] })
  })

  it('names the transfer that it reads, through the guards too', async () => {
    const named: unknown[] = []
    const own: Gateway = {
      ...listing(3),
      async get(_, remoteId, { transferId }) {
        named.push([remoteId, transferId])
        return seen(Number(remoteId.slice(1)))
      },
    }
    const timer = { after: () => () => undefined }
    const limits = { submitMs: 1_000, readMs: 1_000, lookupMs: 1_000, screenMs: 1_000 }
    const gateway = foreignGateway(own, { timer, logger: silent } as never, limits as never)
    await pollTransfers(gateway, silent, 'acme', [polled(1), polled(2)], signal)
    expect(named.sort()).toEqual([
      ['r1', 't1'],
      ['r2', 't2'],
    ])
  })

  it('has at most eight reads under way', async () => {
    let open = 0
    let most = 0
    const gateway: Gateway = {
      ...listing(20),
      async get(_, remoteId) {
        open += 1
        most = Math.max(most, open)
        await new Promise((resolve) => setImmediate(resolve))
        open -= 1
        return seen(Number(remoteId.slice(1)))
      },
    }
    const { observations } = await pollTransfers(gateway, silent, 'acme', range(20).map(polled), signal)
    expect([observations.length, most]).toEqual([20, 8])
  })

  it('begins no other read once the worker ends, and passes the signal on', async () => {
    const ending = new AbortController()
    const read: string[] = []
    const gateway: Gateway = {
      ...listing(20),
      async get(_, remoteId, options) {
        expect(options.signal).toBe(ending.signal)
        read.push(remoteId)
        ending.abort()
        return undefined
      },
    }
    await pollTransfers(gateway, silent, 'acme', range(20).map(polled), ending.signal)
    expect(read).toEqual(['r19'])
  })

  it('reads a list by pages of a hundred, and ends where a page points to itself', async () => {
    const first = await readPage(listing(150), 'acme', null, signal)
    expect([first?.observations.length, first?.next]).toEqual([100, '100'])
    const last = await readPage(listing(150), 'acme', first?.next ?? null, signal)
    expect([last?.observations.length, last?.next]).toEqual([50, undefined])
  })

  it('has no pages where the other side has no lists', async () => {
    const { submit, get } = listing(1)
    expect(await readPage({ submit, get }, 'acme', null, signal)).toBeUndefined()
    const lost = { ...listing(1), list: () => Promise.reject(new OutlayError('not_found', 'No such account.')) }
    expect(await readPage(lost, 'acme', null, signal)).toEqual({ observations: [] })
    const away = { ...listing(1), list: () => Promise.reject(new OutlayError('service_unavailable', 'Later.')) }
    await expect(readPage(away, 'acme', null, signal)).rejects.toMatchObject({ code: 'service_unavailable' })
  })
})

describe('an observation', () => {
  const current = { stage: 'submitted', status: 'processing', failure: null } as const
  it('settles a transfer whose status is final, with one event', () => {
    expect(decideChange(current, { remoteId: 'r', status: 'complete', failure: null })).toEqual({
      stage: 'settled',
      status: 'complete',
      failure: null,
      reachedAt: null,
      events: [{ type: 'transfer.completed' }],
    })
  })

  it('distinguishes an overcome failure from a new one by when each was reached', () => {
    const failedAt = (occurredAt: string): Observation => ({
      remoteId: 'r',
      status: 'failed',
      failure: { type: 'rejected', code: 'busy', detail: 'busy', occurredAt, retriable: true },
    })
    const resumed = decideChange(current, { remoteId: 'r', status: 'processing', failure: null, reachedAt: at(1) })
    expect(resumed).toBeUndefined()
    const overcome = { ...current, reachedAt: at(2) }
    expect(decideChange(overcome, failedAt(at(1)))).toBeUndefined()
    expect(decideChange({ ...current, reachedAt: null }, failedAt(at(1)))).toMatchObject({ status: 'failed' })
    expect(decideChange(overcome, failedAt(at(3)))).toMatchObject({ status: 'failed', stage: 'submitted' })
  })

  it('records a later time of the same status without an event', () => {
    const processing = { remoteId: 'r', status: 'processing', failure: null, reachedAt: at(2) } as const
    expect(decideChange({ ...current, reachedAt: at(1) }, processing)).toEqual({
      stage: 'submitted',
      status: 'processing',
      failure: null,
      reachedAt: at(2),
      events: [],
    })
  })

  it('keeps when its status was reached, in one spelling, and nothing that is no moment', () => {
    const seenAt = (reachedAt: string) =>
      decideChange(current, { remoteId: 'r', status: 'complete', failure: null, reachedAt })?.reachedAt
    expect(seenAt('2026-01-05T10:00:00+02:00')).toBe('2026-01-05T08:00:00.000Z')
    expect(seenAt('yesterday')).toBeNull()
    expect(seenAt('+020000-01-01T00:00:00Z')).toBeNull()
  })

  it('changes nothing when it is old or the same', () => {
    expect(decideChange(current, { remoteId: 'r', status: 'pending', failure: null })).toBeUndefined()
    expect(decideChange(current, { remoteId: 'r', status: 'processing', failure: null })).toBeUndefined()
    const complete = { stage: 'settled', status: 'complete', failure: null } as const
    expect(decideChange(complete, { remoteId: 'r', status: 'canceled', failure: null })).toBeUndefined()
  })
})
