import { OutlayError } from '@outlay/core'
import { sqlStateOf } from './conflict.ts'
import { isConnectionLost } from './connection-lost.ts'
import { UnreadableRowError } from './statement.ts'

/**
 * Classes of SQLSTATEs that say nothing of what was written: connections and logins, the state of the transaction, conflicts, resources, a time limit
 * or a shutdown, the system, and a schema that is not migrated yet.
 */
const passing = /^(08|25|28|3D|3F|40|42|53|55|57|58|F0)[0-9A-Z]{3}$/

/** Classes that are about what was written: its values, the limits of Postgres for them, constraints, and what a function refuses. */
const aboutContent = /^(22|23|54|P0)[0-9A-Z]{3}$/

/** Those after which the same content is refused wherever it is written. */
const aboutValues = /^(22|54)[0-9A-Z]{3}$/

/** True for an error of the database, or of a part that is not there now: whatever is tried next fails as well, and may succeed later. */
export function isInTheWay(error: unknown): boolean {
  if (OutlayError.is(error)) return error.code === 'service_unavailable'
  return isConnectionLost(error) || passing.test(sqlStateOf(error) ?? '')
}

/** True for the error of a statement that did not get a lock in time: another transaction is in the way of this work, and of no other. */
export const isLocked = (error: unknown): boolean => sqlStateOf(error) === '55P03'

/** True for the error of a statement that has taken longer than a limit, such as that of the role. What is slow about one thing need not be about others. */
export const isTimedOut = (error: unknown): boolean => sqlStateOf(error) === '57014'

/**
 * True for an error that is known to be about what was written, or read. An error that is neither this nor in the way may pass: there are more ways to
 * lose a database than a list has, and what is blamed on the content is not tried again.
 */
export function isAboutContent(error: unknown): boolean {
  if (OutlayError.is(error)) return error.code !== 'service_unavailable'
  return aboutContent.test(sqlStateOf(error) ?? '') || isUnreadable(error)
}

/** True where Postgres cannot store a value that was written. */
export function isUnstorable(error: unknown): boolean {
  return aboutValues.test(sqlStateOf(error) ?? '')
}

/** What was stored, or said, is not what the code reads. Errors of Node that have a code are about the system. */
function isUnreadable(error: unknown): boolean {
  if (error instanceof UnreadableRowError) return true
  const isOfValue = error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError
  return isOfValue && sqlStateOf(error) === undefined
}
