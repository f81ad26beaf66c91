import { isUnreachable, nodeError, nodeUnavailable } from './node-reachability.ts'

/** Asks one database, and waits for it no longer than a bound. */
export interface QuestionLimit {
  /**
   * Asks, and throws `node_unavailable` when there is no answer in time. While the database is silent it is not asked: a question has had no answer in
   * time, and none has come since that was asked.
   */
  ask<T>(question: () => Promise<T>): Promise<T>
}

/** After so many bounds without an answer a question counts as lost, as when a network drops everything, and another one is asked. */
const lostAfter = 10

/** Makes the limit of one database. */
export function createQuestionLimit(
  name: string,
  timeoutMs: number,
  realTimeMs: () => number = () => performance.now(),
): QuestionLimit {
  /** When the questions without an answer in time were asked. */
  const late = new Map<symbol, number>()
  let answeredAtMs = Number.NEGATIVE_INFINITY
  const isSilent = () => {
    const lostBeforeMs = realTimeMs() - lostAfter * timeoutMs
    for (const [key, atMs] of late) if (atMs < lostBeforeMs) late.delete(key)
    return [...late.values()].some((atMs) => atMs > answeredAtMs)
  }
  return {
    async ask(question) {
      if (isSilent()) throw nodeUnavailable(name, 'an earlier question has no answer yet')
      const key = Symbol()
      const askedAtMs = realTimeMs()
      const asked = callNow(question)
      const settle = (isAnswer: boolean) => {
        late.delete(key)
        if (isAnswer) answeredAtMs = realTimeMs()
      }
      asked.then(
        () => settle(true),
        (error: unknown) => settle(!isUnreachable(error)),
      )
      const beLate = () => {
        late.set(key, askedAtMs)
        return nodeUnavailable(name, `no answer within ${timeoutMs} ms`)
      }
      try {
        return await within(timeoutMs, asked, beLate)
      } catch (error) {
        throw nodeError(name, error)
      }
    },
  }
}

/** A function may throw before it gives a promise. */
const callNow = async <T>(question: () => Promise<T>): Promise<T> => question()

/** Gives what `work` gives, or throws after `ms`. What comes later is dropped. */
export async function within<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(late()), ms)
  work.catch(() => undefined)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
