import { type Clock, type Environment, OutlayError, type Random, type Telemetry } from '@outlay/core'
import { checkNames, checkNumbers, foreignTelemetry, timerRange } from '@outlay/core/adapter'
import type { Dispatcher } from 'undici'
import {
  type ExchangeLimits,
  exchange,
  type HttpAnswer,
  type HttpFailure,
  type HttpRequest,
  stopped,
} from './exchange.ts'
import { type CallLimitsSource, createLimiter } from './limiter.ts'
import { createPool, type Pool, poolOf } from './pool.ts'
import { isOwnRefusal } from './proof.ts'
import { buildRequest, type Call } from './request.ts'
import { templateOf, traceExchange } from './telemetry.ts'
import { type CredentialsSource, checkSource, createTokenSource, type TokenResult } from './token.ts'

/** How a client or a gateway reaches the service. */
export interface ConnectionOptions {
  /**
   * Address of the service, or a function that returns the address of an account, for example by its environment. The address may
   * have a path, and has no query and no fragment. http is allowed for loopback only, unless `allowInsecure` is set.
   */
  readonly baseUrl: AddressSource
  /** Address of the token endpoint. Default: `/oauth2/token` below the base address. */
  readonly tokenUrl?: AddressSource | undefined
  readonly credentials: CredentialsSource
  /** Environment that the credentials must be for, if they declare one. Default: any environment. */
  readonly environment?: Environment | undefined
  /** Scopes to request, separated by spaces. Default: all scopes of the credentials. */
  readonly scope?: string | undefined
  readonly timeouts?: Timeouts | undefined
  /**
   * Limits on the calls of each pair of credentials. They apply to all accounts together when `credentials` is one pair, and to
   * each account when it is a function. Limits given as a function apply to each account. The timeouts of a call begin after it
   * has waited for its permit. A call that is aborted while it waits is not sent. Requests for tokens do not count. Default: none.
   */
  readonly limits?: CallLimitsSource | undefined
  /** Maximum number of connections to one origin. Each carries one request at a time. Default 64. */
  readonly maxConcurrent?: number | undefined
  /** Maximum length of an answer, in bytes. Default 8 MiB. */
  readonly maxBodyBytes?: number | undefined
  /**
   * An undici dispatcher to use instead of the built-in pool, for example a proxy. `close` does not close it. In Bun, import its class from
   * `undici/index.js`.
   */
  readonly dispatcher?: Dispatcher | undefined
  /** Default: the system's clock. */
  readonly clock?: Clock | undefined
  /** Default: the system's randomness. */
  readonly random?: Pick<Random, 'fraction'> | undefined
  readonly userAgent?: string | undefined
  /**
   * Identifies the service when processes reach it at several addresses. Idempotency keys are unique within a service and a
   * client. Default: the base address.
   */
  readonly serviceName?: string | undefined
  /** Traces requests and propagates the trace, for example `openTelemetry()` of `@outlay/opentelemetry`. Default: none. */
  readonly telemetry?: Telemetry | undefined
  /** Allows http to hosts other than loopback, where secrets can be read in transit. Default false. */
  readonly allowInsecure?: boolean | undefined
}

/** One address for every account, or a function that returns the address of an account. */
export type AddressSource = string | URL | ((accountId: string) => string | URL)

/** Time limits of one attempt, in milliseconds. */
export interface Timeouts {
  /** To establish a connection. Default 5 000. */
  readonly connectMs?: number | undefined
  /** From the request to the last header of its answer. Default 30 000. */
  readonly headersMs?: number | undefined
  /** Between two pieces of the body. Default 30 000. */
  readonly bodyMs?: number | undefined
  /** The whole attempt, including the wait for a free connection. Default 60 000. */
  readonly totalMs?: number | undefined
  /** For `credentials` to return the pair of an account. After it, nothing is sent. Default 10 000. */
  readonly credentialsMs?: number | undefined
  /** For a request for a token. All calls that wait for the token share it, and it does not count against their limits. Default 30 000. */
  readonly tokenMs?: number | undefined
}

/** What one attempt of a call came to. */
export type Attempt = (
  | { readonly kind: 'answer'; readonly answer: HttpAnswer; readonly token: string }
  | HttpFailure
  | Exclude<TokenResult, { kind: 'token' }>
) & {
  /** True when the first of its two requests may have been carried out, whatever became of the second. */
  readonly mayHaveActed?: boolean | undefined
}

/** A connection to one service: its pool, its tokens, its clock. */
export interface Connection {
  readonly clock: Clock
  readonly random: Pick<Random, 'fraction'>
  /**
   * Makes one call. It retries once, with a fresh token, after a 401; the retry has the same idempotency key and the same bytes.
   * It sends nothing when `mayBegin` returns false, which it calls when it has the token and its permit, and again when it has a
   * connection.
   */
  attempt(call: Call, signal?: AbortSignal, mayBegin?: () => boolean): Promise<Attempt>
  /** Identity of the account's next call: the service's address and the client, without a secret. Rejects when it is unknown. */
  identify(accountId: string, wanted?: string, signal?: AbortSignal): Promise<string>
  /** Closes idle connections at once, and the others when their requests are done. Safe to call twice. */
  close(): Promise<void>
}

const loopback = /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/** What is wrong with a text that is no address. The text itself may be a secret in the wrong place. */
const describeText = (value: unknown): string => {
  if (typeof value !== 'string') return `it is ${value === null ? 'null' : typeof value}`
  if (value.trim() === '') return 'it is empty'
  return /^https?:/i.test(value) ? 'it cannot be read as one' : 'it does not begin with https://'
}

const parseUrl = (value: string | URL, name: string): URL => {
  const example = `${name} must be an http or https address such as https://api.example.com`
  const url = URL.canParse(String(value)) ? new URL(value) : undefined
  if (url?.protocol === 'https:' || url?.protocol === 'http:') return url
  throw new Error(`${example}; ${describeText(value instanceof URL ? value.href : value)}`)
}

const readUrl = (value: string | URL, name: string, allowInsecure: boolean): URL => {
  const url = parseUrl(value, name)
  if (url.username !== '' || url.password !== '')
    throw new Error(`${name} must not contain credentials; use the option for them`)
  // A token endpoint may have a query, by RFC 6749.
  const extra = url.hash !== '' ? 'fragment' : url.search !== '' && name === 'baseUrl' ? 'query' : undefined
  if (extra !== undefined)
    throw new Error(
      `${name} must have no ${extra}, which no request would carry: end it at its path, such as https://api.example.com/v1`,
    )
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
  tokenMs: timerRange,
}

const connectionNames = [
  'baseUrl',
  'tokenUrl',
  'credentials',
  'environment',
  'scope',
  'timeouts',
  'limits',
  'maxConcurrent',
  'maxBodyBytes',
  'dispatcher',
  'clock',
  'random',
  'userAgent',
  'serviceName',
  'telemetry',
  'allowInsecure',
]

const checkOptions = (options: ConnectionOptions, others: readonly string[]): void => {
  const { maxConcurrent, maxBodyBytes, timeouts } = options
  checkNames(options, [...connectionNames, ...others])
  checkNames(timeouts, Object.keys(timeoutRanges), 'timeouts')
  const ranges = { maxConcurrent: { min: 1, max: 100_000, integer: true }, maxBodyBytes: { min: 1, integer: true } }
  checkNumbers({ maxConcurrent, maxBodyBytes }, ranges)
  checkNumbers({ ...timeouts }, timeoutRanges, 'timeouts.')
}

const abortedBefore = {
  kind: 'failure',
  reason: 'aborted',
  sent: false,
  detail: 'aborted before it was sent',
} as const

/** The module that sends is missing, as from a bundle without its parts. */
const unloaded = {
  kind: 'failure',
  reason: 'connection',
  sent: false,
  detail: 'undici could not be loaded',
  obstacle: 'misconfigured',
} as const

/** A host's function failed. Its message is not reported, because it may contain anything. */
const unavailable = {
  kind: 'unavailable',
  obstacle: 'misconfigured',
  detail: 'the address or the limits of the account could not be found',
} as const

/** What a second request came to, marked where the first one may have been carried out behind its refusal. */
const afterRefusal = (refused: HttpAnswer, second: Attempt, now: Date): Attempt =>
  isOwnRefusal(refused, now) ? second : { ...second, mayHaveActed: true }

/** The credentials changed between the question as whom a call is sent, and the call. */
const otherClient = { kind: 'unavailable', detail: 'the credentials now belong to another client' } as const

/** Identifies the service and the client, within which keys are unique. An address contains no space. */
const nameClients =
  (serviceName: string | undefined) =>
  (baseUrl: URL, clientId: string): string =>
    `${clientId} ${serviceName ?? baseUrl.origin + baseUrl.pathname}`

/** Finds the addresses of an account. Addresses that are the same for all accounts are checked at once. */
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

/** The addresses of an account. Throws OutlayError `invalid_request` when the host's function does not return them. */
const requireAddresses = (addresses: ReturnType<typeof readAddresses>, accountId: string) => {
  try {
    return addresses(accountId)
  } catch {
    throw new OutlayError('invalid_request', 'the address of the account could not be found', { field: 'baseUrl' })
  }
}

/** Resolves with the token, or with an abort when the caller no longer waits. The fetch continues for the other callers. */
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

/** Makes exchanges, inside spans when there is telemetry. Only then does it build the path's template. */
type Send = ReturnType<typeof createSend>

const createSend =
  (pool: Pool, telemetry: Telemetry | undefined, limits: ExchangeLimits) =>
  (
    request: HttpRequest,
    template: () => string,
    signal?: AbortSignal,
    mayBegin?: () => boolean,
  ): Promise<HttpAnswer | HttpFailure> => {
    const make = async (sent: HttpRequest) => {
      const dispatcher = await pool.open().catch(() => undefined)
      return dispatcher === undefined ? unloaded : exchange(dispatcher, sent, limits, signal, mayBegin)
    }
    return telemetry === undefined ? make(request) : traceExchange(telemetry, request, template(), make)
  }

/** Tokens have time limits of their own: a call with a short limit must not fail because a grant is slow. */
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
    // A path that differs by account may contain anything, and must not be in the name of a span.
    send: (request) => send(request, () => (byAccount ? '{token_endpoint}' : addresses('').tokenUrl.pathname)),
  })
}

/**
 * Opens a connection to a service. Sends nothing until the first call.
 *
 * Throws Error for an address that is not http(s), carries credentials, a fragment or, as `baseUrl`, a query, or is plain http to another host, for credentials that are
 * no pair, and for a number that is not valid. OutlayError `invalid_request` for an option that is neither of a connection nor one of `others`.
 */
export function createConnection(options: ConnectionOptions, others: readonly string[] = []): Connection {
  checkOptions(options, others)
  checkSource(options.credentials)
  const allowInsecure = options.allowInsecure ?? false
  const addresses = readAddresses(options, allowInsecure)
  const clock = options.clock ?? { now: () => new Date() }
  const userAgent = options.userAgent ?? 'outlay-http-client/0.2.0'
  const pool =
    options.dispatcher === undefined
      ? createPool({ maxConcurrent: options.maxConcurrent, connectMs: options.timeouts?.connectMs })
      : poolOf(options.dispatcher)
  const limits = readLimits(options)
  const telemetry = options.telemetry && foreignTelemetry(options.telemetry)
  const send = createSend(pool, telemetry, limits.ofCalls)
  const sendForToken = createSend(pool, telemetry, limits.ofTokens)
  const tokens = openTokens({ ...options, clock, userAgent }, addresses, sendForToken)
  const limiter = createLimiter(options.limits ?? (() => undefined), (accountId) =>
    typeof options.credentials === 'function' ? accountId : '',
  )
  const clientName = nameClients(options.serviceName)

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
    const result = await send(request, () => templateOf(call), signal, mayBegin)
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
      return afterRefusal(first.answer, await sendInTurn(call, signal, mayBegin), clock.now())
    },
    async identify(accountId, wanted, signal) {
      signal?.throwIfAborted()
      const { baseUrl } = requireAddresses(addresses, accountId)
      const isWanted = (clientId: string) => wanted === undefined || clientName(baseUrl, clientId) === wanted
      return clientName(baseUrl, await tokens.clientIdOf(accountId, isWanted))
    },
    close: () => pool.close(),
  }
}
