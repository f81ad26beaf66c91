import { OutlayError } from '@outlay/core'
import type { ServiceContext } from '../context.ts'
import { asClient } from '../database/tenant.ts'
import type { CachedCaller } from '../http/caller-cache.ts'
import type { ServiceRequest } from '../http/request.ts'
import type { Caller, Scope } from '../schema/caller.ts'
import { digestOf } from '../secrets.ts'
import { isAccountOfClient } from './clients.ts'

/** A caller and the account in the request's path. */
export type AccountCaller = Caller & { readonly accountId: string }

const idPattern = /^[a-zA-Z0-9]{26}$/

/** True for text in the format of an id. Specification: "Conventions". */
export function isId(text: string): boolean {
  return idPattern.test(text)
}

/** The 404 for an unknown, malformed or foreign id. The three cannot be distinguished. */
export function notFound(noun: string): OutlayError {
  return new OutlayError('not_found', `The ${noun} does not exist.`)
}

/**
 * The client behind the bearer token, within its rate. Specification: "Authentication".
 * @throws OutlayError `unauthenticated`, `rate_limited`, `forbidden`, in this order.
 */
export async function requireClient(c: ServiceRequest, context: ServiceContext, scope: Scope): Promise<Caller> {
  return (await authenticate(c, context, scope)).caller
}

/**
 * The client behind the bearer token and the account in the path parameter `account_id`, which must be the client's own
 * or managed.
 * @throws OutlayError `unauthenticated`, `rate_limited`, `forbidden`, `not_found`, in this order.
 */
export async function requireAccount(c: ServiceRequest, context: ServiceContext, scope: Scope): Promise<AccountCaller> {
  const { caller, accountId } = await findAccount(c, context, scope)
  if (accountId === undefined) throw notFound('account')
  return { ...caller, accountId }
}

/**
 * The client behind the bearer token and the account in the path; the account is `undefined` when it is not the client's.
 * @throws OutlayError `unauthenticated`, `rate_limited`, `forbidden`, in this order.
 */
export async function findAccount(
  c: ServiceRequest,
  context: ServiceContext,
  scope: Scope,
): Promise<{ readonly caller: Caller; readonly accountId: string | undefined }> {
  const { caller, accountIds } = await authenticate(c, context, scope)
  const accountId = c.req.param('account_id')
  if (accountId === undefined) throw new Error('The route has no account_id parameter.')
  if (!accountIds.has(accountId)) {
    if (
      !isId(accountId) ||
      !(await isAccountOfClient(asClient(context, caller.clientId), context, caller.clientId, accountId))
    )
      return { caller, accountId: undefined }
    accountIds.add(accountId)
  }
  return { caller, accountId }
}

/** The bearer token of a request; `undefined` when there is none. */
function bearerTokenOf(c: ServiceRequest): string | undefined {
  return /^Bearer +([A-Za-z0-9._~+/-]{1,512}=*)$/i.exec(c.req.header('authorization') ?? '')?.[1]
}

async function authenticate(c: ServiceRequest, context: ServiceContext, scope: Scope): Promise<CachedCaller> {
  const token = bearerTokenOf(c)
  if (token === undefined) throw new OutlayError('unauthenticated', 'Send a bearer token in the Authorization header.')
  const digest = digestOf(token)
  const key = digest.toString('base64')
  const cache = c.get('callers')
  let cached = cache.get(key)
  if (cached === undefined) {
    const caller = await c.get('credentials').findCaller(c.get('clientAddress'), digest)
    if (caller !== undefined) cached = cache.set(key, caller)
  }
  if (cached === undefined || Date.parse(cached.caller.expiresAt) <= context.clock.now().getTime())
    throw new OutlayError('unauthenticated', 'The access token is expired, revoked or unknown; get a new one.')
  c.get('rateLimiter').spend(cached.caller.clientId)
  if (!cached.caller.scopes.includes(scope)) throw new OutlayError('forbidden', `The token lacks the scope ${scope}.`)
  return cached
}
