import type { Gateway, Submission, SubmitResult } from '@outlay/core'
import { type ListingGateway, listingGateway } from './restored-database.ts'

/** A provider that keeps its refusals: whatever changes, a key that it has refused stays refused. */
export type RefusingGateway = ListingGateway & {
  /** False from when on it takes what has a new key. */
  refuses: boolean
  /** Every request, in the order of arrival. */
  readonly requests: readonly Submission[]
}

export const refusal: SubmitResult = {
  ...{ outcome: 'rejected', code: 'limit_reached', detail: 'no more today', httpStatus: 422 },
  ...{ keyEvaluated: true, keyClosed: true },
}

/** Makes a provider that refuses at first. */
export function refusingGateway(refuses = true, more: Partial<Gateway> = {}): RefusingGateway {
  const provider = listingGateway(more)
  const refused = new Set<string>()
  const requests: Submission[] = []
  const gateway: RefusingGateway = {
    ...provider,
    refuses,
    requests,
    async submit(submission, options) {
      requests.push(submission)
      if (gateway.refuses) refused.add(submission.idempotencyKey)
      return refused.has(submission.idempotencyKey) ? refusal : provider.submit(submission, options)
    },
  }
  return gateway
}
