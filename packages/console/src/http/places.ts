import { OutlayError } from '@outlay/core'

/** Waits for a place, and does the work there. `actor` is the person for whom it is. */
export type Enter = <T>(actor: string, signal: AbortSignal, work: () => Promise<T>) => Promise<T>

/**
 * Makes places for work at the database: so much of it runs at once, and the rest waits. People take turns, and where there are two places or more, nobody
 * has all of them. Work keeps its place until it has really ended, also when nobody waits for it any more, since until then it has its connection.
 */
export function createPlaces(most: number): Enter {
  const mostOfOne = Math.max(1, most - 1)
  let taken = 0
  const running = new Map<string, number>()
  /** Those who wait, by whose turn it is. */
  const waiting = new Map<string, Set<() => void>>()
  const isFree = (actor: string) => taken < most && (running.get(actor) ?? 0) < mostOfOne
  const take = (actor: string, change: 1 | -1) => {
    taken += change
    const now = (running.get(actor) ?? 0) + change
    if (now === 0) running.delete(actor)
    else running.set(actor, now)
  }
  const letIn = () => {
    for (const [actor, line] of waiting) {
      if (!isFree(actor)) continue
      const [next] = line
      // Behind the others, if there is more of this one.
      waiting.delete(actor)
      if (line.size > 1) waiting.set(actor, line)
      // The place is taken for whoever waits: a newcomer cannot get it between.
      take(actor, 1)
      next?.()
      return
    }
  }
  return async (actor, signal, work) => {
    if (isFree(actor)) take(actor, 1)
    else await waitForPlace(waiting, actor, signal)
    try {
      if (signal.aborted) throw gone()
      return await work()
    } finally {
      take(actor, -1)
      letIn()
    }
  }
}

function waitForPlace(waiting: Map<string, Set<() => void>>, actor: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const line = waiting.get(actor) ?? new Set()
    const end = (settle: () => void) => () => {
      line.delete(enter)
      if (line.size === 0 && waiting.get(actor) === line) waiting.delete(actor)
      signal.removeEventListener('abort', onAbort)
      settle()
    }
    const enter = end(resolve)
    const onAbort = end(() => reject(gone()))
    line.add(enter)
    waiting.set(actor, line)
    signal.addEventListener('abort', onAbort, { once: true })
  })
}

const gone = (): OutlayError =>
  new OutlayError('service_unavailable', 'Too much is asked of this console at once. Nothing was done.')
