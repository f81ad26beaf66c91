import { OutlayError } from '@outlay/core'

/**
 * Makes places for work at the database: so much of it runs at once, and the rest waits in its order. Work keeps its place until it has really
 * ended, also when nobody waits for it any more, since until then it has its connection.
 */
export function createPlaces(most: number): <T>(signal: AbortSignal, work: () => Promise<T>) => Promise<T> {
  let taken = 0
  const waiting = new Set<() => void>()
  // Whoever waits gets the place itself: a newcomer cannot take it between.
  const leave = () => {
    const [next] = waiting
    if (next === undefined) taken -= 1
    else next()
  }
  return async (signal, work) => {
    if (taken < most) taken += 1
    else await waitForPlace(waiting, signal)
    try {
      if (signal.aborted) throw gone()
      return await work()
    } finally {
      leave()
    }
  }
}

function waitForPlace(waiting: Set<() => void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => () => {
      waiting.delete(enter)
      signal.removeEventListener('abort', onAbort)
      settle()
    }
    const enter = end(resolve)
    const onAbort = end(() => reject(gone()))
    waiting.add(enter)
    signal.addEventListener('abort', onAbort, { once: true })
  })
}

const gone = (): OutlayError =>
  new OutlayError('service_unavailable', 'Too much is asked of this console at once. Nothing was done.')
