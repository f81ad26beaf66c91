import { isUnreachable, nodeError, nodeUnavailable } from './node-reachability.ts'

/** Asks one database, and waits for it no longer than a bound. */
export interface QuestionLimit {
  /**
   * Asks, and throws `node_unavailable` when there is no answer in time. A slow database answers others while one question runs long, and is asked on. A
   * silent one has answered nothing since a question that is late: it is not asked until an answer comes, or that question counts as lost. One that is slow
   * with all that it is asked is the same as a silent one from here; the message says since when.
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
  /** When the oldest question was asked that is late and behind all answers; undefined where the database is not silent. */
  const silentSinceMs = () => {
    const lostBeforeMs = realTimeMs() - lostAfter * timeoutMs
    for (const [key, atMs] of late) if (atMs < lostBeforeMs) late.delete(key)
    const behind = [...late.values()].filter((atMs) => atMs > answeredAtMs)
    return behind.length === 0 ? undefined : Math.min(...behind)
  }
  return {
    async ask(question) {
      const askedAtMs = realTimeMs()
      const sinceMs = silentSinceMs()
      if (sinceMs !== undefined) {
        const why = `it is silent, or slow with everything: a question of ${Math.round(askedAtMs - sinceMs)} ms ago has no answer yet, and none came since`
        throw nodeUnavailable(name, why)
      }
      const key = Symbol()
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
