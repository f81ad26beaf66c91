import type { Gateway, SendOptions, Submission, SubmitResult } from '@outlay/core'
import type { Driver } from '../src/database/driver.ts'

/** An answer that says that nothing was paid. */
export const poor = { outcome: 'insufficient_balance', detail: 'none', keyEvaluated: true } as const

/** Makes a gateway whose requests wait until they may go, and then ask whether they may still begin. */
export function hesitantGateway<G extends Gateway>(inner: G) {
  const gone = Promise.withResolvers<void>()
  const counts = { waiting: 0, asked: 0 }
  const submit = async (submission: Submission, options: SendOptions): Promise<SubmitResult> => {
    counts.waiting += 1
    await gone.promise
    counts.asked += 1
    if (options.mayBegin?.() === false) return { outcome: 'throttled', detail: 'not sent' }
    return inner.submit(submission, options)
  }
  return { gateway: { ...inner, submit }, counts, go: () => gone.resolve() }
}

/** Makes a driver that fetches nothing more once `hasOne`, and on which these functions answer nothing. */
export const fetchingUntil = <Tx>(
  driver: Driver<Tx>,
  hasOne: () => boolean,
  unanswered: readonly string[] = [],
): Driver<Tx> => ({
  ...driver,
  query: (statement, values) =>
    unanswered.some((name) => statement.text.includes(name)) || (statement.text.includes('fetch_and_claim') && hasOne())
      ? Promise.resolve([])
      : driver.query(statement, values),
})
