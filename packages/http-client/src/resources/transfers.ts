import {
  parseTransferRequest,
  type Transfer,
  type TransferRequest,
  type TransferStatus,
  type TransferTypeName,
  type ValueTypeName,
} from '@outlay/core'
import { refuseUnread } from '@outlay/core/adapter'
import { decodePage, encodePageQuery, iteratePages, type Page, type PageRequest } from '../pagination.ts'
import { path } from '../request.ts'
import type { WithRaw } from '../wire/json.ts'
import { decodeTransfer, encodeTransferRequest } from '../wire/transfer.ts'
import { type CallOptions, type CreateOptions, create, type IterateOptions, type ResourceContext } from './resource.ts'

/** Filters of transfers. They match exactly, are case-sensitive and are combined with AND. */
export interface TransferFilters extends PageRequest {
  readonly automationId?: string | undefined
  /** Matches the source or the destination. */
  readonly valueType?: ValueTypeName | undefined
  /** Matches the source or the destination. */
  readonly transferType?: TransferTypeName | undefined
  /** On-chain hash or payment reference of either leg. */
  readonly transactionId?: string | undefined
  readonly status?: TransferStatus | undefined
  /** Matches the source or the destination. */
  readonly addressId?: string | undefined
}

/** The result of a create. */
export interface CreatedTransfer {
  readonly id: string
  /** The key that was sent: the caller's, or the generated one. */
  readonly idempotencyKey: string
  /** The transfer; `undefined` when the service returned only its id. */
  readonly transfer: WithRaw<Transfer> | undefined
}

/** Transfers of one account at a time. Specification: "Transfers". */
export interface TransfersResource {
  /**
   * Creates a transfer. Takes effect once per idempotency key, however often the request is sent.
   *
   * @throws OutlayError the codes of `parseTransferRequest`, and `invalid_request` for a member that does not exist, before anything is sent; then `insufficient_balance`, `idempotency_key_mismatch`, `invalid_account_number`,
   *   `rejected_by_service` and others; `outcome_unknown` when only a retry with the same key can find out
   */
  create(accountId: string, request: TransferRequest, options?: CreateOptions): Promise<CreatedTransfer>
  /** One transfer; `undefined` when the account has none with this id. */
  get(accountId: string, transferId: string, options?: CallOptions): Promise<WithRaw<Transfer> | undefined>
  /**
   * Cancels a transfer that is pending, or whose failure is retriable; `undefined` when the account has none with this id. A repeat returns the canceled transfer.
   * @throws OutlayError `transfer_not_cancelable` when its money has moved or may have
   */
  cancel(accountId: string, transferId: string, options?: CallOptions): Promise<WithRaw<Transfer> | undefined>
  /** One page. */
  list(accountId: string, filters?: TransferFilters, options?: CallOptions): Promise<Page<WithRaw<Transfer>>>
  /** All transfers from the first page, or from `after`, on. The next page is read when the previous one is consumed. */
  iterate(accountId: string, filters?: TransferFilters, options?: IterateOptions): AsyncIterable<WithRaw<Transfer>>
}

/** Members of a request, for a message. */
const memberNames = 'amount, source, destination, note, brand and quoteId'

/** Makes the transfers resource of a client. */
export function createTransfers(context: ResourceContext): TransfersResource {
  const { requester, forwardCursor, catalog, dialect } = context
  const decode = (value: unknown) => decodeTransfer(value, catalog, dialect)
  const list: TransfersResource['list'] = async (accountId, filters = {}, options = {}) => {
    const query = encodePageQuery(encodeFilters(filters), filters, forwardCursor)
    const call = { accountId, method: 'GET', path: path`/accounts/${accountId}/transfers` + query } as const
    return decodePage(await requester.perform(call, options.signal), 'transfers', decode)
  }
  return {
    async create(accountId, request, options = {}) {
      const parsed = parseTransferRequest(request, catalog)
      refuseUnread(request, parsed, memberNames)
      const body = encodeTransferRequest(parsed, dialect)
      const input = { accountId, path: path`/accounts/${accountId}/transfers`, body }
      const { full, ...created } = await create(context, input, options, decode)
      return { ...created, transfer: full }
    },
    async get(accountId, transferId, options = {}) {
      const call = { accountId, method: 'GET', path: path`/accounts/${accountId}/transfers/${transferId}` } as const
      const body = await requester.find(call, options.signal)
      return body === undefined ? undefined : decode(body)
    },
    async cancel(accountId, transferId, options = {}) {
      const where = path`/accounts/${accountId}/transfers/${transferId}/cancel`
      const call = { accountId, method: 'POST', path: where } as const
      // The public contract has no such path. Its 404 says nothing about the transfer.
      const cancel = dialect === 'public' ? requester.perform : requester.find
      const body = await cancel(call, options.signal)
      return body === undefined ? undefined : decode(body)
    },
    list,
    iterate: (accountId, filters = {}, options = {}) =>
      iteratePages((after) => list(accountId, { ...filters, after }, options), filters.after, options.onUnreadable),
  }
}

const encodeFilters = (filters: TransferFilters) => ({
  automation_id: filters.automationId,
  value_type: filters.valueType,
  transfer_type: filters.transferType,
  transaction_id: filters.transactionId,
  status: filters.status,
  address_id: filters.addressId,
})
