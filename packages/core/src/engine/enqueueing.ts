import type { Catalog } from '../catalog.ts'
import { Counterparty } from '../counterparty.ts'
import { type Issue, OutlayError } from '../error.ts'
import { Id } from '../id.ts'
import { IdempotencyKey } from '../idempotency.ts'
import { Metadata } from '../metadata.ts'
import type { NewTransfer } from '../ports/new-transfer.ts'
import type { Runtime } from '../ports/runtime.ts'
import type { EnqueuedTransfer } from '../ports/stored-transfer.ts'
import { parseTransferOrder } from '../transfer-request.ts'
import { checkActor } from './actors.ts'
import type { EnqueueRequest } from './engine.ts'
import { parseMoment } from './moment.ts'
import { refuseUnread } from './unread-members.ts'

/** An id of the service, opaque here. */
const accountIdPattern = /^[\x21-\x7e]{1,255}$/

/** Throws `missing_field` or `invalid_id` for a value that cannot be an id of an account. */
export function checkAccountId(accountId: unknown, field = 'accountId'): void {
  if (typeof accountId === 'string' && accountIdPattern.test(accountId)) return
  const message = 'must be the id of the account at the service: 1 to 255 visible ASCII characters'
  throw OutlayError.fromIssues([{ field, code: accountId === undefined ? 'missing_field' : 'invalid_id', message }])
}

/** Members of a request, for a message. */
const memberNames =
  'accountId, id, idempotencyKey, notBefore, expiresAt, metadata, batchId, createdBy, amount, source, destination, note, brand and quoteId'

/**
 * Validates a request and completes it with id, key and fingerprint. No I/O: a refusal leaves the transaction usable.
 * @throws OutlayError with every broken rule; fields start with `prefix`.
 */
export function prepareTransfer(
  request: EnqueueRequest,
  catalog: Catalog,
  { digest, nextId }: Pick<Runtime, 'digest'> & { nextId(): Id },
  prefix: string,
): Omit<NewTransfer, 'gateway'> {
  if (typeof request !== 'object' || request === null) {
    const [field, message] =
      prefix === ''
        ? ['request', 'must be an object; the transaction comes first: enqueue(tx, request)']
        : [prefix.slice(0, -1), 'must be a request, an object']
    throw OutlayError.fromIssues([{ field, code: 'invalid_request', message }])
  }
  const { accountId, id: givenId, idempotencyKey: givenKey } = request
  checkAccountId(accountId, `${prefix}accountId`)
  const {
    accountId: _account,
    id: _id,
    idempotencyKey: _key,
    notBefore,
    expiresAt,
    metadata: given,
    batchId,
    createdBy,
    ...body
  } = request
  const order = parseTransferOrder(body, catalog, { fieldPrefix: prefix })
  refuseUnread(body, order, memberNames, prefix)
  const { request: stored, details } = Counterparty.split(order, digest)
  const id = givenId === undefined ? nextId() : Id.parse(givenId, `${prefix}id`)
  const metadata = Metadata.parse(given, `${prefix}metadata`)
  const idempotencyKey = givenKey === undefined ? id : IdempotencyKey.parse(givenKey, `${prefix}idempotencyKey`)
  return {
    id,
    accountId,
    idempotencyKey,
    fingerprint: Counterparty.fingerprintOf(stored, digest),
    request: stored,
    ...(details === undefined ? {} : { counterparty: details }),
    ...readTimes(notBefore, expiresAt, prefix),
    ...(metadata === undefined ? {} : { metadata }),
    ...(batchId === undefined ? {} : { batchId: Id.parse(batchId, `${prefix}batchId`) }),
    ...(createdBy === undefined ? {} : { createdBy: readCreator(createdBy, `${prefix}createdBy`) }),
  }
}

const readCreator = (createdBy: string, field: string): string => {
  checkActor(createdBy, field)
  return createdBy
}

/** No payout has a time before that; seconds since 1970 that are taken for milliseconds give one. */
const earliestTime = '1971'

/** Reads when a transfer may be sent; throws `invalid_request` for times that no host can mean. */
function readTimes(notBefore: EnqueueRequest['notBefore'], expiresAt: EnqueueRequest['expiresAt'], prefix: string) {
  const times = {
    notBefore: readTime(notBefore, `${prefix}notBefore`),
    expiresAt: readTime(expiresAt, `${prefix}expiresAt`),
  }
  for (const [name, time] of Object.entries(times)) {
    if (time === null || time >= earliestTime) continue
    const message = `is ${time}, before ${earliestTime}; a number of seconds has to be multiplied by 1000 for a Date`
    throw OutlayError.fromIssues([{ field: `${prefix}${name}`, code: 'invalid_request', message }])
  }
  if (times.notBefore !== null && times.expiresAt !== null && times.expiresAt <= times.notBefore) {
    const message = `must be after notBefore, or the transfer is never sent; got ${times.expiresAt} and ${times.notBefore}`
    throw OutlayError.fromIssues([{ field: `${prefix}expiresAt`, code: 'invalid_request', message }])
  }
  return times
}

/** Requests to prepare before other work of the process gets a turn: some tens of milliseconds. */
const turnSize = 500

/** Most broken rules in the refusal of many requests. */
const maxIssues = 100

/**
 * Prepares many, each as `prepare` does; fields start with the index.
 * @throws OutlayError with the broken rules of every request, a hundred at most.
 */
export async function prepareTransfers(
  requests: readonly EnqueueRequest[],
  runtime: Pick<Runtime, 'yieldToEventLoop'>,
  prepare: (request: EnqueueRequest, prefix: string) => NewTransfer,
): Promise<readonly NewTransfer[]> {
  if (!Array.isArray(requests)) {
    throw OutlayError.fromIssues([
      { field: 'requests', code: 'invalid_request', message: 'must be a list of requests' },
    ])
  }
  const transfers: NewTransfer[] = []
  const issues: Issue[] = []
  for (const [index, request] of requests.entries()) {
    if (issues.length >= maxIssues) break
    if (index % turnSize === turnSize - 1) await runtime.yieldToEventLoop?.()
    try {
      transfers.push(prepare(request, `${index}.`))
    } catch (error) {
      if (!OutlayError.is(error)) throw error
      issues.push(...error.issues)
    }
  }
  const [first, ...rest] = issues.slice(0, maxIssues)
  if (first !== undefined) throw OutlayError.fromIssues([first, ...rest])
  return transfers
}

/** Reads a date and time; null when absent. */
export function readTime(value: string | Date | undefined, field: string): string | null {
  if (value === undefined) return null
  const moment = parseMoment(value)
  if (moment !== null) return moment
  throw OutlayError.fromIssues([{ field, code: 'invalid_request', message: describeMoment(value) }])
}

/** Says what is wrong with a moment. Without a zone it is another moment on each machine. */
function describeMoment(value: unknown): string {
  const format =
    'a date and time in ISO 8601 with Z or an offset, such as 2027-01-31T09:00:00Z, before the year 10000, or a Date'
  if (typeof value !== 'string' || parseMoment(`${value}Z`) === null) return `must be ${format}`
  return `has no time zone; write ${value}Z for UTC, or its offset, such as ${value}-05:00`
}

/** How long before now a watch begins by default, so that clocks that differ matter less, in milliseconds. */
const watchedBeforeMs = 300_000

/** Reads the moment from which an account's transfers are adopted; throws `invalid_request`. */
export function readSince(since: string | Date | undefined, now: Date): string {
  return readTime(since, 'since') ?? new Date(now.getTime() - watchedBeforeMs).toISOString()
}

/** Throws `idempotency_key_mismatch` when the account's transfer with this key was enqueued for another request. */
export function checkReused(asked: NewTransfer, stored: EnqueuedTransfer): void {
  if (!stored.reused || stored.fingerprint === asked.fingerprint) return
  throw new OutlayError(
    'idempotency_key_mismatch',
    `The account has the transfer ${stored.id} with this key and another request; use a new key for a new request.`,
    { field: 'idempotencyKey' },
  )
}
