import { randomUUID } from 'node:crypto'
import { type Catalog, IdempotencyKey, OutlayError } from '@outlay/core'
import type { ForwardCursor } from '../pagination.ts'
import type { Requester } from '../retry.ts'
import { readId } from '../wire/json.ts'

/** What every method of a resource takes last. */
export interface CallOptions {
  /** Ends the call, its waits between attempts included. */
  readonly signal?: AbortSignal | undefined
}

/** What a create takes last. */
export interface CreateOptions extends CallOptions {
  /** 1 to 255 visible ASCII characters; one per logical action. A UUID is generated when absent. */
  readonly idempotencyKey?: string | undefined
}

/** What a resource is made of. */
export interface ResourceContext {
  readonly requester: Requester
  readonly forwardCursor: ForwardCursor
  /** What requests are checked against before they are sent, and in whose spelling answers are read. */
  readonly catalog: Catalog
}

/** A POST that makes something. */
interface Post {
  readonly accountId: string
  readonly path: string
  readonly body: object
}

/**
 * Does a POST that makes something, with its one idempotency key on every attempt. Link tokens are among them: the
 * specification has a missing key refused "on a POST", and a key that nobody looks at does no harm.
 */
export async function post(
  context: ResourceContext,
  input: Post,
  options: CreateOptions,
): Promise<{ readonly body: unknown; readonly idempotencyKey: string }> {
  const idempotencyKey = IdempotencyKey.parse(options.idempotencyKey ?? randomUUID())
  const { accountId, path } = input
  const call = { accountId, path, method: 'POST', body: JSON.stringify(input.body), idempotencyKey } as const
  return { body: await context.requester.perform(call, options.signal), idempotencyKey }
}

/** Does a create and reads its answer, which may be `{id}` only. */
export async function create<T>(
  context: ResourceContext,
  input: Post,
  options: CreateOptions,
  decode: (body: unknown) => T,
): Promise<{ readonly id: string; readonly idempotencyKey: string; readonly full: T | undefined }> {
  const { body, idempotencyKey } = await post(context, input, options)
  const id = readId(body)
  if (id === undefined) throw missingId(idempotencyKey)
  return { id, idempotencyKey, full: readLoosely(body, decode) }
}

/** Makes the error of a create that the service accepted without saying what came of it. */
export function missingId(idempotencyKey: string): OutlayError {
  const cause = { code: undefined, detail: 'the answer has no id', idempotencyKey }
  const message = 'the service accepted, but its answer has no id: repeat it with the same idempotency key'
  return new OutlayError('outcome_unknown', message, { cause })
}

/** Reads the answer to a write that took effect, where one that makes no sense is no error; `undefined` for such a one. */
export function readLoosely<T>(body: unknown, decode: (body: unknown) => T): T | undefined {
  try {
    return decode(body)
  } catch (error) {
    if (OutlayError.is(error, 'unreadable_response')) return undefined
    throw error
  }
}
