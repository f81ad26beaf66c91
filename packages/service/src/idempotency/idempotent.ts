import { fingerprint, OutlayError } from '@outlay/core'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { findAccount, notFound } from '../clients/authenticate.ts'
import { inClientTransaction, type ServiceContext, type Tx } from '../context.ts'
import { asClient } from '../database/tenant.ts'
import { checkBody, readAnyJson } from '../http/body.ts'
import { problemOf } from '../http/problem.ts'
import type { ServiceRequest } from '../http/request.ts'
import type { Caller, Scope } from '../schema/caller.ts'
import { digest } from '../secrets.ts'
import { claimKey, findKey, type KeyedRequest, type StoredResponse, storeResponse } from './keys.ts'

/** Input of the effect of a create. */
export interface CreateInput {
  readonly body: unknown
  readonly caller: Caller
  /** The account in the path. */
  readonly accountId: string
  readonly idempotencyKey: string
  readonly runLast: RunLast
}

/**
 * Runs a function after the answer is stored, right before the commit. Use it for work that locks a contended row and does not
 * change the answer. Its errors count as errors of the effect.
 */
export type RunLast = (run: () => Promise<void>) => void

/** Options of a create. */
export interface CreateOptions {
  readonly scope: Scope
  /** Status of the first success and of its replays. Default 201. */
  readonly status?: ContentfulStatusCode | undefined
  /** Encrypts the stored response, for a response with a secret. Default false. */
  readonly sealed?: boolean | undefined
  /** True for a create without a body: a body that is sent is not read. Default false. */
  readonly bodyless?: boolean | undefined
  /**
   * Work before the transaction, such as a call to a provider. A replay skips it. Its errors count as errors of the effect.
   */
  readonly prepare?: ((body: unknown) => Promise<void>) | undefined
}

interface Answer extends StoredResponse {
  readonly replayed: boolean
  readonly headers?: Readonly<Record<string, string>>
}

const mostTries = 4
const notStored = new Set(['insufficient_balance', 'account_not_ready', 'bank_login_required'])

/**
 * Runs a create of one account once per idempotency key and answers it. Key, effect and stored response commit together. A later
 * request with the same key gets the same octets and `Idempotent-Replayed: true`, even when the client no longer has the account.
 * Only answers that prove the result of the key have `Idempotency-Key-Evaluated: true`. Specification: "Idempotency behaviour".
 *
 * Deterministic refusals are stored and replayed. 5xx, 409, 429, `insufficient_balance`, `account_not_ready` and
 * `bank_login_required` are not stored, so the same key can be sent again.
 */
export async function createIdempotently(
  c: ServiceRequest,
  context: ServiceContext,
  options: CreateOptions,
  work: (tx: Tx, input: CreateInput) => Promise<unknown>,
): Promise<Response> {
  const { caller, accountId } = await findAccount(c, context, options.scope)
  if (accountId === undefined) return await replayOr(c, context, caller, options, notFound('account'))
  return await answerOnce(c, context, caller, options, (tx, input) => work(tx, { ...input, caller, accountId }))
}

/** The stored answer of the key, if any. It applies even if the account has changed since. */
async function replayOr(
  c: ServiceRequest,
  context: ServiceContext,
  caller: Caller,
  options: CreateOptions,
  refusal: OutlayError,
): Promise<Response> {
  const { request } = await readKeyed(c, context, caller, options).catch(() => {
    throw refusal
  })
  if ((await c.get('inFlight').wait(inFlightKey(request))) === 'timeout') throw keyInFlight()
  const replay = await markingEvaluated(c, { isClaimed: false }, () => findReplay(context, request))
  if (replay === undefined) throw refusal
  return respond(c, replay)
}

/** The same for a create without an account. The caller is already authenticated. */
export async function answerOnce(
  c: ServiceRequest,
  context: ServiceContext,
  caller: Caller,
  options: Omit<CreateOptions, 'scope'>,
  work: (tx: Tx, input: Pick<CreateInput, 'body' | 'idempotencyKey' | 'runLast'>) => Promise<unknown>,
): Promise<Response> {
  const { body, request } = await readKeyed(c, context, caller, options)
  const { idempotencyKey } = request
  const inFlight = c.get('inFlight')
  const key = inFlightKey(request)
  const waited = await inFlight.wait(key)
  if (waited === 'timeout') throw keyInFlight()
  const standing: KeyStanding = { isClaimed: false }
  const perform = () =>
    performOnce(c, context, request, {
      standing,
      status: options.status ?? 201,
      sealed: options.sealed ?? false,
      prepare:
        options.prepare &&
        (async () => {
          checkBody(c, body)
          await options.prepare?.(body)
        }),
      work: (tx, runLast) => {
        checkBody(c, body)
        return work(tx, { body, idempotencyKey, runLast })
      },
    })
  return await markingEvaluated(c, standing, async () => {
    const decided = waited === 'ended' ? await findReplay(context, request) : undefined
    return respond(c, decided ?? (await inFlight.track(key, perform)))
  })
}

/** The request and its key. */
async function readKeyed(
  c: ServiceRequest,
  context: ServiceContext,
  caller: Caller,
  options: Pick<CreateOptions, 'bodyless'>,
): Promise<{ readonly body: unknown; readonly request: KeyedRequest }> {
  const idempotencyKey = readIdempotencyKey(c)
  const body = options.bodyless === true ? null : await readAnyJson(c)
  const plain = fingerprint({ body, method: c.req.method, path: c.req.path }, digest)
  const print = context.secrets.mac('idempotency_key.fingerprint', plain)
  return { body, request: { clientId: caller.clientId, idempotencyKey, fingerprint: print } }
}

const inFlightKey = ({ clientId, idempotencyKey }: KeyedRequest): string => `${clientId} ${idempotencyKey}`

/** Whether the deciding transaction has the key. If so, it checked the key before it refused. */
interface KeyStanding {
  isClaimed: boolean
}

const evaluatedHeader = 'idempotency-key-evaluated'

/**
 * Marks refusals that prove the result of every request with the key. Stored refusals are answers and are marked, so a request
 * that is still in transit gets them too. Of the refusals that are not stored, only a lack of funds is marked: the same key is
 * sent again until it is decided.
 */
async function markingEvaluated<T>(c: ServiceRequest, standing: KeyStanding, answer: () => Promise<T>): Promise<T> {
  try {
    return await answer()
  } catch (error) {
    const isMismatch = OutlayError.is(error, 'idempotency_key_mismatch')
    const isShort = standing.isClaimed && OutlayError.is(error, 'insufficient_balance')
    if (isMismatch || isShort) c.header(evaluatedHeader, 'true')
    throw error
  }
}

/**
 * The key of a request: 1 to 255 visible ASCII characters, bare or as a quoted string.
 * @throws OutlayError `idempotency_key_missing`, `idempotency_key_invalid`.
 */
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

interface Effect {
  readonly standing: KeyStanding
  readonly status: number
  readonly sealed: boolean
  readonly prepare: (() => Promise<void> | undefined) | undefined
  readonly work: (tx: Tx, runLast: RunLast) => Promise<unknown>
}

async function performOnce(
  c: ServiceRequest,
  context: ServiceContext,
  request: KeyedRequest,
  effect: Effect,
): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    try {
      const answer = (await tryEffect(context, request, effect)) ?? (await findReplay(context, request))
      if (answer !== undefined) return answer
    } catch (error) {
      const refusal = refusalOf(c, error)
      if (refusal !== undefined) {
        const answer = (await storeRefusal(context, request, refusal)) ?? (await findReplay(context, request))
        if (answer !== undefined) return answer
      } else if (tries >= mostTries || !isTransient(error)) throw translated(error)
    }
    if (tries >= mostTries) throw keyInFlight()
  }
}

/** The answer of the effect; `undefined` when another request has the key. */
async function tryEffect(context: ServiceContext, request: KeyedRequest, effect: Effect): Promise<Answer | undefined> {
  const { standing } = effect
  standing.isClaimed = false
  if (effect.prepare !== undefined) {
    const replay = await findReplay(context, request)
    if (replay !== undefined) return replay
    await effect.prepare()
  }
  return await inClientTransaction(
    context,
    request.clientId,
    async (tx) => {
      standing.isClaimed = await claimOrTimeOut(tx, context, request)
      if (!standing.isClaimed) return undefined
      const last: (() => Promise<void>)[] = []
      const resource = await effect.work(tx, (run) => last.push(run))
      const response = { status: effect.status, body: JSON.stringify(resource) }
      await storeResponse(tx, context, request, response, effect.sealed)
      for (const run of last) await run()
      return { ...response, replayed: false }
    },
    boundOf(context),
  )
}

/** Stores a refusal whose effects are rolled back; `undefined` when another request got the key in the meantime. */
async function storeRefusal(
  context: ServiceContext,
  request: KeyedRequest,
  refusal: StoredResponse,
): Promise<Answer | undefined> {
  return await inClientTransaction(
    context,
    request.clientId,
    async (tx) => {
      if (!(await claimOrTimeOut(tx, context, request))) return undefined
      await storeResponse(tx, context, request, refusal, false)
      return { ...refusal, replayed: false }
    },
    boundOf(context),
  )
}

async function findReplay(context: ServiceContext, request: KeyedRequest): Promise<Answer | undefined> {
  const record = await findKey(asClient(context, request.clientId), context, request)
  if (record === undefined) return undefined
  if (record.fingerprint !== request.fingerprint)
    throw new OutlayError(
      'idempotency_key_mismatch',
      'The idempotency key cannot be reused with a different payload or URI.',
      { field: 'Idempotency-Key:' },
    )
  return { ...record.response, replayed: true }
}

async function claimOrTimeOut(tx: Tx, context: ServiceContext, request: KeyedRequest): Promise<boolean> {
  try {
    return await claimKey(tx, context, request)
  } catch (error) {
    throw sqlStateOf(error) === lockNotAvailable ? keyInFlight() : error
  }
}

/** The problem to store for an error; `undefined` when the error leaves the key free. */
function refusalOf(c: ServiceRequest, error: unknown): StoredResponse | undefined {
  if (!OutlayError.is(error) || notStored.has(error.code)) return undefined
  const { problem } = problemOf(error, c.get('requestId'))
  const storable = [400, 404, 413, 415, 422].includes(problem.status) && error.code !== 'idempotency_key_mismatch'
  return storable ? { status: problem.status, body: JSON.stringify(problem) } : undefined
}

function respond(c: ServiceRequest, answer: Answer): Response {
  return c.body(answer.body, answer.status as ContentfulStatusCode, {
    'content-type': answer.status >= 400 ? 'application/problem+json' : 'application/json',
    [evaluatedHeader]: 'true',
    ...(answer.replayed ? { 'idempotent-replayed': 'true' } : {}),
  })
}

function keyInFlight(): OutlayError {
  return new OutlayError(
    'idempotency_key_in_flight',
    'A request with this key is still being worked on; send it again after Retry-After.',
    {
      retryAfterMs: 1_000,
    },
  )
}

const lockNotAvailable = '55P03'
const transient = new Set(['40P01', '40001'])

function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || OutlayError.is(error)) return undefined
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : undefined
}

function isTransient(error: unknown): boolean {
  return transient.has(sqlStateOf(error) ?? '')
}

function translated(error: unknown): unknown {
  const state = sqlStateOf(error)
  if (state !== lockNotAvailable && !transient.has(state ?? '')) return error
  return new OutlayError(
    'service_unavailable',
    'Too many requests are in progress; send the request again with the same key.',
    {
      retryAfterMs: 1_000,
      cause: error,
    },
  )
}

function boundOf(context: ServiceContext): string {
  return `set local lock_timeout = ${Math.ceil(context.idempotencyWaitMs ?? 10_000)}`
}
