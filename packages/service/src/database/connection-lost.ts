import { OutlayError } from '@outlay/core'
import { sqlStateOf } from './conflict.ts'

/** Codes of Node for a server that is not reached, or a connection that breaks. */
const networkCodes = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'],
  ...['ENOTFOUND', 'EAI_AGAIN'],
])

/** What node-postgres says of a connection that it lost or did not get; these errors have no code. */
const driverMessages =
  /^(Connection terminated|Client (has encountered a connection error|was closed) and is not queryable|timeout (expired|exceeded when trying to connect)$|Query read timeout$)/

/** True for the error of a database that is not reached, ends sessions, or has no connection left. */
export function isConnectionLost(error: unknown): boolean {
  const state = sqlStateOf(error)
  if (state === undefined) return error instanceof Error && !OutlayError.is(error) && driverMessages.test(error.message)
  return /^(08...|57P0[1-5]|53300)$/.test(state) || networkCodes.has(state)
}

/** SQLSTATE of a statement that has reached its time limit, or that a person has canceled. */
const canceled = '57014'

/** SQLSTATE of a statement that has waited for a lock as long as it may. */
const lockNotAvailable = '55P03'

/**
 * The same error, or the refusal for one of a lost connection, after which what the request was to do may have been done, or of a statement
 * that took too long or has waited too long for a lock.
 */
export function unlessConnectionLost(error: unknown): unknown {
  if (sqlStateOf(error) === lockNotAvailable) {
    const message = 'Other requests work on the same rows. Send the request again, a create with the same key.'
    return new OutlayError('service_unavailable', message, { retryAfterMs: 1_000, cause: error })
  }
  if (sqlStateOf(error) === canceled) {
    const message =
      'The database took too long. Send the request again, a create with the same key, and a list with a smaller page.'
    return new OutlayError('service_unavailable', message, { retryAfterMs: 5_000, cause: error })
  }
  if (!isConnectionLost(error)) return error
  const message = 'The database is not reached now. Send the request again, a create with the same key.'
  return new OutlayError('service_unavailable', message, { retryAfterMs: 1_000, cause: error })
}
