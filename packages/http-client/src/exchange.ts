import type { Obstacle } from '@outlay/core'
import type { Dispatcher } from 'undici'

/** One complete HTTP request, ready to be sent. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  readonly origin: string
  /** Path with its query, percent-encoded. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

/** A complete answer: status, headers and the whole body. */
export interface HttpAnswer {
  readonly kind: 'answer'
  readonly status: number
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** No complete answer arrived. */
export interface HttpFailure {
  readonly kind: 'failure'
  readonly reason: 'timeout' | 'aborted' | 'connection' | 'body_too_large'
  /** False only when no byte of the request was sent: it was refused before, or still waited for a connection. */
  readonly sent: boolean
  /** One phrase without hosts, credentials or content. */
  readonly detail: string
  /** What kept the request from being sent; absent when it was sent, or when this side did not want it any more. */
  readonly obstacle?: Obstacle | undefined
}

/** Limits of one exchange. */
export interface ExchangeLimits {
  /** From the request to the last header, in milliseconds. */
  readonly headersMs: number
  /** Between two pieces of the body, in milliseconds. */
  readonly bodyMs: number
  /** The whole exchange, including the wait for a connection, in milliseconds. */
  readonly totalMs: number
  /** Maximum length of a body, in bytes. */
  readonly maxBodyBytes: number
}

interface Progress {
  sent: boolean
  status: number
  headers: HttpAnswer['headers']
  chunks: Buffer[]
  bytes: number
}

const timeoutCodes = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
])

/**
 * Codes of a handshake that fails until a person corrects the certificate, the trusted authorities or the scheme. OpenSSL's are
 * those of its verification, and Node's begin with ERR_.
 */
const handshakeCodes =
  /^(ERR_SSL_|ERR_TLS_CERT|EPROTO$|CERT_|CRL_|HOSTNAME_MISMATCH|INVALID_|PATH_LENGTH|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|UNABLE_TO_(GET|VERIFY|DECODE|DECRYPT)_)/

const phrase = (code: string, reason: HttpFailure['reason']): string => {
  if (reason === 'timeout') return `timed out (${code})`
  if (code === 'ECONNREFUSED') return `connection refused: nothing listens at the address (${code})`
  if (code === 'ENOTFOUND') return `the host name has no address (${code})`
  return handshakeCodes.test(code)
    ? `TLS failed, by the certificate or the scheme (${code})`
    : `connection failed (${code})`
}

/** The code of a failure. Of a host with several addresses, each of which failed, that of the first. */
const codeOf = (error: unknown): string => {
  if (typeof error !== 'object' || error === null) return 'unknown'
  if ('code' in error && error.code !== undefined) return String(error.code)
  return 'errors' in error && Array.isArray(error.errors) ? codeOf(error.errors[0]) : 'unknown'
}

const describeFailure = (error: unknown, sent: boolean): HttpFailure => {
  const code = codeOf(error)
  const reason = timeoutCodes.has(code) ? 'timeout' : 'connection'
  const detail = phrase(code, reason)
  if (sent) return failure(reason, sent, detail)
  return { ...failure(reason, sent, detail), obstacle: handshakeCodes.test(code) ? 'misconfigured' : 'unreachable' }
}

const failure = (reason: HttpFailure['reason'], sent: boolean, detail: string): HttpFailure => ({
  kind: 'failure',
  reason,
  sent,
  detail,
  ...(reason === 'timeout' && !sent ? { obstacle: 'unreachable' as const } : {}),
})

/** Sending was stopped while the request waited. */
export const stopped = failure('aborted', false, 'stopped before it was sent')

/**
 * Makes one HTTP exchange. Always resolves with a value; a failure of the network is a value too.
 *
 * It uses the dispatcher directly rather than streams, because only the dispatcher reports whether a failed request was sent.
 * The outcome of a request that was never sent is not unknown. It also reports when a request begins, after it has waited for a
 * connection: `mayBegin` is asked then.
 */
export function exchange(
  dispatcher: Dispatcher,
  request: HttpRequest,
  limits: ExchangeLimits,
  signal?: AbortSignal,
  mayBegin?: () => boolean,
): Promise<HttpAnswer | HttpFailure> {
  if (signal?.aborted) return Promise.resolve(failure('aborted', false, 'aborted before it was sent'))
  return new Promise((resolve) => {
    const progress: Progress = { sent: false, status: 0, headers: {}, chunks: [], bytes: 0 }
    let settled = false
    let controller: Dispatcher.DispatchController | undefined
    const settle = (result: HttpAnswer | HttpFailure) => {
      if (settled) return
      settled = true
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      resolve(result)
    }
    const give = (reason: HttpFailure['reason'], detail: string) => {
      settle(failure(reason, progress.sent, detail))
      controller?.abort(new Error(detail))
    }
    const onAbort = () => give('aborted', progress.sent ? 'aborted while in flight' : 'aborted before it was sent')
    const timer = setTimeout(() => give('timeout', 'timed out (whole exchange)'), limits.totalMs)
    signal?.addEventListener('abort', onAbort, { once: true })
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        controller = started
        if (!settled && mayBegin?.() === false) settle(stopped)
        if (settled) started.abort(new Error('abandoned before it was sent'))
        else progress.sent = true
      },
      onResponseStart(_, status, headers) {
        progress.status = status
        progress.headers = headers
      },
      onResponseData(_, chunk) {
        progress.bytes += chunk.length
        if (progress.bytes > limits.maxBodyBytes) give('body_too_large', 'answer is too large')
        else progress.chunks.push(chunk)
      },
      onResponseEnd: () => settle(readAnswer(progress)),
      onResponseError: (_, error) => settle(describeFailure(error, progress.sent)),
    }
    try {
      dispatcher.dispatch({ ...request, body: request.body ?? null, ...timeouts(limits) }, handler)
    } catch (error) {
      settle(describeFailure(error, progress.sent))
    }
  })
}

const timeouts = (limits: ExchangeLimits) => ({ headersTimeout: limits.headersMs, bodyTimeout: limits.bodyMs })

const readAnswer = (progress: Progress): HttpAnswer => {
  const [only] = progress.chunks
  const body = progress.chunks.length === 1 && only !== undefined ? only : Buffer.concat(progress.chunks)
  return { kind: 'answer', status: progress.status, headers: progress.headers, text: body.toString('utf8') }
}

/** One header as text; the first value when it was sent several times. */
export function readHeader(answer: HttpAnswer, name: string): string | undefined {
  const value = answer.headers[name]
  return typeof value === 'string' ? value : value?.[0]
}
