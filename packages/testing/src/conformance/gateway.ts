import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { waitUntil } from '../harness.ts'
import { claimsNoEffect, type GatewayBench, type GatewaySubject, openBench, type Through } from './gateway-bench.ts'
import { describeFaults } from './gateway-faults.ts'
import { describeClosedKeys } from './gateway-keys.ts'
import { describeReading } from './gateway-reading.ts'

/**
 * The suite that every gateway passes: vitest tests of what the engine relies on, with faults between the gateway and its
 * provider. Call it at the top level of a test file. `open` starts the provider, or a test server that answers as it does, and
 * makes a gateway that reaches it `through` a proxy.
 *
 * @example
 * describeGateway('northbank', async (through) => {
 *   const provider = await startProvider()
 *   return {
 *     gateway: northbankGateway({ baseUrl: await through(provider.url), apiKey: 'secret' }),
 *     accountId: 'acme',
 *     request: () => achPayout('10.25'),
 *     countPayments: () => provider.payments.length,
 *     secrets: ['secret'],
 *     close: () => provider.stop(),
 *   }
 * })
 */
export function describeGateway(name: string, open: (through: Through) => Promise<GatewaySubject>): void {
  describe(`the gateway ${name}`, async () => {
    const bench = await openBench(open)
    describeEffects(bench)
    describeClosedKeys(bench)
    describeInterruptions(bench)
    describeFaults(bench)
    describeReading(bench)
    describeRegistration(bench)
    it('closes', async () => {
      await bench.subject.gateway.close?.()
      await bench.subject.close?.()
      await bench.proxy.stop()
    })
  })
}

/** Without faults: one payment for one key. */
function describeEffects(bench: GatewayBench): void {
  const { subject } = bench

  it('pays once for one key, and answers again with the same id', async () => {
    const before = await bench.payments()
    const submission = bench.submission()
    const first = await bench.submit(submission)
    expect(first).toMatchObject({ outcome: 'accepted', remoteId: expect.stringMatching(/./) })
    expect(await bench.submit({ ...submission, attempt: 2 })).toMatchObject({
      outcome: 'accepted',
      remoteId: first.outcome === 'accepted' ? first.remoteId : undefined,
    })
    expect(await bench.payments()).toBe(before + 1)
    const other = await bench.insist(bench.submission())
    expect(first).not.toMatchObject({ remoteId: other })
    expect(await bench.payments()).toBe(before + 2)
  })

  it('pays once for one key that arrives ten times at the same moment', async () => {
    const before = await bench.payments()
    const submission = bench.submission()
    const results = await Promise.all(Array.from({ length: 10 }, () => bench.submit(submission)))
    const id = await bench.insist(submission)
    for (const result of results) {
      if (result.outcome === 'accepted') expect(result.remoteId).toBe(id)
      else expect(['unknown', 'throttled'], 'the outcome of a key that is under way').toContain(result.outcome)
    }
    expect(await bench.payments()).toBe(before + 1)
  })

  it('does not pay another request with a key that was used, and says so', async () => {
    const submission = bench.submission()
    await bench.insist(submission)
    const before = await bench.payments()
    const { request } = submission
    const other = { ...request, amount: { ...request.amount, value: `${Number(request.amount.value) + 1}` } }
    expect(await bench.submit({ ...submission, request: other })).toMatchObject({ outcome: 'key_mismatch' })
    expect(await bench.payments()).toBe(before)
  })

  it.runIf(subject.refused !== undefined)('reports a refusal for good with its code, and pays nothing', async () => {
    const before = await bench.payments()
    const result = await bench.submit(bench.submission(subject.refused?.()))
    expect(result).toMatchObject({ outcome: 'rejected', code: expect.stringMatching(/./), detail: expect.any(String) })
    expect(await bench.payments()).toBe(before)
  })

  it.runIf(subject.unfunded !== undefined)('reports a want of money, after which the same key can pay', async () => {
    const before = await bench.payments()
    const submission = bench.submission(subject.unfunded?.())
    expect(await bench.submit(submission)).toMatchObject({ outcome: 'insufficient_balance' })
    expect(await bench.payments()).toBe(before)
    if (subject.fund === undefined) return
    await subject.fund()
    await bench.insist(submission)
    expect(await bench.payments()).toBe(before + 1)
  })
}

/** A submission that may not leave, or is given up. */
function describeInterruptions(bench: GatewayBench): void {
  const { proxy } = bench

  it('sends nothing when it may not begin, and asks right before the request leaves', async () => {
    const before = await bench.payments()
    const watched = proxy.faults.add({ ...bench.submits, fault: { kind: 'delay_request', ms: 0 } })
    onTestFinished(() => watched.remove())
    expect(await bench.submit(bench.submission(), { mayBegin: () => false })).toMatchObject({ outcome: 'throttled' })
    expect(watched.matched, 'requests although mayBegin() returned false').toBe(0)
    let asked = 0
    const result = await bench.submit(bench.submission(), {
      mayBegin: () => {
        asked += 1
        expect(watched.matched, 'requests before mayBegin() was asked').toBe(0)
        return true
      },
    })
    expect([asked > 0, result.outcome]).toEqual([true, 'accepted'])
    expect(await bench.payments()).toBe(before + 1)
  })

  it('gives up when its signal aborts although no answer has come, and says that the outcome is unknown', async () => {
    const before = await bench.payments()
    const hold = proxy.faults.hold({ ...bench.submits, at: 'response' })
    onTestFinished(() => hold.release())
    const abort = new AbortController()
    const submission = bench.submission()
    const sent = bench.submit(submission, { signal: abort.signal })
    await hold.waitFor(1)
    abort.abort()
    expect(await sent).toMatchObject({ outcome: 'unknown' })
    hold.release()
    await bench.insist(submission)
    expect(await bench.payments()).toBe(before + 1)
  })

  it('pays once when a request that was given up arrives later than the next one', async () => {
    const before = await bench.payments()
    const hold = proxy.faults.hold({ ...bench.submits, deliverLate: true })
    onTestFinished(() => hold.release())
    const abort = new AbortController()
    const submission = bench.submission()
    const sent = bench.submit(submission, { signal: abort.signal })
    await hold.waitFor(1)
    abort.abort()
    expect(claimsNoEffect(await sent), 'a claim that nothing was paid').toBe(false)
    hold.release()
    await bench.insist(submission)
    await waitUntil(async () => (await bench.payments()) > before, { describe: () => 'the payment' })
    await bench.insist(submission)
    expect(await bench.payments()).toBe(before + 1)
  })
}

/** Counterparties, where the gateway registers them. */
function describeRegistration(bench: GatewayBench): void {
  const { subject, proxy } = bench
  const { countCounterparties } = subject
  const match = subject.registers ?? { method: 'POST' }
  const isRegistering = subject.gateway.registerAddress !== undefined && subject.counterparty !== undefined

  it.runIf(isRegistering)('registers a counterparty once for one key, also when the answer is lost', async () => {
    const before = await countCounterparties?.()
    const key = randomUUID()
    const rule = proxy.faults.add({ ...match, times: 1, fault: { kind: 'drop_response' } })
    onTestFinished(() => rule.remove())
    expect(claimsNoEffect(await bench.register(key)), 'a claim that nothing was registered').toBe(false)
    const second = await bench.register(key)
    expect(second).toMatchObject({ outcome: 'accepted', addressId: expect.stringMatching(/./) })
    expect(await bench.register(key)).toMatchObject(
      second.outcome === 'accepted' ? { addressId: second.addressId } : {},
    )
    if (before !== undefined) expect(await countCounterparties?.()).toBe(before + 1)
  })
}
