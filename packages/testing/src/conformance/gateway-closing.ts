import type { Submission, SubmitResult } from '@outlay/core'
import { expect } from 'vitest'
import type { GatewayBench } from './gateway-bench.ts'

/**
 * Sends a refused submission again and counts the payments, since another gateway pays where the refusal says `nothingMoved`. Does nothing for
 * a refusal that does not say so.
 */
export async function expectClosed(
  bench: Pick<GatewayBench, 'submit' | 'payments'>,
  submission: Submission,
  refusal: SubmitResult,
  paidBefore: number,
): Promise<void> {
  if (refusal.outcome !== 'rejected' || refusal.nothingMoved !== true) return
  expect(refusal.mayHaveActed, 'a refusal that says nothingMoved, and that something may have').not.toBe(true)
  const says = 'after a refusal that says nothingMoved; another gateway would have paid as well'
  expect(await bench.payments(), `payments ${says}`).toBe(paidBefore)
  const again = await bench.submit({ ...submission, attempt: submission.attempt + 1 })
  expect(again, `the same key ${says}`).toMatchObject({ outcome: 'rejected' })
  expect(await bench.payments(), `payments ${says}`).toBe(paidBefore)
}
