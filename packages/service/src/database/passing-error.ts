import { OutlayError } from '@outlay/core'
import { sqlStateOf } from './conflict.ts'
import { isConnectionLost } from './connection-lost.ts'

/**
 * Classes of SQLSTATEs that say nothing of what was written: connections, the state of the transaction, conflicts, resources, a time limit or a
 * shutdown, the system, and a schema that is not migrated yet.
 */
const passing = /^(08|25|3D|3F|40|42|53|55|57|58|F0)/

/** True for an error of the database, or of a part that is not there now, after which the same work may succeed later. */
export function mayPass(error: unknown): boolean {
  if (OutlayError.is(error)) return error.code === 'service_unavailable'
  return isConnectionLost(error) || passing.test(sqlStateOf(error) ?? '')
}
