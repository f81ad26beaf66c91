import type { Clock, Random } from '@outlay/core'
import { Agent, type Dispatcher } from 'undici'
import { type ExchangeLimits, exchange, type HttpAnswer, type HttpFailure } from './exchange.ts'
import { buildRequest, type Call } from './request.ts'
import { type CredentialsSource, createTokenSource, type TokenResult } from './token.ts'

/** How a client or a gateway reaches the service. */
export interface ConnectionOptions {
  /** Address of the service; a path in it is kept. http is for loopback only, unless `allowInsecure` is set. */
  readonly baseUrl: string | URL
  /** Address of the token endpoint. Default: `/oauth2/token` below the base address. */
  readonly tokenUrl?: string | URL | undefined
  readonly credentials: CredentialsSource
  /** Scopes to ask for, separated by spaces. Default: whatever the credentials carry. */
  readonly scope?: string | undefined
  readonly timeouts?: Timeouts | undefined
  /** Connections to one origin, each with one request at a time. Default 64. */
  readonly maxConcurrent?: number | undefined
  /** Longest answer that is read, in bytes. Default 8 MiB. */
  readonly maxBodyBytes?: number | undefined
  /** An undici dispatcher to use instead of an own pool, for example a proxy. It is not closed by `close`. */
  readonly dispatcher?: Dispatcher | undefined
  /** Default: the system's clock. */
  readonly clock?: Clock | undefined
  /** Default: the system's randomness. */
  readonly random?: Pick<Random, 'fraction'> | undefined
  readonly userAgent?: string | undefined
  /** Allows http to hosts other than loopback, where secrets can be read on the way. Default false. */
  readonly allowInsecure?: boolean | undefined
}

/** Bounds of one attempt, in milliseconds. */
export interface Timeouts {
  /** Until a connection stands. Default 5 000. */
  readonly connectMs?: number | undefined
  /** From the request to the last header of its answer. Default 30 000. */
  readonly headersMs?: number | undefined
  /** Between two pieces of the body. Default 30 000. */
  readonly bodyMs?: number | undefined
  /** The whole attempt, including the wait for a free connection. Default 60 000. */
  readonly totalMs?: number | undefined
}

/** What one attempt of a call came to. */
export type Attempt =
  | { readonly kind: 'answer'; readonly answer: HttpAnswer; readonly token: string }
  | HttpFailure
  | Exclude<TokenResult, { kind: 'token' }>

/** The way to one service: its pool, its tokens, its clock. */
export interface Connection {
  readonly clock: Clock
  readonly random: Pick<Random, 'fraction'>
  /** Does one call: no retry but one with a fresh token after a 401, with the same idempotency key and the same bytes. */
  attempt(call: Call, signal?: AbortSignal): Promise<Attempt>
  /** Ends idle connections at once, and the others when their requests are done. Safe to call twice. */
  close(): Promise<void>
}

const loopback = /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

const readUrl = (value: string | URL, name: string, allowInsecure: boolean): URL => {
  const url = new URL(value)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new Error(`${name} is an http or https address`)
  if (url.username !== '' || url.password !== '')
    throw new Error(`${name} carries no credentials; use the option for them`)
  if (url.protocol === 'http:' && !allowInsecure && !loopback.test(url.hostname)) {
    throw new Error(
      `${name} is http to a host other than loopback: secrets could be read; set allowInsecure to accept that`,
    )
  }
  return url
}

const createPool = (options: ConnectionOptions): Dispatcher =>
  new Agent({
    connections: options.maxConcurrent ?? 64,
    pipelining: 1,
    // One request per connection keeps the fate of each request its own; a lost h2 session would take many down at once.
    allowH2: false,
    connect: { timeout: options.timeouts?.connectMs ?? 5_000 },
    keepAliveTimeout: 10_000,
  })

/** Resolves with the token, or with an abort when the caller no longer waits; the fetch itself goes on for the others. */
const awaitToken = (
  token: Promise<TokenResult>,
  signal: AbortSignal | undefined,
): Promise<TokenResult | HttpFailure> => {
  if (signal === undefined) return token
  const aborted = { kind: 'failure', reason: 'aborted', sent: false, detail: 'aborted before it was sent' } as const
  if (signal.aborted) return Promise.resolve(aborted)
  return new Promise((resolve) => {
    const onAbort = () => resolve(aborted)
    signal.addEventListener('abort', onAbort, { once: true })
    token.then((result) => {
      signal.removeEventListener('abort', onAbort)
      resolve(result)
    })
  })
}

/**
 * Opens the way to a service. Nothing is sent until the first call.
 *
 * Throws Error for an address that is not http(s), carries credentials, or is plain http to another host.
 */
export function createConnection(options: ConnectionOptions): Connection {
  const allowInsecure = options.allowInsecure ?? false
  const baseUrl = readUrl(options.baseUrl, 'baseUrl', allowInsecure)
  const defaultTokenUrl = `${baseUrl.origin}${baseUrl.pathname.replace(/\/+$/, '')}/oauth2/token`
  const tokenUrl = readUrl(options.tokenUrl ?? defaultTokenUrl, 'tokenUrl', allowInsecure)
  const clock = options.clock ?? { now: () => new Date() }
  const userAgent = options.userAgent ?? 'outlay-http-client/0.1.0'
  const dispatcher = options.dispatcher ?? createPool(options)
  const limits: ExchangeLimits = {
    headersMs: options.timeouts?.headersMs ?? 30_000,
    bodyMs: options.timeouts?.bodyMs ?? 30_000,
    totalMs: options.timeouts?.totalMs ?? 60_000,
    maxBodyBytes: options.maxBodyBytes ?? 8 * 1024 * 1024,
  }
  const tokens = createTokenSource({
    tokenUrl,
    credentials: options.credentials,
    scope: options.scope,
    clock,
    userAgent,
    send: (request) => exchange(dispatcher, request, limits),
  })
  const target = { baseUrl, userAgent }
  let closed: Promise<void> | undefined

  const send = async (call: Call, signal?: AbortSignal): Promise<Attempt> => {
    const token = await awaitToken(tokens.get(call.accountId), signal)
    if (token.kind !== 'token') return token
    const result = await exchange(dispatcher, buildRequest(call, target, token.value), limits, signal)
    return result.kind === 'failure' ? result : { kind: 'answer', answer: result, token: token.value }
  }

  return {
    clock,
    random: options.random ?? { fraction: () => Math.random() },
    async attempt(call, signal) {
      const first = await send(call, signal)
      if (first.kind === 'answer' && first.answer.status === 403) tokens.doubt(call.accountId, first.token)
      if (first.kind !== 'answer' || first.answer.status !== 401) return first
      tokens.discard(call.accountId, first.token)
      return send(call, signal)
    },
    close() {
      closed ??= options.dispatcher === undefined ? dispatcher.close() : Promise.resolve()
      return closed
    },
  }
}
