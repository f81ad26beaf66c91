import { randomUUID } from 'node:crypto'
import { type Catalog, IdempotencyKey, OutlayError } from '@outlay/core'
import type { Dialect } from '../dialect.ts'
import type { ForwardCursor, OnUnreadable } from '../pagination.ts'
import type { Requester } from '../retry.ts'
import { isRecord, readId } from '../wire/json.ts'

/** The last argument of every method of a resource. */
export interface CallOptions {
  /** Aborts the call, including its delays between attempts. */
  readonly signal?: AbortSignal | undefined
}

/** The last argument of a method that walks all pages of a list. */
export interface IterateOptions extends CallOptions {
  /**
   * Gets the rows that could not be read, each before the items of its page. Without it, the walk ends with `unreadable_response` after
   * the last item when there were any, so that no row is missing in silence.
   */
  readonly onUnreadable?: OnUnreadable | undefined
}

/** The last argument of a create. */
export interface CreateOptions extends CallOptions {
  /** 1 to 255 visible ASCII characters; one per logical action. A UUID is generated when absent. */
  readonly idempotencyKey?: string | undefined
}

/** Dependencies of a resource. */
export interface ResourceContext {
  readonly requester: Requester
  readonly forwardCursor: ForwardCursor
  readonly dialect: Dialect
  /** The catalog that requests are checked against before they are sent, and whose spelling answers get. */
  readonly catalog: Catalog
}

/** A POST that creates a resource. */
interface Post {
  readonly accountId: string
  readonly path: string
  readonly body: object
}

/**
 * Makes a POST that creates a resource, with one idempotency key on every attempt. Link tokens have a key too: by the
 * specification, a missing key is refused "on a POST", and a key that the service ignores does no harm.
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

/** Makes a create and reads its answer, which may be only `{id}`. */
export async function create<T>(
  context: ResourceContext,
  input: Post,
  options: CreateOptions,
  decode: (body: unknown) => T,
): Promise<{ readonly id: string; readonly idempotencyKey: string; readonly full: T | undefined }> {
  const { body, idempotencyKey } = await post(context, input, options)
  const id = readId(body)
  if (id === undefined) throw missingId(idempotencyKey)
  return { id, idempotencyKey, full: isOnlyId(body) ? undefined : readLoosely(body, decode) }
}

const isOnlyId = (body: unknown): boolean => isRecord(body) && Object.keys(body).length === 1

/** Makes the error of a create that the service accepted without an id. */
export function missingId(idempotencyKey: string): OutlayError {
  const cause = { code: undefined, detail: 'the answer has no id', idempotencyKey }
  const message = 'the service accepted, but its answer has no id: retry with the same idempotency key'
  return new OutlayError('outcome_unknown', message, { cause })
}

/** Reads the answer to a write that took effect. An unreadable answer is not an error here, but `undefined`. */
export function readLoosely<T>(body: unknown, decode: (body: unknown) => T): T | undefined {
  try {
    return decode(body)
  } catch (error) {
    if (OutlayError.is(error, 'unreadable_response')) return undefined
    throw error
  }
}
