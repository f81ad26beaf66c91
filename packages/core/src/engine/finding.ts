import type { Catalog } from '../catalog.ts'
import { OutlayError } from '../error.ts'
import { Id } from '../id.ts'
import { notInCatalog } from '../input.ts'
import { Metadata } from '../metadata.ts'
import { checkNames } from '../option-names.ts'
import type { Backend } from '../ports/backend.ts'
import { stages } from '../ports/stored-transfer.ts'
import type { TransferPage, TransferQuery } from '../ports/transfer-query.ts'
import { transferStatuses } from '../transfer-status.ts'
import { isText } from './checked-text.ts'
import type { FindTransfers } from './engine.ts'
import { checkAccountId, readTime } from './enqueueing.ts'

const names = [
  ...['accountId', 'gateway', 'stage', 'status', 'reason', 'amount', 'currency', 'payee', 'metadata', 'batchId'],
  ...['createdAfter', 'createdBefore', 'limit', 'cursor'],
]

/** Transfers on a page, unless the caller says how many. */
const defaultLimit = 50

/** Most transfers on a page. */
const maxLimit = 1_000

/** Most pairs of metadata in a search: each is counted first, and compared for each transfer that is read. */
const maxPairs = 5

/** Finds transfers; a currency that finds none is one of the catalog. */
export async function findTransfers<Tx>(
  backend: Pick<Backend<Tx>, 'find'>,
  catalog: Catalog,
  given: FindTransfers,
  tx?: Tx,
): Promise<TransferPage> {
  const query = readQuery(given, catalog)
  const page = await backend.find(query, tx)
  const isEmpty = page.transfers.length === 0 && page.nextCursor === null && query.cursor === undefined
  if (isEmpty) demandCurrency(catalog, query.currency)
  return page
}

/** Checks a search, before any SQL, with the currency by its name in the catalog if that has it; throws `invalid_request` or `invalid_id` with the field. */
function readQuery(given: FindTransfers, { valueType }: Catalog): TransferQuery {
  checkNames(given, names)
  const {
    accountId,
    gateway,
    stage,
    status,
    reason,
    amount,
    currency,
    payee,
    metadata,
    limit = defaultLimit,
    cursor,
    batchId,
  } = given
  refuseForgotten(given)
  if (accountId !== undefined) checkAccountId(accountId)
  for (const [name, text] of Object.entries({ gateway, reason, currency, payee })) {
    if (text !== undefined && !isText(text)) throw refuse(name, 'must be text that is not empty')
  }
  if (stage !== undefined && !stages.includes(stage)) throw refuse('stage', `must be one of ${stages.join(', ')}`)
  if (status !== undefined && !transferStatuses.includes(status))
    throw refuse('status', `must be one of ${transferStatuses.join(', ')}`)
  if (!Number.isInteger(limit) || limit < 1 || limit > maxLimit)
    throw refuse('limit', `must be a whole number from 1 to ${maxLimit}`)
  if (amount !== undefined && !(isText(amount) && /^\d{1,30}(\.\d{1,18})?$/.test(amount)))
    throw refuse('amount', 'must be a decimal string, such as 1250.00')
  if (batchId !== undefined && !Id.is(batchId)) throw refuse('batchId', 'must be the id of a batch')
  if (Object.keys(metadata ?? {}).length > maxPairs) throw refuse('metadata', `must have at most ${maxPairs} pairs`)
  if (cursor !== undefined && !Id.is(cursor)) throw refuse('cursor', 'must be the nextCursor of the page before')
  return {
    ...{ accountId, gateway, stage, status, reason, amount, payee, limit, cursor, batchId },
    currency: currency === undefined ? undefined : (valueType(currency)?.name ?? currency),
    metadata: Metadata.parse(metadata),
    createdAfter: readTime(given.createdAfter, 'createdAfter') ?? undefined,
    createdBefore: readTime(given.createdBefore, 'createdBefore') ?? undefined,
  }
}

/**
 * Refuses a currency that the catalog does not have, where nothing was found: a mistyped one would find nothing in silence. One that adopted transfers have, or
 * that was in the catalog once, finds them.
 * @throws OutlayError `unknown_value_type` with the currencies of the catalog
 */
export function demandCurrency({ valueType, valueTypes }: Catalog, currency: string | undefined): void {
  if (currency === undefined || valueType(currency) !== undefined) return
  const message = `${notInCatalog(valueTypes)}, and no transfer that was found is in it`
  throw OutlayError.fromIssues([{ field: 'currency', code: 'unknown_value_type', message }])
}

/** A member that narrows the search to one customer and has no value would find the transfers of all of them. */
function refuseForgotten(given: FindTransfers): void {
  if ('accountId' in given && given.accountId === undefined)
    throw refuse('accountId', 'is undefined; leave it out to search all accounts')
  const [name] = Object.entries(given.metadata ?? {}).find(([, value]) => value === undefined) ?? []
  if (name !== undefined) throw refuse(`metadata.${name}`, 'is undefined; leave it out for any value')
}

const refuse = (field: string, message: string): OutlayError =>
  OutlayError.fromIssues([{ field, code: 'invalid_request', message }])
