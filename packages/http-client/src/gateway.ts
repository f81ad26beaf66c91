import {
  type AnswerMarks,
  type Catalog,
  classifyAnswer,
  defaultCatalog,
  type Environment,
  type Gateway,
  type Observation,
  OutlayError,
  type RegisterResult,
  type SubmitResult,
} from '@outlay/core'
import { type Attempt, type Connection, type ConnectionOptions, createConnection } from './connection.ts'
import { createAttemptError, readAttemptRefusal } from './errors.ts'
import { type HttpAnswer, readHeader } from './exchange.ts'
import { decodePage, encodePageQuery, type ForwardCursor } from './pagination.ts'
import { isDecidedBehindKey, isMarked } from './proof.ts'
import { type Refusal, readRequestId } from './refusal.ts'
import { type Call, path } from './request.ts'
import { encodeExternalAddress } from './wire/address.ts'
import { parseJson, readId } from './wire/json.ts'
import { decodeTransfer, encodeTransferRequest, observe } from './wire/transfer.ts'

/** How the engine's gateway reaches the service. */
export interface HttpGatewayOptions extends ConnectionOptions {
  /** Name of the forward cursor. Default `page[after]`. */
  readonly forwardCursor?: ForwardCursor | undefined
  /** Value types and transfer types in whose spelling transfers are read. Default: the catalog of core. */
  readonly catalog?: Catalog | undefined
  /**
   * How long the service keeps idempotency keys for certain, in milliseconds. Default 24 hours; {@link outlayKeyLifetimeMs} for
   * the service of this project.
   */
  readonly keyLifetimeMs?: number | undefined
  /**
   * Whether the service behind it moves real money. The engine writes it into its database, and never sends a transfer of
   * another environment. Credentials that say another one are refused before anything is sent. Default: not declared.
   */
  readonly environment?: Environment | undefined
}

/**
 * How long the service of this project keeps idempotency keys for certain, in milliseconds: 20 days. It forgets them after 30 by
 * default, counted from their first use; the difference is for clocks, for requests that are long on their way, and for people
 * who decide.
 */
export const outlayKeyLifetimeMs = 20 * 24 * 3_600_000

/**
 * Makes the engine's way to a service over HTTP.
 *
 * It repeats nothing by itself, except once with a fresh token after a 401: the engine owns the retries, because it
 * remembers attempts in the database and this process may not live to see the next one.
 *
 * Its connections are the caller's to close, as engines do not. Idle ones end after ten seconds and keep no process alive.
 *
 * @example
 * const gateway = httpGateway({ baseUrl: 'https://api.example.com', credentials: (accountId) => vault.read(accountId) })
 */
export function httpGateway(options: HttpGatewayOptions): Gateway {
  const connection = createConnection(options)
  const { forwardCursor = 'page[after]', catalog = defaultCatalog, keyLifetimeMs } = options
  return {
    keyLifetimeMs,
    ...(options.environment === undefined ? {} : { environment: options.environment }),
    identify: (accountId, { signal, wanted }) => connection.identify(accountId, wanted, signal),
    async submit(submission, { signal, mayBegin }) {
      const call: Call = {
        accountId: submission.accountId,
        method: 'POST',
        path: path`/accounts/${submission.accountId}/transfers`,
        body: JSON.stringify(encodeTransferRequest(submission.request)),
        idempotencyKey: submission.idempotencyKey,
        client: submission.client,
      }
      return readSubmitResult(call, await connection.attempt(call, signal, mayBegin), connection.clock.now(), catalog)
    },
    async registerAddress(registration, { signal, mayBegin }) {
      const call: Call = {
        accountId: registration.accountId,
        method: 'POST',
        path: path`/accounts/${registration.accountId}/addresses/external`,
        body: JSON.stringify(encodeExternalAddress(registration.address)),
        idempotencyKey: registration.idempotencyKey,
      }
      return readRegisterResult(call, await connection.attempt(call, signal, mayBegin), connection.clock.now())
    },
    async get(accountId, remoteId, { signal }) {
      const call: Call = { accountId, method: 'GET', path: path`/accounts/${accountId}/transfers/${remoteId}` }
      const body = await read(connection, call, signal)
      return body === undefined ? undefined : observe(decodeTransfer(body, catalog))
    },
    async list(accountId, { cursor, limit, signal }) {
      const query = encodePageQuery({}, { pageSize: Math.min(Math.max(limit, 1), 100), after: cursor }, forwardCursor)
      const call: Call = { accountId, method: 'GET', path: path`/accounts/${accountId}/transfers` + query }
      const body = (await read(connection, call, signal)) ?? []
      const page = decodePage(body, 'transfers', (item) => observeLoosely(item, catalog))
      return { observations: page.items.filter((item) => item !== undefined).slice(0, limit), next: page.next }
    },
    close: () => connection.close(),
  }
}

/** One transfer that cannot be read must not hide the others of its page; the engine reads it by itself then. */
const observeLoosely = (item: unknown, catalog: Catalog): Observation | undefined => {
  try {
    return observe(decodeTransfer(item, catalog))
  } catch (error) {
    if (OutlayError.is(error, 'unreadable_response')) return undefined
    throw error
  }
}

const read = async (connection: Connection, call: Call, signal: AbortSignal): Promise<unknown> => {
  const attempt = await connection.attempt(call, signal)
  if (attempt.kind === 'answer' && attempt.answer.status === 404) return undefined
  if (attempt.kind === 'answer' && isSuccess(attempt.answer)) return parseJson(attempt.answer.text)
  throw createAttemptError(call, attempt, connection.clock.now(), false)
}

/** Longest text about a refused request, in characters. */
const longestDetail = 500

const isSuccess = ({ status }: HttpAnswer): boolean => status >= 200 && status < 300

/**
 * Says what an attempt of a create means for its transfer. Pure, and total: every answer and every failure has a result.
 *
 * What never left is `throttled`, not `unknown`: no money can have moved, so the transfer stays free to be canceled.
 */
export function readSubmitResult(
  call: Call,
  attempt: Attempt,
  now: Date,
  catalog: Catalog = defaultCatalog,
): SubmitResult {
  return readCreateResult(call, attempt, now, '', (body) => observeLoosely(body, catalog))
}

/**
 * Says what an attempt to register a counterparty came to. Pure, and total. What is wrong with the address is told under the
 * name that it has in the transfer, `destination.address.accountNumber`.
 */
function readRegisterResult(call: Call, attempt: Attempt, now: Date): RegisterResult {
  const result = readCreateResult(call, attempt, now, 'destination.address.', () => undefined)
  if (result.outcome === 'insufficient_balance') return { ...result, outcome: 'rejected', code: result.outcome }
  if (result.outcome !== 'accepted') return result
  const { remoteId, httpStatus, requestId, keyEvaluated } = result
  return { outcome: 'accepted', addressId: remoteId, httpStatus, requestId, keyEvaluated }
}

type ObserveBody = (body: unknown) => Observation | undefined

const readCreateResult = (
  call: Call,
  attempt: Attempt,
  now: Date,
  under: string,
  observeBody: ObserveBody,
): SubmitResult => {
  switch (attempt.kind) {
    case 'denied':
      return { outcome: 'unauthorized', detail: attempt.detail }
    case 'unavailable':
      return { outcome: 'throttled', retryAfterMs: attempt.retryAfterMs, detail: `not sent: ${attempt.detail}` }
    case 'failure':
      if (attempt.sent) return { outcome: 'unknown', detail: attempt.detail }
      return { outcome: 'throttled', detail: `not sent: ${attempt.detail}` }
    case 'answer':
      if (isSuccess(attempt.answer)) return readAccepted(attempt.answer, observeBody)
      return readRefused(call, attempt, now, under)
  }
}

const readAccepted = (answer: HttpAnswer, observeBody: ObserveBody): SubmitResult => {
  const marks: AnswerMarks = {
    httpStatus: answer.status,
    requestId: readRequestId(answer),
    keyEvaluated: isMarked(answer),
  }
  try {
    const body = parseJson(answer.text)
    const remoteId = readId(body)
    if (remoteId === undefined) return { ...marks, outcome: 'unknown', detail: `HTTP ${answer.status}, but no id` }
    // A body with an id is an acceptance, even when the rest of it is missing or makes no sense: the next look will tell.
    return { ...marks, outcome: 'accepted', remoteId, keyEvaluated: true, observation: observeBody(body) }
  } catch (error) {
    const why = OutlayError.is(error) ? error.message : 'unreadable'
    return { ...marks, outcome: 'unknown', detail: `HTTP ${answer.status}, but ${why}` }
  }
}

const readRefused = (call: Call, attempt: Attempt & { kind: 'answer' }, now: Date, under: string): SubmitResult => {
  const refusal = readAttemptRefusal(call, attempt, now)
  const { status, code, detail, requestId, retryAfterMs } = refusal
  const marks: AnswerMarks = {
    httpStatus: status,
    requestId,
    keyEvaluated: isDecidedBehindKey(attempt.answer, refusal),
  }
  const mayHaveActed = !isOwnAnswer(attempt.answer, refusal)
  const outcome = classifyAnswer({ status, code: refusal.stated || isHarmless(code) ? code : undefined })
  switch (outcome) {
    case 'rejected':
      return { ...marks, outcome, code: code ?? `http_${status}`, detail: tellMembers(refusal, under) }
    case 'throttled':
      return { ...marks, outcome, retryAfterMs, detail, mayHaveActed }
    case 'unknown':
      return { ...marks, outcome, retryAfterMs, detail }
    case 'accepted':
      throw new Error('readRefused is for refusals')
    case 'unauthorized':
      return { ...marks, outcome, detail, mayHaveActed }
    default:
      return { ...marks, outcome, detail }
  }
}

/**
 * Whether the service itself refused. A page without a code may be a proxy's, written after the service has acted; but who asks
 * for credentials as RFC 9110 says has passed nothing on.
 */
const isOwnAnswer = (answer: HttpAnswer, { stated }: Refusal): boolean =>
  stated || (answer.status === 401 && readHeader(answer, 'www-authenticate') !== undefined)

/** Codes that end nothing: the same key goes out again, or a person decides. They are believed when a sentence gives them away. */
const isHarmless = (code: string | undefined): boolean =>
  code === 'insufficient_balance' || code === 'idempotency_key_mismatch'

/** What is wrong with which member of the request, where the service says so: a failed transfer shows nothing else of it. */
const tellMembers = ({ detail, issues }: Refusal, under: string): string => {
  const told = issues
    .filter(({ field }) => field !== '')
    .map(({ field, message }) => (message.startsWith(field) ? under + message : `${under}${field}: ${message}`))
  return told.length === 0 ? detail : told.join('; ').slice(0, longestDetail)
}
