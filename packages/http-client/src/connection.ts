import {
  type Clock,
  checkNumbers,
  type Environment,
  foreignTelemetry,
  type Random,
  type Telemetry,
  timerRange,
} from '@outlay/core'
import { Agent, type Dispatcher } from 'undici'
import { type ExchangeLimits, exchange, type HttpAnswer, type HttpFailure, type HttpRequest } from './exchange.ts'
import { type CallLimitsSource, createLimiter } from './limiter.ts'
import { buildRequest, type Call } from './request.ts'
import { templateOf, traceExchange } from './telemetry.ts'
import { type CredentialsSource, createTokenSource, type TokenResult } from './token.ts'

/** How a client or a gateway reaches the service. */
export interface ConnectionOptions {
  /**
   * Address of the service, or a way to find that of an account, for example by its environment. A path in it is kept. http
   * is for loopback only, unless `allowInsecure` is set.
   */
  readonly baseUrl: AddressSource
  /** Address of the token endpoint. Default: `/oauth2/token` below the base address. */
  readonly tokenUrl?: AddressSource | undefined
  readonly credentials: CredentialsSource
  /** Environment that the credentials have to be for, where they say one. Default: whatever they say. */
  readonly environment?: Environment | undefined
  /** Scopes to ask for, separated by spaces. Default: whatever the credentials carry. */
  readonly scope?: string | undefined
  readonly timeouts?: Timeouts | undefined
  /**
   * Bounds of the calls of each pair of credentials: of all accounts together when `credentials` is one pair, of each account
   * when it is a function; given as a function, of each account. A call waits its turn before its timeouts begin, and a call
   * that is aborted meanwhile is not sent. Requests for tokens do not count. Default: none.
   */
  readonly limits?: CallLimitsSource | undefined
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
  /**
   * Names the service where processes reach one under several addresses: idempotency keys are unique within a service and a
   * client. Default: the base address.
   */
  readonly serviceName?: string | undefined
  /** Traces requests and sends the trace along, such as `openTelemetry()` of `@outlay/opentelemetry`. Default: none. */
  readonly telemetry?: Telemetry | undefined
  /** Allows http to hosts other than loopback, where secrets can be read on the way. Default false. */
  readonly allowInsecure?: boolean | undefined
}

/** One address for everything, or a way to find that of an account. */
export type AddressSource = string | URL | ((accountId: string) => string | URL)

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
  /** Until `credentials` has found the pair of an account; beyond it nothing is sent. Default 10 000. */
  readonly credentialsMs?: number | undefined
  /** A whole request for a token, which is shared by all calls that wait for it and is not part of theirs. Default 30 000. */
  readonly tokenMs?: number | undefined
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
  /**
   * Does one call: no retry but one with a fresh token after a 401, with the same idempotency key and the same bytes. Nothing
   * is sent any more once `mayBegin` is false, which is asked when the token is there and the call has its turn.
   */
  attempt(call: Call, signal?: AbortSignal, mayBegin?: () => boolean): Promise<Attempt>
  /** As whom the account's next call is sent: the service's address and the client, without a secret. Rejects when that is not known. */
  identify(accountId: string, wanted?: string, signal?: AbortSignal): Promise<string>
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

const timeoutRanges = {
  connectMs: timerRange,
  headersMs: timerRange,
  bodyMs: timerRange,
  totalMs: timerRange,
  credentialsMs: timerRange,
}

const checkOptions = ({ maxConcurrent, maxBodyBytes, timeouts }: ConnectionOptions): void => {
  const ranges = { maxConcurrent: { min: 1, max: 100_000, integer: true }, maxBodyBytes: { min: 1, integer: true } }
  checkNumbers({ maxConcurrent, maxBodyBytes }, ranges)
  checkNumbers({ ...timeouts }, timeoutRanges, 'timeouts.')
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

const abortedBefore = {
  kind: 'failure',
  reason: 'aborted',
  sent: false,
  detail: 'aborted before it was sent',
} as const

/** Somebody has stopped sending while the call waited. */
const stopped = { ...abortedBefore, detail: 'stopped before it was sent' } as const

/** A host's function failed. What it says is not told, since it may hold anything. */
const unavailable = {
  kind: 'unavailable',
  detail: 'the address or the limits of the account could not be found',
} as const

/** The credentials changed between the question as whom a call is sent, and the call. */
const otherClient = { kind: 'unavailable', detail: 'the credentials are those of another client now' } as const

/** Tells clients apart, and services: what keys are unique within. No space is in an address. */
const nameClients =
  (serviceName: string | undefined) =>
  (baseUrl: URL, clientId: string): string =>
    `${clientId} ${serviceName ?? baseUrl.origin + baseUrl.pathname}`

/** Finds the addresses of an account; those that are the same for all are checked at once. */
const readAddresses = ({ baseUrl, tokenUrl }: ConnectionOptions, allowInsecure: boolean) => {
  const find = (source: AddressSource, accountId: string) => (typeof source === 'function' ? source(accountId) : source)
  const read = (accountId: string) => {
    const base = readUrl(find(baseUrl, accountId), 'baseUrl', allowInsecure)
    const defaultTokenUrl = `${base.origin}${base.pathname.replace(/\/+$/, '')}/oauth2/token`
    const token = readUrl(find(tokenUrl ?? defaultTokenUrl, accountId), 'tokenUrl', allowInsecure)
    return { baseUrl: base, tokenUrl: token }
  }
  if (typeof baseUrl === 'function' || typeof tokenUrl === 'function') {
    if (typeof baseUrl !== 'function') readUrl(baseUrl, 'baseUrl', allowInsecure)
    if (tokenUrl !== undefined && typeof tokenUrl !== 'function') readUrl(tokenUrl, 'tokenUrl', allowInsecure)
    return read
  }
  const only = read('')
  return () => only
}

/** Resolves with the token, or with an abort when the caller no longer waits; the fetch itself goes on for the others. */
const awaitToken = (
  token: Promise<TokenResult>,
  signal: AbortSignal | undefined,
): Promise<TokenResult | HttpFailure> => {
  if (signal === undefined) return token
  if (signal.aborted) return Promise.resolve(abortedBefore)
  return new Promise((resolve) => {
    const onAbort = () => resolve(abortedBefore)
    signal.addEventListener('abort', onAbort, { once: true })
    token.then((result) => {
      signal.removeEventListener('abort', onAbort)
      resolve(result)
    })
  })
}

/** Does exchanges, inside spans where there is telemetry; only then is the path's template made. */
type Send = ReturnType<typeof createSend>

const createSend =
  (dispatcher: Dispatcher, telemetry: Telemetry | undefined, limits: ExchangeLimits) =>
  (request: HttpRequest, template: () => string, signal?: AbortSignal): Promise<HttpAnswer | HttpFailure> => {
    if (telemetry === undefined) return exchange(dispatcher, request, limits, signal)
    return traceExchange(telemetry, request, template(), (sent) => exchange(dispatcher, sent, limits, signal))
  }

/** Bounds that suit a call say nothing about tokens: a call must not fail because its own short one met a slow grant. */
function readLimits({ timeouts, maxBodyBytes = 8 * 1024 * 1024 }: ConnectionOptions) {
  const { headersMs = 30_000, bodyMs = 30_000, totalMs = 60_000, tokenMs = 30_000 } = timeouts ?? {}
  const ofCalls: ExchangeLimits = { headersMs, bodyMs, totalMs, maxBodyBytes }
  const ofTokens: ExchangeLimits = { headersMs: tokenMs, bodyMs: tokenMs, totalMs: tokenMs, maxBodyBytes }
  return { ofCalls, ofTokens }
}

/** Opens the source of tokens of a connection. */
function openTokens(
  options: ConnectionOptions & { readonly clock: Clock; readonly userAgent: string },
  addresses: ReturnType<typeof readAddresses>,
  send: Send,
) {
  const { credentials, timeouts, environment, scope, clock, userAgent } = options
  const byAccount = typeof options.baseUrl === 'function' || typeof options.tokenUrl === 'function'
  return createTokenSource({
    tokenUrl: (accountId) => addresses(accountId).tokenUrl,
    byAccount,
    credentials,
    credentialsMs: timeouts?.credentialsMs ?? 10_000,
    environment,
    scope,
    clock,
    userAgent,
    // A path that differs by account may hold anything, and has no place in the name of a span.
    send: (request) => send(request, () => (byAccount ? '{token_endpoint}' : addresses('').tokenUrl.pathname)),
  })
}

/**
 * Opens the way to a service. Nothing is sent until the first call.
 *
 * Throws Error for an address that is not http(s), carries credentials, or is plain http to another host, and for a number that
 * is none.
 */
export function createConnection(options: ConnectionOptions): Connection {
  checkOptions(options)
  const allowInsecure = options.allowInsecure ?? false
  const addresses = readAddresses(options, allowInsecure)
  const clock = options.clock ?? { now: () => new Date() }
  const userAgent = options.userAgent ?? 'outlay-http-client/0.2.0'
  const dispatcher = options.dispatcher ?? createPool(options)
  const limits = readLimits(options)
  const telemetry = options.telemetry && foreignTelemetry(options.telemetry)
  const send = createSend(dispatcher, telemetry, limits.ofCalls)
  const sendForToken = createSend(dispatcher, telemetry, limits.ofTokens)
  const tokens = openTokens({ ...options, clock, userAgent }, addresses, sendForToken)
  const limiter = createLimiter(options.limits ?? (() => undefined), (accountId) =>
    typeof options.credentials === 'function' ? accountId : '',
  )
  const clientName = nameClients(options.serviceName)
  let closed: Promise<void> | undefined

  const perform = async (
    call: Call,
    baseUrl: URL,
    signal?: AbortSignal,
    mayBegin?: () => boolean,
  ): Promise<Attempt> => {
    const token = await awaitToken(tokens.get(call.accountId), signal)
    if (token.kind !== 'token') return token
    if (call.client !== undefined && call.client !== clientName(baseUrl, token.clientId)) return otherClient
    if (mayBegin?.() === false) return stopped
    const request = buildRequest(call, { baseUrl, userAgent }, token.value)
    const result = await send(request, () => templateOf(call), signal)
    return result.kind === 'failure' ? result : { kind: 'answer', answer: result, token: token.value }
  }
  const enter = async (accountId: string, signal: AbortSignal | undefined) => {
    const { baseUrl } = addresses(accountId)
    return { baseUrl, leave: await limiter.enter(accountId, signal) }
  }
  const sendInTurn = async (call: Call, signal?: AbortSignal, mayBegin?: () => boolean): Promise<Attempt> => {
    const entered = await enter(call.accountId, signal).catch(() => unavailable)
    if ('kind' in entered) return entered
    const { baseUrl, leave } = entered
    if (leave === undefined) return abortedBefore
    try {
      return await perform(call, baseUrl, signal, mayBegin)
    } finally {
      leave()
    }
  }

  return {
    clock,
    random: options.random ?? { fraction: () => Math.random() },
    async attempt(call, signal, mayBegin) {
      const first = await sendInTurn(call, signal, mayBegin)
      if (first.kind === 'answer' && first.answer.status === 403) tokens.doubt(call.accountId, first.token)
      if (first.kind !== 'answer' || first.answer.status !== 401) return first
      tokens.discard(call.accountId, first.token)
      return sendInTurn(call, signal, mayBegin)
    },
    async identify(accountId, wanted, signal) {
      signal?.throwIfAborted()
      const { baseUrl } = addresses(accountId)
      const isWanted = (clientId: string) => wanted === undefined || clientName(baseUrl, clientId) === wanted
      return clientName(baseUrl, await tokens.clientIdOf(accountId, isWanted))
    },
    close() {
      closed ??= options.dispatcher === undefined ? dispatcher.close() : Promise.resolve()
      return closed
    },
  }
}
