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

/** The same error, or the refusal for one of a lost connection. What the request was to do may have been done. */
export function unlessConnectionLost(error: unknown): unknown {
  if (!isConnectionLost(error)) return error
  const message = 'The database is not reached now. Send the request again, a create with the same key.'
  return new OutlayError('service_unavailable', message, { retryAfterMs: 1_000, cause: error })
}
