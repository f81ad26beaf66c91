import {
  type AnswerMarks,
  type Catalog,
  defaultCatalog,
  type Environment,
  type Gateway,
  type Observation,
  OutlayError,
  type RegisterResult,
  type SubmitResult,
} from '@outlay/core'
import { classifyAnswer } from '@outlay/core/adapter'
import { type Attempt, type Connection, type ConnectionOptions, createConnection } from './connection.ts'
import { type Dialect, readDialect } from './dialect.ts'
import { createAttemptError, readAttemptRefusal } from './errors.ts'
import type { HttpAnswer } from './exchange.ts'
import { decodePage, encodePageQuery, type ForwardCursor } from './pagination.ts'
import { isDecidedBehindKey, isKept, isMarked, isOwnAnswer } from './proof.ts'
import { type Refusal, readRequestId } from './refusal.ts'
import { type Call, path } from './request.ts'
import { encodeExternalAddress } from './wire/address.ts'
import { parseJson, readId } from './wire/json.ts'
import { decodeTransfer, encodeTransferRequest, observe } from './wire/transfer.ts'

/** Options of {@link httpGateway}. */
export interface HttpGatewayOptions extends ConnectionOptions {
  /** Name of the forward cursor. Default `page[after]`. */
  readonly forwardCursor?: ForwardCursor | undefined
  /** Value types and transfer types whose spelling transfers get. Default: the catalog of core. */
  readonly catalog?: Catalog | undefined
  /**
   * The contract that requests follow where one request cannot satisfy both, and that says whether a failure may be retried where the
   * service does not. Do not change it while outcomes are unknown: the same payment would have another body. Default:
   * `specification`.
   */
  readonly dialect?: Dialect | undefined
  /**
   * How long the service is guaranteed to keep idempotency keys, in milliseconds. Default 24 hours. For the service of this
   * project, use {@link outlayKeyLifetimeMs}.
   */
  readonly keyLifetimeMs?: number | undefined
  /**
   * Whether the service moves real money. The engine writes the environment into its database and never sends a transfer of
   * another environment. Credentials that declare another one are refused before anything is sent. Default: not declared.
   */
  readonly environment?: Environment | undefined
}

/**
 * How long the service of this project is guaranteed to keep idempotency keys, in milliseconds: 20 days. By default, it deletes
 * them 30 days after their first use. The difference allows for clock skew, slow requests and people who decide.
 */
export const outlayKeyLifetimeMs = 20 * 24 * 3_600_000

/**
 * Makes a gateway that reaches the service over HTTP.
 *
 * It retries only once, with a fresh token, after a 401. The engine owns all other retries: it records attempts in the
 * database, and this process may end before the next one.
 *
 * The caller closes its connections; engines do not. Idle ones close after ten seconds and do not keep the process alive.
 *
 * @example
 * const gateway = httpGateway({ baseUrl: 'https://api.example.com', credentials: (accountId) => vault.read(accountId) })
 */
export function httpGateway(options: HttpGatewayOptions): Gateway {
  const dialect = readDialect(options.dialect)
  const connection = createConnection(options, ['forwardCursor', 'catalog', 'dialect', 'keyLifetimeMs'])
  const { forwardCursor = 'page[after]', catalog = defaultCatalog, keyLifetimeMs } = options
  const observeItem = (item: unknown) => observe(decodeTransfer(item, catalog, dialect))
  return {
    keyLifetimeMs,
    reportsReturns: true,
    ...(options.environment === undefined ? {} : { environment: options.environment }),
    identify: (accountId, { signal, wanted }) => connection.identify(accountId, wanted, signal),
    async submit(submission, { signal, mayBegin }) {
      const call: Call = {
        accountId: submission.accountId,
        method: 'POST',
        path: path`/accounts/${submission.accountId}/transfers`,
        body: JSON.stringify(encodeTransferRequest(submission.request, dialect)),
        idempotencyKey: submission.idempotencyKey,
        client: submission.client,
      }
      const attempt = await connection.attempt(call, signal, mayBegin)
      return readSubmitResult(call, attempt, connection.clock.now(), catalog, dialect)
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
      return body === undefined ? undefined : observeItem(body)
    },
    async list(accountId, { cursor, limit, signal }) {
      const query = encodePageQuery({}, { pageSize: Math.min(Math.max(limit, 1), 100), after: cursor }, forwardCursor)
      const call: Call = { accountId, method: 'GET', path: path`/accounts/${accountId}/transfers` + query }
      const page = decodePage(await readKnown(connection, call, signal), 'transfers', observeItem)
      return { observations: page.items, next: page.next, unreadable: page.unreadable.length }
    },
    close: () => connection.close(),
  }
}

/** Undefined for what cannot be read, which is no outcome. The engine then polls that transfer alone. */
const observeLoosely = (item: unknown, catalog: Catalog, dialect: Dialect): Observation | undefined => {
  try {
    return observe(decodeTransfer(item, catalog, dialect))
  } catch (error) {
    if (OutlayError.is(error, 'unreadable_response')) return undefined
    throw error
  }
}

/** Undefined for what the service says that it does not know. */
const read = (connection: Connection, call: Call, signal: AbortSignal): Promise<unknown> =>
  readKnown(connection, call, signal).catch((error: unknown) => {
    if (OutlayError.is(error, 'not_found') && error.status === 404) return undefined
    throw error
  })

const readKnown = async (connection: Connection, call: Call, signal: AbortSignal): Promise<unknown> => {
  const attempt = await connection.attempt(call, signal)
  if (attempt.kind === 'answer' && isSuccess(attempt.answer)) return parseJson(attempt.answer.text)
  throw createAttemptError(call, attempt, connection.clock.now(), false)
}

/** Longest text about a refused request, in characters. */
const longestDetail = 500

const isSuccess = ({ status }: HttpAnswer): boolean => status >= 200 && status < 300

/**
 * Returns the outcome of an attempt to create a transfer. Pure and total: every answer and every failure has an outcome.
 *
 * What never left is `throttled`, not `unknown`: no money can have moved, so the transfer stays free to be canceled. Where a first
 * request with another token may have been carried out, every answer that is no proof says so.
 */
export function readSubmitResult(
  call: Call,
  attempt: Attempt,
  now: Date,
  catalog: Catalog = defaultCatalog,
  dialect: Dialect = 'specification',
): SubmitResult {
  return readCreateResult(call, attempt, now, '', (body) => observeLoosely(body, catalog, dialect))
}

/**
 * Returns the outcome of an attempt to register a counterparty. Pure and total. Issues of the address have the name of the
 * member in the transfer, `destination.address.accountNumber`.
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
  const { mayHaveActed } = attempt
  switch (attempt.kind) {
    case 'denied':
      return { outcome: 'unauthorized', detail: attempt.detail, mayHaveActed }
    case 'unavailable': {
      const { retryAfterMs, detail, obstacle } = attempt
      return { outcome: 'throttled', retryAfterMs, detail: `not sent: ${detail}`, mayHaveActed, obstacle }
    }
    case 'failure':
      if (attempt.sent) return { outcome: 'unknown', detail: attempt.detail }
      return { outcome: 'throttled', detail: `not sent: ${attempt.detail}`, mayHaveActed, obstacle: attempt.obstacle }
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
    // A body with an id is an acceptance, even when the rest is missing or invalid: the next poll reads the status.
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
    ...(attempt.mayHaveActed || !isOwnAnswer(attempt.answer, refusal) ? { mayHaveActed: true } : {}),
  }
  const outcome = classifyAnswer({ status, code: refusal.stated || isHarmless(code) ? code : undefined })
  switch (outcome) {
    case 'rejected':
      return {
        ...marks,
        ...(isKept(attempt.answer, refusal) ? { keyClosed: true } : {}),
        outcome,
        code: code ?? `http_${status}`,
        detail: listMembers(refusal, under),
      }
    case 'throttled':
      return { ...marks, outcome, retryAfterMs, detail }
    case 'unknown':
      if (!isWrongPath(refusal)) return { ...marks, outcome, retryAfterMs, detail }
      return { ...marks, outcome, obstacle: 'misconfigured', detail: `${detail}; is the path of baseUrl right?` }
    case 'accepted':
      throw new Error('readRefused is for refusals')
    default:
      return { ...marks, outcome, detail }
  }
}

/** True for what a server answers that does not have the path. Without a code it proves nothing, so the outcome is unknown all the same. */
const isWrongPath = ({ status, stated }: Refusal): boolean =>
  !stated && (status === 404 || status === 405 || status === 410 || (status >= 300 && status < 400))

/** Codes that end nothing: the same key goes out again, or a person decides. They are believed when a sentence gives them away. */
const isHarmless = (code: string | undefined): boolean =>
  code === 'insufficient_balance' || code === 'idempotency_key_mismatch'

/** The issues by member of the request, if the service names them: a failed transfer shows nothing else of the refusal. */
const listMembers = ({ detail, issues }: Refusal, under: string): string => {
  const described = issues
    .filter(({ field }) => field !== '')
    .map(({ field, message }) => (message.startsWith(field) ? under + message : `${under}${field}: ${message}`))
  return described.length === 0 ? detail : described.join('; ').slice(0, longestDetail)
}
