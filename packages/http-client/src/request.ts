import { OutlayError } from '@outlay/core'
import type { HttpRequest } from './exchange.ts'

/** One call of the API, before it is bound to a token and an origin. */
export interface Call {
  /** The account whose credentials are used. It is also the account in the path, if there is one. */
  readonly accountId: string
  readonly method: HttpRequest['method']
  /** Path below the base address with its query, percent-encoded. */
  readonly path: string
  /** JSON text. The same on every attempt. */
  readonly body?: string | undefined
  /** On create POSTs and nowhere else. The same on every attempt. */
  readonly idempotencyKey?: string | undefined
  /** Identity from `identify`. A call is not sent with credentials of another client. Default: any client. */
  readonly client?: string | undefined
}

/** What a request needs besides the call. */
interface RequestTarget {
  readonly baseUrl: URL
  readonly userAgent: string
}

/**
 * Builds the HTTP request of a call. Pure: equal calls are equal requests, byte for byte.
 *
 * @throws OutlayError `idempotency_key_invalid` for a key that is not 1 to 255 visible ASCII characters
 */
export function buildRequest(call: Call, target: RequestTarget, token: string): HttpRequest {
  const headers: Record<string, string> = {
    authorization: `Bearer ${token}`,
    accept: 'application/json',
    'user-agent': target.userAgent,
  }
  if (call.body !== undefined) headers['content-type'] = 'application/json'
  if (call.idempotencyKey !== undefined) headers['idempotency-key'] = checkKey(call.idempotencyKey)
  const prefix = target.baseUrl.pathname.replace(/\/+$/, '')
  return { method: call.method, origin: target.baseUrl.origin, path: prefix + call.path, headers, body: call.body }
}

/** A quoted key is sent unchanged, because earlier code may have sent it so. */
const checkKey = (key: string): string => {
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key
  throw new OutlayError('idempotency_key_invalid', 'an idempotency key must be 1 to 255 visible ASCII characters')
}

/**
 * Joins a path of literal parts and ids, ids percent-encoded, for example `` path`/accounts/${accountId}/transfers` ``.
 *
 * @throws OutlayError `invalid_id` for an id that is empty, or that would change the path
 */
export function path(parts: TemplateStringsArray, ...ids: readonly string[]): string {
  return parts.reduce((joined, part, index) => joined + encodeId(ids[index - 1]) + part)
}

const encodeId = (id: string | undefined): string => {
  if (typeof id !== 'string' || id === '' || id === '.' || id === '..' || id.length > 255) {
    throw new OutlayError('invalid_id', 'an id must be a string of 1 to 255 characters')
  }
  return encodeURIComponent(id)
}
