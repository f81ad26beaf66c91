import { asClient } from '../database/tenant.ts'
import { readForm } from '../http/body.ts'
import type { Client } from '../http/credentials.ts'
import type { RouteModule, ServiceRequest } from '../http/request.ts'
import type { Scope } from '../schema/caller.ts'
import { digestOf } from '../secrets.ts'
import { issueToken, revokeToken } from './tokens.ts'

type OAuthErrorCode = 'invalid_request' | 'invalid_client' | 'unsupported_grant_type' | 'invalid_scope'

/** Mounts the token endpoint and the revocation endpoint (RFC 6749 section 4.4, RFC 7009). */
export const oauthRoutes: RouteModule = (app, context) => {
  app.post('/oauth2/token', async (c) => {
    const form = await readOAuthForm(c)
    if (form === undefined) return refuse(c, 'invalid_request', 'Send the parameters form-encoded, each of them once.')
    const client = await authenticateClient(c, form)
    if (client === undefined) return refuseClient(c)
    c.get('rateLimiter').spend(client.clientId)
    const grantType = form.get('grant_type')
    if (grantType === null) return refuse(c, 'invalid_request', 'grant_type is required.')
    if (grantType !== 'client_credentials')
      return refuse(c, 'unsupported_grant_type', 'The grant type is client_credentials.')
    const scopes = scopesOf(client, form.get('scope'))
    if (scopes === undefined) return refuse(c, 'invalid_scope', 'The client does not have every requested scope.')
    const token = await issueToken(asClient(context, client.clientId), context, client, scopes)
    const body = {
      access_token: token.accessToken,
      token_type: 'bearer',
      expires_in: token.expiresIn,
      scope: token.scopes.join(' '),
    }
    return c.json(body, 200, noStore)
  })

  app.post('/oauth2/revoke', async (c) => {
    const form = await readOAuthForm(c)
    if (form === undefined) return refuse(c, 'invalid_request', 'Send the parameters form-encoded, each of them once.')
    const client = await authenticateClient(c, form)
    if (client === undefined) return refuseClient(c)
    const token = form.get('token')
    if (token === null) return refuse(c, 'invalid_request', 'token is required.')
    if (await revokeToken(asClient(context, client.clientId), context, client.clientId, token))
      c.get('callers').delete(digestOf(token).toString('base64'))
    return c.json({}, 200, noStore)
  })
}

const noStore = { 'cache-control': 'no-store', pragma: 'no-cache' }

async function readOAuthForm(c: ServiceRequest): Promise<URLSearchParams | undefined> {
  const type = c.req.header('content-type') ?? ''
  if (!/^application\/x-www-form-urlencoded\b/i.test(type)) return undefined
  const form = await readForm(c)
  const names = [...form.keys()]
  return new Set(names).size === names.length ? form : undefined
}

async function authenticateClient(c: ServiceRequest, form: URLSearchParams): Promise<Client | undefined> {
  const header = c.req.header('authorization')
  const credentials = header === undefined ? bodyCredentials(form) : basicCredentials(header)
  if (credentials === undefined) return undefined
  const { clientId, clientSecret } = credentials
  if (!/^[\x21-\x7e]{1,255}$/.test(clientId)) return undefined
  return await c.get('credentials').findClient(c.get('clientAddress'), clientId, clientSecret)
}

interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
}

function bodyCredentials(form: URLSearchParams): Credentials | undefined {
  const clientId = form.get('client_id')
  const clientSecret = form.get('client_secret')
  return clientId === null || clientSecret === null ? undefined : { clientId, clientSecret }
}

function basicCredentials(header: string): Credentials | undefined {
  const encoded = /^Basic +([A-Za-z0-9+/_-]+=*)$/i.exec(header)?.[1]
  if (encoded === undefined) return undefined
  const pair = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = pair.indexOf(':')
  if (colon < 0) return undefined
  const clientId = formDecoded(pair.slice(0, colon))
  const clientSecret = formDecoded(pair.slice(colon + 1))
  return clientId === undefined || clientSecret === undefined ? undefined : { clientId, clientSecret }
}

// RFC 6749 section 2.3.1: both halves are form-encoded before they are joined.
function formDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

function scopesOf(client: Client, asked: string | null): readonly Scope[] | undefined {
  if (asked === null || asked.trim() === '') return client.scopes
  const names = new Set(asked.trim().split(/ +/))
  const granted = client.scopes.filter((scope) => names.has(scope))
  return granted.length === names.size ? granted : undefined
}

function refuseClient(c: ServiceRequest): Response {
  const body = {
    error: 'invalid_client' satisfies OAuthErrorCode,
    error_description: 'The client credentials are wrong.',
  }
  return c.json(body, 401, { ...noStore, 'www-authenticate': 'Basic realm="oauth2"' })
}

function refuse(c: ServiceRequest, error: OAuthErrorCode, description: string): Response {
  return c.json({ error, error_description: description }, 400, noStore)
}
