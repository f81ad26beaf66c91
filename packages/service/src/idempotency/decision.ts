import { OutlayError } from '@outlay/core'
import { inClientTransaction, type ServiceContext, type Tx } from '../context.ts'
import { isConflict, sqlStateOf } from '../database/conflict.ts'
import { asClient } from '../database/tenant.ts'
import { problemOf } from '../http/problem.ts'
import { claimKey, findKey, type KeyedRequest, type StoredResponse, storeResponse } from './keys.ts'

/** The stored answer of a key. */
export interface Answer extends StoredResponse {
  readonly replayed: boolean
}

/** What was decided about a request: an answer that is stored, or an error that is not. */
export type Decision =
  | { readonly kind: 'answered'; readonly answer: Answer }
  | {
      readonly kind: 'refused'
      readonly error: unknown
      /**
       * True when the error proves the result of every request with the key. Of the refusals that are not stored, only a lack of
       * funds does: the same key is sent again until it is decided.
       */
      readonly isEvaluated: boolean
    }

/**
 * Runs a function after the answer is stored, right before the commit. Use it for work that locks a contended row and does not
 * change the answer. Its errors count as errors of the write.
 */
export type RunLast = (run: () => Promise<void>) => void

/** Writes what a create creates, in the transaction that has its key. Resolves with the resource. */
export type Write = (tx: Tx, runLast: RunLast) => Promise<unknown>

/** A create to be decided, once for each key. */
export interface Create {
  /** For the problem that is stored when it is refused. */
  readonly requestId: string
  /** Status of the answer. */
  readonly status: number
  /** Encrypts the stored answer. */
  readonly sealed: boolean
  /** Checks before the transaction, without a connection, and gives the write. A replay skips it, and a retry repeats it. */
  readonly prepare: () => Write | Promise<Write>
}

const mostTries = 4
const notStored = new Set(['insufficient_balance', 'account_not_ready', 'bank_login_required'])

/** Decides a request: by the stored answer of its key, or by its create, whose answer is stored with its effect. Never rejects. */
export async function decide(context: ServiceContext, request: KeyedRequest, create: Create): Promise<Decision> {
  for (let tries = 1; ; tries += 1) {
    try {
      const decision = (await findReplay(context, request)) ?? (await perform(context, request, create))
      if (decision !== undefined) return decision
      if (tries >= mostTries) return refused(keyInFlight())
    } catch (error) {
      if (tries >= mostTries || !isConflict(error)) return refused(translated(error))
    }
  }
}

/** Decides a request by the stored answer of its key; `undefined` when there is none. Never rejects. */
export async function decideByReplay(context: ServiceContext, request: KeyedRequest): Promise<Decision | undefined> {
  return await findReplay(context, request).catch(refused)
}

/** The error that a request with the key is still being worked on. */
export function keyInFlight(): OutlayError {
  return new OutlayError(
    'idempotency_key_in_flight',
    'A request with this key is still being worked on; send it again after Retry-After.',
    { retryAfterMs: 1_000 },
  )
}

/** A mismatch was found by reading the key, so it proves the result of this request. */
function refused(error: unknown): Decision {
  return { kind: 'refused', error, isEvaluated: OutlayError.is(error, 'idempotency_key_mismatch') }
}

/** The decision of a create that prepares, claims its key, writes, and stores its answer; `undefined` when another has the key. */
async function perform(context: ServiceContext, request: KeyedRequest, create: Create): Promise<Decision | undefined> {
  let isClaimed = false
  try {
    const write = await create.prepare()
    return await inKeyTransaction(context, request, async (tx) => {
      isClaimed = true
      const last: (() => Promise<void>)[] = []
      const resource = await write(tx, (run) => last.push(run))
      const response = { status: create.status, body: JSON.stringify(resource) }
      await storeResponse(tx, context, request, response, create.sealed)
      for (const run of last) await run()
      return response
    })
  } catch (error) {
    if (isClaimed && OutlayError.is(error, 'insufficient_balance')) return { kind: 'refused', error, isEvaluated: true }
    const refusal = refusalOf(create.requestId, error)
    if (refusal === undefined) throw error
    return await inKeyTransaction(context, request, async (tx) => {
      await storeResponse(tx, context, request, refusal, false)
      return refusal
    })
  }
}

/** Answers in a transaction that has claimed the key; `undefined` when another request has it. */
async function inKeyTransaction(
  context: ServiceContext,
  request: KeyedRequest,
  answer: (tx: Tx) => Promise<StoredResponse>,
): Promise<Decision | undefined> {
  return await inClientTransaction(
    context,
    request.clientId,
    async (tx) => {
      if (!(await claimOrTimeOut(tx, context, request))) return undefined
      return { kind: 'answered', answer: { ...(await answer(tx)), replayed: false } }
    },
    `set local lock_timeout = ${Math.ceil(context.idempotencyWaitMs ?? 10_000)}`,
  )
}

async function findReplay(context: ServiceContext, request: KeyedRequest): Promise<Decision | undefined> {
  const record = await findKey(asClient(context, request.clientId), context, request)
  if (record === undefined) return undefined
  if (record.fingerprint !== request.fingerprint)
    throw new OutlayError(
      'idempotency_key_mismatch',
      'The idempotency key cannot be reused with a different payload or URI.',
      { field: 'Idempotency-Key:' },
    )
  return { kind: 'answered', answer: { ...record.response, replayed: true } }
}

async function claimOrTimeOut(tx: Tx, context: ServiceContext, request: KeyedRequest): Promise<boolean> {
  try {
    return await claimKey(tx, context, request)
  } catch (error) {
    throw sqlStateOf(error) === lockNotAvailable ? keyInFlight() : error
  }
}

/** The problem to store for an error; `undefined` when the error leaves the key free. */
function refusalOf(requestId: string, error: unknown): StoredResponse | undefined {
  if (!OutlayError.is(error) || notStored.has(error.code)) return undefined
  const { problem } = problemOf(error, requestId)
  const storable = [400, 404, 413, 415, 422].includes(problem.status) && error.code !== 'idempotency_key_mismatch'
  return storable ? { status: problem.status, body: JSON.stringify(problem) } : undefined
}

const lockNotAvailable = '55P03'

function translated(error: unknown): unknown {
  const state = sqlStateOf(error)
  if (state !== lockNotAvailable && !isConflict(error)) return error
  return new OutlayError(
    'service_unavailable',
    'Too many requests are in progress; send the request again with the same key.',
    {
      retryAfterMs: 1_000,
      cause: error,
    },
  )
}
