import { expect, it, onTestFinished } from 'vitest'
import type { FinalFault, Page } from '../faults.ts'
import { seededRandom } from '../random.ts'
import { claimsNoEffect, type GatewayBench } from './gateway-bench.ts'

const page: Page = { contentType: 'text/html', body: '<html><body>This page is of a proxy.</body></html>' }

/** The provider never sees the request. */
const before: readonly (readonly [string, FinalFault])[] = [
  ['the connection breaks', { kind: 'drop_request' }],
  ['429', { kind: 'refuse', status: 429 }],
  ['503', { kind: 'refuse', status: 503 }],
  ['503 with a page of a proxy', { kind: 'refuse', status: 503, page }],
]

/** The provider has paid, and its answer is lost. */
const behind: readonly (readonly [string, FinalFault])[] = [
  ['the connection breaks', { kind: 'drop_response' }],
  ['the body breaks off at once', { kind: 'reset_body', bytes: 0 }],
  ['half of the body', { kind: 'reset_body' }],
  ...[500, 502, 503, 504].map((status) => [`${status}`, { kind: 'fail_after', status }] as const),
  ...[200, 400, 403, 404, 409, 422, 500, 502].map(
    (status) => [`${status} with a page of a proxy`, { kind: 'fail_after', status, page }] as const,
  ),
]

/** Faults between the gateway and its provider: whatever happens, nothing is paid twice, and no answer claims too much. */
export function describeFaults(bench: GatewayBench): void {
  const { proxy, submits } = bench
  const inject = (fault: FinalFault) => {
    const rule = proxy.faults.add({ ...submits, times: 1, fault })
    onTestFinished(() => rule.remove())
    return rule
  }

  it.each(before)('can send again what never arrived: %s', async (_, fault) => {
    const paid = await bench.payments()
    const submission = bench.submission()
    const rule = inject(fault)
    const result = await bench.submit(submission)
    expect(rule.applied, 'faults that a request of the gateway met').toBe(1)
    expect(['unknown', 'throttled'], JSON.stringify(result)).toContain(result.outcome)
    expect(await bench.payments()).toBe(paid)
    await bench.insist(submission)
    expect(await bench.payments()).toBe(paid + 1)
  })

  it.each(behind)('does not claim that nothing was paid when the answer is lost: %s', async (_, fault) => {
    const paid = await bench.payments()
    const submission = bench.submission()
    const rule = inject(fault)
    const result = await bench.submit(submission)
    expect(rule.applied, 'faults that a request of the gateway met').toBe(1)
    expect(claimsNoEffect(result), `a claim that nothing was paid: ${JSON.stringify(result)}`).toBe(false)
    const id = await bench.insist(submission)
    if (result.outcome === 'accepted') expect(result.remoteId).toBe(id)
    expect(await bench.payments()).toBe(paid + 1)
  })

  it('passes on how long the provider wants it to wait', async () => {
    inject({ kind: 'refuse', status: 429, retryAfterSeconds: 7 })
    const result = await bench.submit(bench.submission())
    expect(result).toMatchObject({ outcome: expect.stringMatching(/^(throttled|unknown)$/) })
    expect('retryAfterMs' in result ? result.retryAfterMs : undefined, 'milliseconds').toSatisfy(
      (ms: unknown) => typeof ms === 'number' && ms > 5_000 && ms <= 8_000,
    )
  })

  it('survives a storm of faults: each payout is paid once, and no answer lies', async () => {
    const random = seededRandom(7)
    const faults = [...before, ...behind].map(([, fault]) => fault)
    for (let payout = 0; payout < 25; payout += 1) {
      const paid = await bench.payments()
      const submission = bench.submission()
      for (let attempt = 1; random.fraction() < 0.7; attempt += 1) {
        const rule = inject(faults[Math.floor(random.fraction() * faults.length)] ?? { kind: 'drop_request' })
        const result = await bench.submit({ ...submission, attempt })
        rule.remove()
        if (attempt === 1 && claimsNoEffect(result)) expect(await bench.payments()).toBe(paid)
      }
      await bench.insist(submission)
      expect(await bench.payments()).toBe(paid + 1)
    }
  })
}
