import { randomUUID } from 'node:crypto'
import type { SubmitResult } from '@outlay/core'
import { expect, it } from 'vitest'
import type { GatewayBench } from './gateway-bench.ts'

/** What the checks of closed keys use. */
type Bench = Pick<GatewayBench, 'subject' | 'submission' | 'submit' | 'insist' | 'payments'>

/** Keys that a refusal has closed: another gateway takes a transfer over only by that. */
export function describeClosedKeys(bench: GatewayBench): void {
  const { refused, permit, unfunded } = bench.subject
  it.runIf(refused !== undefined || unfunded !== undefined)(
    'says that a key is closed only of a refusal for good, and only where the provider has checked the key',
    () => checkClaims(bench),
  )
  it.runIf(refused !== undefined && permit !== undefined)(
    'refuses for ever under a key that it says is closed, and pays once under the key of a fail-over',
    () => checkClosedKey(bench),
  )
}

/** Fails for a result that says more of its key than it may. */
function checkClaim(result: SubmitResult): void {
  if (result.keyClosed !== true) return
  const said = JSON.stringify(result)
  expect(result.outcome, `keyClosed is of refusals for good: ${said}`).toBe('rejected')
  expect(result.keyEvaluated, `keyClosed without keyEvaluated: ${said}`).toBe(true)
  expect(result.mayHaveActed ?? false, `keyClosed of an answer that may be of somebody else: ${said}`).toBe(false)
}

/** What is paid, lacks money or is refused, the first time and again. */
export async function checkClaims(bench: Bench): Promise<void> {
  const { subject } = bench
  const requests = [subject.request, subject.unfunded, subject.refused]
  for (const request of requests) {
    if (request === undefined) continue
    const submission = bench.submission(request.call(subject))
    for (const attempt of [1, 2]) checkClaim(await bench.submit({ ...submission, attempt }))
  }
}

/** A key that is closed stays so when the provider would accept the request by now; that says nothing about other keys. */
export async function checkClosedKey(bench: Bench): Promise<void> {
  const { subject, submission: make } = bench
  const submission = make(subject.refused?.())
  const first = await bench.submit(submission)
  expect(first, 'the answer to the request of refused()').toMatchObject({ outcome: 'rejected' })
  const before = await bench.payments()
  await subject.permit?.()
  const stays = async (attempt: number) => {
    // As after a restore, which has lost the refusal, and as a request that was sent before it and arrives late.
    const again = await bench.submit({ ...submission, attempt })
    expect(again, 'the answer under a closed key').toMatchObject({ outcome: 'rejected', keyEvaluated: true })
  }
  if (first.keyClosed === true) {
    await stays(2)
    expect(await bench.payments(), 'payments under a closed key').toBe(before)
  }
  // A successor has a key of its own, and waits for the answer to it.
  const successor = { ...submission, transferId: randomUUID(), idempotencyKey: randomUUID() }
  const paid = await bench.payments()
  await bench.insist(successor)
  await bench.insist({ ...successor, attempt: 2 })
  expect(await bench.payments(), 'payments under the key of a fail-over').toBe(paid + 1)
  if (first.keyClosed === true) {
    await stays(3)
    expect(await bench.payments(), 'payments under both keys').toBe(paid + 1)
  }
}
