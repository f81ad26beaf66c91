import type { OutlayError } from '@outlay/core'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { findAccount, notFound } from '../clients/authenticate.ts'
import type { ServiceContext, Tx } from '../context.ts'
import type { Executor } from '../database/statement.ts'
import { checkBody } from '../http/body.ts'
import { inSpellingOf } from '../http/body-shape.ts'
import type { ServiceRequest } from '../http/request.ts'
import type { Caller, Scope } from '../schema/caller.ts'
import { type Decision, decide, decideByReplay, keyInFlight, type Prepared } from './decision.ts'
import { inFlightKey, readKeyed } from './keyed-request.ts'
import type { KeyedRequest } from './keys.ts'

/** Input of a create. */
export interface CreateInput {
  /** It has the documented shape. */
  readonly body: unknown
  readonly caller: Caller
  /** The account in the path. */
  readonly accountId: string
  /** Each repeat of the request has the same. */
  readonly request: KeyedRequest
  /** Runs single statements as the client. */
  readonly reads: Executor
}

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
   * True for a preparation whose first statement on `reads` may read the key too, which saves a round trip. Before that statement
   * it has no effect and calls nobody. Default false: the key is read first.
   */
  readonly readsKeyLate?: boolean | undefined
}

/**
 * Runs a create of one account once per idempotency key and answers it. `prepare` runs before the transaction, so it may call code of
 * third parties, and gives the write, which runs in it. Key, effect and stored response commit together. A later request with the
 * same key gets the same octets and `Idempotent-Replayed: true`, even when the client no longer has the account.
 * Only answers that prove the result of the key have `Idempotency-Key-Evaluated: true`. Specification: "Idempotency behaviour".
 *
 * Deterministic refusals are stored and replayed. 5xx, 409, 429, `insufficient_balance`, `account_not_ready`, `payee_not_ready`
 * and `bank_login_required` are not stored, so the same key can be sent again.
 */
export async function createIdempotently(
  c: ServiceRequest,
  context: ServiceContext,
  options: CreateOptions,
  prepare: (input: CreateInput) => Prepared | Promise<Prepared>,
): Promise<Response> {
  const { caller, accountId } = await findAccount(c, context, options.scope)
  if (accountId === undefined) return await replayOr(c, context, caller, options, notFound('account'))
  return await answerOnce(c, context, caller, options, (body, reads, request) =>
    prepare({ body, caller, accountId, request, reads }),
  )
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
  if (!(await c.get('inFlight').wait(inFlightKey(request)))) throw keyInFlight()
  const decision = await decideByReplay(context, request)
  if (decision === undefined) throw refusal
  return respond(c, decision)
}

/** The same for a create without an account. The caller is already authenticated. */
export async function answerOnce(
  c: ServiceRequest,
  context: ServiceContext,
  caller: Caller,
  options: Omit<CreateOptions, 'scope'>,
  prepare: (body: unknown, reads: Executor, request: KeyedRequest) => Prepared | Promise<Prepared>,
): Promise<Response> {
  const { body, request } = await readKeyed(c, context, caller, options)
  const { status = 201, sealed = false, readsKeyLate = false } = options
  const inFlight = c.get('inFlight')
  const key = inFlightKey(request)
  const create = {
    requestId: c.get('requestId'),
    status,
    sealed,
    // A repetition is answered without the reads of its preparation.
    readsKeyLate: readsKeyLate && !inFlight.wasTracked(key),
    // What is wrong with the body is a refusal like any other, so it is stored under the key.
    async prepare(reads: Executor): Promise<Prepared> {
      const prepared = await inSpellingOf(body, () => {
        checkBody(c, body)
        return prepare(body, reads, request)
      })
      const spelled =
        <T>(work: (tx: Tx) => Promise<T>) =>
        (tx: Tx) =>
          inSpellingOf(body, () => work(tx))
      return typeof prepared === 'function' ? spelled(prepared) : { ...prepared, works: prepared.works.map(spelled) }
    },
  }
  if (!(await inFlight.wait(key))) throw keyInFlight()
  return respond(c, await inFlight.track(key, () => decide(context, request, create)))
}

const evaluatedHeader = 'idempotency-key-evaluated'

/** Stored refusals are answers and are marked as evaluated, so a request that is still in transit gets them too. */
function respond(c: ServiceRequest, decision: Decision): Response {
  if (decision.kind === 'refused') {
    if (decision.isEvaluated) c.header(evaluatedHeader, 'true')
    throw decision.error
  }
  const { answer } = decision
  return c.body(answer.body, answer.status as ContentfulStatusCode, {
    'content-type': answer.status >= 400 ? 'application/problem+json' : 'application/json',
    [evaluatedHeader]: 'true',
    ...(answer.replayed ? { 'idempotent-replayed': 'true' } : {}),
  })
}
