import { OutlayError } from '@outlay/core'
import { inClientTransaction, type ServiceContext, type Tx } from '../context.ts'
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
 * change the answer. Its errors count as errors of the effect.
 */
export type RunLast = (run: () => Promise<void>) => void

/** What a create does, once for each key. */
export interface Effect {
  /** For the problem that is stored when it is refused. */
  readonly requestId: string
  /** Status of the answer. */
  readonly status: number
  /** Encrypts the stored answer. */
  readonly sealed: boolean
  /** Work before the transaction. A replay skips it. */
  readonly prepare: (() => Promise<void>) | undefined
  readonly work: (tx: Tx, runLast: RunLast) => Promise<unknown>
}

const mostTries = 4
const notStored = new Set(['insufficient_balance', 'account_not_ready', 'bank_login_required'])

/** Decides a request: by the stored answer of its key, or by its effect, whose answer is stored with it. Never rejects. */
export async function decide(context: ServiceContext, request: KeyedRequest, effect: Effect): Promise<Decision> {
  let isClaimed = false
  const onClaim = (claimed: boolean) => {
    isClaimed = claimed
  }
  try {
    return { kind: 'answered', answer: await performOnce(context, request, effect, onClaim) }
  } catch (error) {
    return refused(error, isClaimed)
  }
}

/** Decides a request by the stored answer of its key; `undefined` when there is none. Never rejects. */
export async function decideByReplay(context: ServiceContext, request: KeyedRequest): Promise<Decision | undefined> {
  try {
    const answer = await findReplay(context, request)
    return answer === undefined ? undefined : { kind: 'answered', answer }
  } catch (error) {
    return refused(error, false)
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

/** `isClaimed` says whether the deciding transaction had the key, so that it checked the key before it refused. */
function refused(error: unknown, isClaimed: boolean): Decision {
  const isMismatch = OutlayError.is(error, 'idempotency_key_mismatch')
  const isShort = isClaimed && OutlayError.is(error, 'insufficient_balance')
  return { kind: 'refused', error, isEvaluated: isMismatch || isShort }
}

async function performOnce(
  context: ServiceContext,
  request: KeyedRequest,
  effect: Effect,
  onClaim: (isClaimed: boolean) => void,
): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    try {
      const answer = (await tryEffect(context, request, effect, onClaim)) ?? (await findReplay(context, request))
      if (answer !== undefined) return answer
    } catch (error) {
      const refusal = refusalOf(effect.requestId, error)
      if (refusal !== undefined) {
        const answer = (await storeRefusal(context, request, refusal)) ?? (await findReplay(context, request))
        if (answer !== undefined) return answer
      } else if (tries >= mostTries || !isTransient(error)) throw translated(error)
    }
    if (tries >= mostTries) throw keyInFlight()
  }
}

/** The answer of the effect; `undefined` when another request has the key. */
async function tryEffect(
  context: ServiceContext,
  request: KeyedRequest,
  effect: Effect,
  onClaim: (isClaimed: boolean) => void,
): Promise<Answer | undefined> {
  onClaim(false)
  if (effect.prepare !== undefined) {
    const replay = await findReplay(context, request)
    if (replay !== undefined) return replay
    await effect.prepare()
  }
  return await inClientTransaction(
    context,
    request.clientId,
    async (tx) => {
      const isClaimed = await claimOrTimeOut(tx, context, request)
      onClaim(isClaimed)
      if (!isClaimed) return undefined
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
function refusalOf(requestId: string, error: unknown): StoredResponse | undefined {
  if (!OutlayError.is(error) || notStored.has(error.code)) return undefined
  const { problem } = problemOf(error, requestId)
  const storable = [400, 404, 413, 415, 422].includes(problem.status) && error.code !== 'idempotency_key_mismatch'
  return storable ? { status: problem.status, body: JSON.stringify(problem) } : undefined
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
