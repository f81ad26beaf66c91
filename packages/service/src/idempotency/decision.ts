import { OutlayError } from '@outlay/core'
import { inClientPipeline, inClientTransaction, type ServiceContext, type Tx } from '../context.ts'
import { isConflict, sqlStateOf } from '../database/conflict.ts'
import type { PipelineWork } from '../database/pipeline.ts'
import type { Executor } from '../database/statement.ts'
import { problemOf } from '../http/problem.ts'
import { answerKey, claimKey, isKeyTaken, type KeyedRequest, type StoredResponse, storeResponse } from './keys.ts'
import { type Answer, Replayed, startReads } from './replay.ts'

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

/** Writes what a create creates, in the transaction that has its key. Resolves with the resource. */
export type Write = (tx: Tx) => Promise<unknown>

/** A write that is known before its transaction begins, so that the whole of it takes one round trip. */
export interface PlannedWrite {
  readonly resource: unknown
  /** They run in the transaction that has the key, in this order. */
  readonly works: readonly PipelineWork[]
}

/** What the preparation of a create gives. */
export type Prepared = Write | PlannedWrite

/** A create to be decided, once for each key. */
export interface Create {
  /** For the problem that is stored when it is refused. */
  readonly requestId: string
  /** Status of the answer. */
  readonly status: number
  /** Encrypts the stored answer. */
  readonly sealed: boolean
  /** Checks before the transaction, without a connection, and gives the write. A replay skips it, and a retry repeats it. */
  readonly prepare: (reads: Executor) => Prepared | Promise<Prepared>
  /** Reads the key with the first statement of `prepare`, which until then has no effect and calls nobody. */
  readonly readsKeyLate: boolean
}

const mostTries = 4

/**
 * SQLSTATEs of a write that something has overtaken since it was prepared, so that the next preparation finds it: a policy refuses an
 * account that the client has lost, or another transaction has written what must be unique.
 */
const overtaken = new Set(['42501', '23505'])

const notStored = new Set(['insufficient_balance', 'account_not_ready', 'payee_not_ready', 'bank_login_required'])

/** Decides a request: by the stored answer of its key, or by its create, whose answer is stored with its effect. Never rejects. */
export async function decide(context: ServiceContext, request: KeyedRequest, create: Create): Promise<Decision> {
  for (let tries = 1; ; tries += 1) {
    try {
      const decision = await perform(context, request, create)
      if (decision !== undefined) return decision
      if (tries >= mostTries) return refused(keyInFlight())
    } catch (error) {
      const repeats = isConflict(error) || overtaken.has(sqlStateOf(error) ?? '')
      if (tries >= mostTries || !repeats) return refused(translated(error))
    }
  }
}

/** Decides a request by the stored answer of its key; `undefined` when there is none. Never rejects. */
export async function decideByReplay(context: ServiceContext, request: KeyedRequest): Promise<Decision | undefined> {
  try {
    return replayed(await startReads(context, request).findReplay())
  } catch (error) {
    return refused(error)
  }
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
  const reads = startReads(context, request)
  try {
    const known = create.readsKeyLate ? undefined : await reads.findReplay()
    if (known !== undefined) return replayed(known)
    const write = await create.prepare(reads.executor)
    if (typeof write === 'function') return await answerInSteps(context, request, create, write)
    return await answerAtOnce(context, request, responseOf(create, write.resource), create.sealed, write.works)
  } catch (error) {
    if (error instanceof Replayed) return replayed(error.answer)
    const refusal = refusalOf(create.requestId, error)
    const known = await reads.findReplay()
    if (known !== undefined) return replayed(known)
    if (refusal === undefined) throw error
    return await answerAtOnce(context, request, refusal, false)
  }
}

/** Claims the key, writes and stores the answer; `undefined` when another request has the key. */
async function answerInSteps(
  context: ServiceContext,
  request: KeyedRequest,
  create: Create,
  write: Write,
): Promise<Decision | undefined> {
  let isClaimed = false
  const answer = async (tx: Tx) => {
    isClaimed = await claimKey(tx, context, request).catch(throwInFlight)
    if (!isClaimed) return undefined
    const response = responseOf(create, await write(tx))
    await storeResponse(tx, context, request, response, create.sealed)
    return answered(response)
  }
  try {
    return await inClientTransaction(context, request.clientId, answer, waitMsOf(context))
  } catch (error) {
    if (isClaimed) return refusedBehindKey(error)
    throw error
  }
}

/** Claims the key, stores the answer and runs the works, in one round trip; `undefined` when another request has the key. */
async function answerAtOnce(
  context: ServiceContext,
  request: KeyedRequest,
  response: StoredResponse,
  sealed: boolean,
  works: readonly PipelineWork[] = [],
): Promise<Decision | undefined> {
  const claim = (tx: Tx) => answerKey(tx, context, request, response, sealed).catch(throwInFlight)
  try {
    await inClientPipeline(context, request.clientId, [claim, ...works], waitMsOf(context))
    return answered(response)
  } catch (error) {
    return isKeyTaken(error) ? undefined : refusedBehindKey(error)
  }
}

const responseOf = ({ status }: Create, resource: unknown): StoredResponse => ({
  status,
  body: JSON.stringify(resource),
})

const answered = (response: StoredResponse): Decision => ({
  kind: 'answered',
  answer: { ...response, replayed: false },
})

const replayed = (answer: Answer | undefined): Decision | undefined =>
  answer === undefined ? undefined : { kind: 'answered', answer }

const waitMsOf = (context: ServiceContext) => context.idempotencyWaitMs ?? 10_000

/** Only a write that has the key throws `insufficient_balance` here. */
function refusedBehindKey(error: unknown): Decision {
  if (OutlayError.is(error, 'insufficient_balance')) return { kind: 'refused', error, isEvaluated: true }
  throw error
}

function throwInFlight(error: unknown): never {
  throw sqlStateOf(error) === lockNotAvailable ? keyInFlight() : error
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
