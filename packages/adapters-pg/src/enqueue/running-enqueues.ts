import { OutlayError } from '@outlay/core'

/** What enqueues in a transaction at this moment. */
interface Running {
  count: number
  /** True while one of them has a savepoint. */
  isAlone: boolean
}

/** What a statement answers instead of a time where another enqueue has a savepoint. */
export const alone = 'alone'

/** The refusal of an enqueue beside one that has a savepoint. */
export function refuseBeside(): OutlayError {
  const message =
    'An enqueueMany of thousands has a savepoint, so nothing else may be enqueued in its transaction until it has answered; await one call before the next.'
  return new OutlayError('conflict', message, { field: 'tx' })
}

/** One map for all engines of the process: a transaction may be given to several. */
const running = new WeakMap<object, Running>()

/**
 * Runs an enqueue in a transaction, where others of the same transaction may run. One that needs a savepoint runs alone: with it, it would undo the rows of the
 * others, which have said that they are written, and end their savepoint. It is refused and does not wait for its turn: after a rollback by the host the
 * connection may be in another transaction by then. This refuses what it sees, before any SQL; the mark in the database refuses what has another handle.
 * @throws OutlayError `conflict`
 */
export async function runBeside<T>(tx: unknown, needsSavepoint: boolean, work: () => Promise<T>): Promise<T> {
  // What is no transaction is refused by the driver.
  if ((typeof tx !== 'object' && typeof tx !== 'function') || tx === null) return work()
  const now = running.get(tx) ?? { count: 0, isAlone: false }
  if (now.isAlone || (needsSavepoint && now.count > 0)) throw refuseBeside()
  now.count += 1
  now.isAlone = needsSavepoint
  running.set(tx, now)
  try {
    return await work()
  } finally {
    now.count -= 1
    now.isAlone = false
  }
}
