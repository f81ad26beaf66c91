import { randomUUID } from 'node:crypto'
import { Amount } from '@outlay/core'
import { expect, it, onTestFinished } from 'vitest'
import type { FinalFault } from '../faults.ts'
import type { GatewayBench } from './gateway-bench.ts'

const page = { contentType: 'text/html', body: '<html><body>This page is of a proxy.</body></html>' }

/** Answers that say nothing about a payment. */
const troubles: readonly (readonly [string, FinalFault])[] = [
  ['the connection breaks', { kind: 'drop_response' }],
  ['500', { kind: 'fail_after', status: 500 }],
  ['429', { kind: 'refuse', status: 429 }],
  ['404 with a page of a proxy', { kind: 'fail_after', status: 404, page }],
  ['200 with a page of a proxy', { kind: 'fail_after', status: 200, page }],
]

const patienceMs = 10_000
const mostPages = 100

/** What the gateway reads: single payments, and lists where it has them. */
export function describeReading(bench: GatewayBench): void {
  const { subject, proxy } = bench
  const { gateway, accountId } = subject
  const signal = () => AbortSignal.timeout(patienceMs)
  const get = (remoteId: string) => gateway.get(accountId, remoteId, { signal: signal() })
  const inject = (fault: FinalFault) => {
    const rule = proxy.faults.add({ method: 'GET', times: 1, fault })
    onTestFinished(() => rule.remove())
    return rule
  }

  it('reads a payment by its id, and knows nothing of an id that the provider never gave', async () => {
    const id = await bench.insist(bench.submission())
    expect(await get(id)).toMatchObject({ remoteId: id, status: expect.stringMatching(/./) })
    expect(await get(randomUUID())).toBeUndefined()
  })

  it.each(troubles)('throws when a payment cannot be read, and does not take it for unknown: %s', async (_, fault) => {
    const id = await bench.insist(bench.submission())
    const rule = inject(fault)
    await expect(get(id)).rejects.toThrow()
    expect(rule.applied, 'faults that a request of the gateway met').toBe(1)
    expect(await get(id)).toMatchObject({ remoteId: id })
  })

  it.runIf(subject.complete !== undefined)('reads that a payment is complete', async () => {
    const id = await bench.insist(bench.submission())
    await subject.complete?.(id)
    expect(await get(id)).toMatchObject({ remoteId: id, status: 'complete', failure: null })
  })

  describePaidAmount(bench)
  it.runIf(subject.fail !== undefined)('reads why a payment failed', async () => {
    const id = await bench.insist(bench.submission())
    await subject.fail?.(id)
    expect(await get(id)).toMatchObject({
      status: 'failed',
      failure: { code: expect.stringMatching(/./), retriable: expect.any(Boolean) },
    })
  })

  describeReturn(bench)
  const { list } = gateway
  if (list === undefined) return
  const readPage = (cursor: string | undefined, limit: number) =>
    list.call(gateway, accountId, { cursor, limit, signal: signal() })

  it('lists the newest payments first, each once, to the end', async () => {
    const made: string[] = []
    for (let count = 0; count < 5; count += 1) made.push(await bench.insist(bench.submission()))
    const seen: string[] = []
    let cursor: string | undefined
    for (let pages = 0; pages < mostPages; pages += 1) {
      const { observations, next } = await readPage(cursor, 2)
      seen.push(...observations.map(({ remoteId }) => remoteId))
      cursor = next
      if (next === undefined || made.every((id) => seen.includes(id))) break
    }
    expect(new Set(seen).size, 'different ids').toBe(seen.length)
    expect(seen.filter((id) => made.includes(id))).toEqual(made.toReversed())
  })

  it.each(troubles)(
    'throws when a list cannot be read, since what is missing counts as not sent: %s',
    async (_, fault) => {
      inject(fault)
      await expect(readPage(undefined, 10)).rejects.toThrow()
    },
  )
}

/** How much it says was paid. */
function describePaidAmount(bench: GatewayBench): void {
  const { subject } = bench
  it.runIf(subject.complete !== undefined)('says of a complete payment the amount that was paid, or none', async () => {
    const submission = bench.submission()
    const id = await bench.insist(submission)
    await subject.complete?.(id)
    const paid = (await subject.gateway.get(subject.accountId, id, { signal: AbortSignal.timeout(patienceMs) }))
      ?.transfer?.amount
    const { amount } = submission.request
    // Nothing but the whole was paid here. The engine does not compare another currency.
    if (paid?.currency === amount.currency)
      expect(Amount.equals(paid, amount), `${paid.value} for ${amount.value}`).toBe(true)
  })
}

/** What came back later: the payment was made, and stays complete. */
function describeReturn({ subject, ...bench }: GatewayBench): void {
  const isTested = subject.complete !== undefined && subject.giveBack !== undefined
  it.runIf(isTested)('reads what came back of a complete payment, which stays complete', async () => {
    const { gateway, accountId } = subject
    const submission = bench.submission()
    const id = await bench.insist(submission)
    await subject.complete?.(id)
    await subject.giveBack?.(id)
    const read = () => gateway.get(accountId, id, { signal: AbortSignal.timeout(patienceMs) })
    const observation = await read()
    expect(observation).toMatchObject({ status: 'complete', failure: null, returns: [{}] })
    const { amount } = submission.request
    const [returned] = observation?.returns ?? []
    expect(returned).toMatchObject({ code: expect.stringMatching(/./) })
    if (returned?.amount?.currency === amount.currency)
      expect(Amount.equals(returned.amount, amount), `${returned.amount.value} of ${amount.value}`).toBe(true)
    // Its content identifies it: what differs from one report to the next would be one more return.
    expect((await read())?.returns).toEqual(observation?.returns)
    expect(gateway.reportsReturns, 'reportsReturns, without which a return is found by webhook alone').toBe(true)
  })
}
