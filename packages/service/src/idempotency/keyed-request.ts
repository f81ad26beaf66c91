import { fingerprint, OutlayError } from '@outlay/core'
import type { ServiceContext } from '../context.ts'
import { readAnyJson } from '../http/body.ts'
import type { ServiceRequest } from '../http/request.ts'
import type { Caller } from '../schema/caller.ts'
import { digest } from '../secrets.ts'
import type { KeyedRequest } from './keys.ts'

/**
 * Reads a create and its key. A create without a body has the body null, and one that is sent is not read.
 * @throws OutlayError `idempotency_key_missing`, `idempotency_key_invalid`.
 */
export async function readKeyed(
  c: ServiceRequest,
  context: ServiceContext,
  caller: Caller,
  { bodyless = false }: { readonly bodyless?: boolean | undefined },
): Promise<{ readonly body: unknown; readonly request: KeyedRequest }> {
  const idempotencyKey = readIdempotencyKey(c)
  const body = bodyless ? null : await readAnyJson(c)
  const plain = fingerprint({ body, method: c.req.method, path: c.req.path + queryOf(c) }, digest)
  const print = context.secrets.mac('idempotency_key.fingerprint', plain)
  return { body, request: { clientId: caller.clientId, idempotencyKey, fingerprint: print } }
}

/** The query of the request's URI as it was sent, with its `?`; empty without one. */
function queryOf(c: ServiceRequest): string {
  const at = c.req.url.indexOf('?')
  return at < 0 ? '' : c.req.url.slice(at)
}

/** Names a key among the requests that this process is working on. */
export const inFlightKey = ({ clientId, idempotencyKey }: KeyedRequest): string => `${clientId} ${idempotencyKey}`

/** The key of a request: 1 to 255 visible ASCII characters, bare or as a quoted string. */
function readIdempotencyKey(c: ServiceRequest): string {
  const header = c.req.header('idempotency-key')
  const field = 'Idempotency-Key:'
  if (header === undefined || header === '')
    throw new OutlayError('idempotency_key_missing', 'A create requires an Idempotency-Key header.', { field })
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw new OutlayError('idempotency_key_invalid', 'The key must be 1 to 255 visible ASCII characters.', { field })
  return key
}
