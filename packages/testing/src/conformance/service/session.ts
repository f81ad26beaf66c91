import { randomUUID } from 'node:crypto'
import type { ConformanceClient, ServiceFetch } from './options.ts'

/** Members of a JSON answer. */
export type Json = Readonly<Record<string, unknown>>

/** One request. */
export interface Call {
  readonly query?: Readonly<Record<string, string>> | undefined
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown
  /** Idempotency key. A POST gets a fresh one when this is absent, and none when it is null. */
  readonly key?: string | null | undefined
  /** Replaces the access token; null sends none. */
  readonly token?: string | null | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** One complete answer. */
export interface Answer<Body = Json> {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; `undefined` when it is not JSON. */
  readonly json: Body
}

/** A client with an access token. It uses only HTTP. */
export interface Session {
  readonly accountId: string
  readonly token: string
  call<Body = Json>(method: string, path: string, call?: Call): Promise<Answer<Body>>
}

const timeoutMs = 60_000

/** Requests an access token with the flow `client_credentials`. Specification: "Authentication", 2. */
export async function requestToken(
  tokenUrl: string,
  { clientId, clientSecret }: Pick<ConformanceClient, 'clientId' | 'clientSecret'>,
  send: ServiceFetch = fetch,
): Promise<Answer> {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
  const response = await send(tokenUrl, {
    method: 'POST',
    body: new URLSearchParams(form),
    signal: AbortSignal.timeout(timeoutMs),
  })
  return readAnswer(response)
}

/**
 * Signs a client in.
 * @throws Error with the answer when there is no token in it.
 */
export async function openSession(
  baseUrl: string,
  tokenUrl: string,
  client: ConformanceClient,
  send: ServiceFetch = fetch,
): Promise<Session> {
  const granted = await requestToken(tokenUrl, client, send)
  const token = granted.json['access_token']
  if (typeof token !== 'string') throw new Error(`There is no token: HTTP ${granted.status} ${granted.text}`)
  return {
    accountId: client.accountId,
    token,
    async call<Body = Json>(method: string, path: string, call: Call = {}) {
      const query = call.query === undefined ? '' : `?${new URLSearchParams(call.query)}`
      const request = requestOf(method, call, token)
      return readAnswer<Body>(await send(`${baseUrl}${path}${query}`, request))
    },
  }
}

function requestOf(method: string, call: Call, sessionToken: string): RequestInit {
  const headers = new Headers(call.headers)
  const token = call.token === undefined ? sessionToken : call.token
  if (token !== null) headers.set('authorization', `Bearer ${token}`)
  const key = call.key === undefined && method === 'POST' ? randomUUID() : call.key
  if (key != null) headers.set('idempotency-key', key)
  const signal = AbortSignal.timeout(timeoutMs)
  if (call.body === undefined) return { method, headers, signal }
  if (!headers.has('content-type')) headers.set('content-type', 'application/json')
  return { method, headers, signal, body: typeof call.body === 'string' ? call.body : JSON.stringify(call.body) }
}

async function readAnswer<Body = Json>(response: Response): Promise<Answer<Body>> {
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: parse(text) as Body }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
