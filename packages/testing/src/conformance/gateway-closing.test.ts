import type { Submission, SubmitResult } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import { expectClosed } from './gateway-closing.ts'

const submission = { idempotencyKey: 'key', attempt: 1 } as Submission
const closed = { outcome: 'rejected', code: 'closed', detail: 'No such rail.', nothingMoved: true } as const

/** A provider that has so many payments, and answers the next request of the key with this. */
function check(
  refusal: SubmitResult,
  { paid = 0, answer = refusal, pays = false }: { paid?: number; answer?: SubmitResult; pays?: boolean } = {},
) {
  let payments = paid
  const attempts: number[] = []
  const bench = {
    payments: async () => payments,
    submit: async ({ attempt }: Submission): Promise<SubmitResult> => {
      attempts.push(attempt)
      if (pays) payments += 1
      return answer
    },
  }
  return { attempts, done: expectClosed(bench, submission, refusal, 0) }
}

describe('the check of a refusal that says that nothing moved', () => {
  it('sends the same key again, and is content with another refusal', async () => {
    const { attempts, done } = check(closed)
    await done
    expect(attempts).toEqual([2])
  })

  it('asks nothing of a refusal that does not say so', async () => {
    const { attempts, done } = check({ ...closed, nothingMoved: false }, { paid: 1 })
    await done
    expect(attempts).toEqual([])
  })

  it.each<[string, Parameters<typeof check>]>([
    ['the provider has paid all the same', [closed, { paid: 1 }]],
    ['the same key pays later', [closed, { answer: { outcome: 'accepted', remoteId: 'r-1' } }]],
    ['the provider pays later and refuses all the same', [closed, { pays: true }]],
    ['it says as well that something may have moved', [{ ...closed, mayHaveActed: true }]],
    ['it does not know the next time', [closed, { answer: { outcome: 'unknown', detail: 'reset' } }]],
  ])('fails where %s', async (_, given) => {
    await expect(check(...given).done).rejects.toThrow()
  })
})
