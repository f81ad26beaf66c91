import { type BankAccount, parseExternalAddress } from '@outlay/core'
import { decodePage, encodePageQuery, iteratePages, type Page, type PageRequest } from '../pagination.ts'
import { path } from '../request.ts'
import { decodeLinkToken, type ReadLinkToken } from '../wire/bank-link.ts'
import {
  decodeFinancialInstitution,
  decodeFinancialInstitutionState,
  encodeFinancialInstitution,
  type ReadFinancialInstitution,
  type ReadFinancialInstitutionState,
} from '../wire/financial-institution.ts'
import type { WithRaw } from '../wire/json.ts'
import {
  type CallOptions,
  type CreateOptions,
  create,
  type IterateOptions,
  post,
  type ResourceContext,
} from './resource.ts'

/** The result of a registration. */
export interface CreatedFinancialInstitution {
  readonly id: string
  /** The key that was sent: the caller's, or the generated one. */
  readonly idempotencyKey: string
  /** The record; `undefined` when the service returned only its id. */
  readonly financialInstitution: WithRaw<ReadFinancialInstitution> | undefined
}

/** Bank accounts in their older form. New code should register addresses. Specification: "Financial institutions (legacy)". */
export interface FinancialInstitutionsResource {
  /**
   * Registers a bank account entered by hand.
   *
   * @throws OutlayError the codes of `parseExternalAddress`, before anything is sent; then the refusals of the service
   */
  createExternal(accountId: string, account: BankAccount, options?: CreateOptions): Promise<CreatedFinancialInstitution>
  /** One financial institution; `undefined` when the account has none with this id. */
  get(
    accountId: string,
    financialInstitutionId: string,
    options?: CallOptions,
  ): Promise<WithRaw<ReadFinancialInstitution> | undefined>
  /** The financial institutions of an account. One page if the service paginates. */
  list(accountId: string, page?: PageRequest, options?: CallOptions): Promise<Page<WithRaw<ReadFinancialInstitution>>>
  /** All financial institutions of an account. The next page is read when the previous one is consumed. */
  iterate(
    accountId: string,
    page?: PageRequest,
    options?: IterateOptions,
  ): AsyncIterable<WithRaw<ReadFinancialInstitution>>
  /** Whether its owner has to link it again; `undefined` when the account has none with this id. */
  getStatus(
    accountId: string,
    financialInstitutionId: string,
    options?: CallOptions,
  ): Promise<WithRaw<ReadFinancialInstitutionState> | undefined>
  /** Requests the token that opens the provider's flow for an institution that has to be linked again. */
  createUpdateLinkToken(
    accountId: string,
    financialInstitutionId: string,
    options?: CreateOptions,
  ): Promise<WithRaw<ReadLinkToken>>
}

/** Makes the financial institutions resource of a client. */
export function createFinancialInstitutions(context: ResourceContext): FinancialInstitutionsResource {
  const { requester, forwardCursor, catalog } = context
  const decode = (value: unknown) => decodeFinancialInstitution(value, catalog)
  const list: FinancialInstitutionsResource['list'] = async (accountId, page = {}, options = {}) => {
    const where = path`/accounts/${accountId}/financial-institutions` + encodePageQuery({}, page, forwardCursor)
    const body = await requester.perform({ accountId, method: 'GET', path: where }, options.signal)
    return decodePage(body, 'financial_institutions', decode)
  }
  const find = (accountId: string, where: string, options: CallOptions) =>
    requester.find({ accountId, method: 'GET', path: where }, options.signal)
  return {
    async createExternal(accountId, account, options = {}) {
      // The older form has neither name nor transfer types; the rules of the account itself are the same.
      const address = parseExternalAddress({ ...account, name: 'bank account', transferTypes: ['wire'] }, catalog)
      if (address.kind !== 'bank_account') throw new Error('createExternal requires a bank account')
      const where = path`/accounts/${accountId}/financial-institutions/external`
      const input = { accountId, path: where, body: encodeFinancialInstitution(address) }
      const { full, ...created } = await create(context, input, options, decode)
      return { ...created, financialInstitution: full }
    },
    async get(accountId, id, options = {}) {
      const body = await find(accountId, path`/accounts/${accountId}/financial-institutions/${id}`, options)
      return body === undefined ? undefined : decode(body)
    },
    list,
    iterate: (accountId, page = {}, options = {}) =>
      iteratePages((after) => list(accountId, { ...page, after }, options), page.after, options.onUnreadable),
    async getStatus(accountId, id, options = {}) {
      const body = await find(accountId, path`/accounts/${accountId}/financial-institutions/${id}/status`, options)
      return body === undefined ? undefined : decodeFinancialInstitutionState(body, id)
    },
    async createUpdateLinkToken(accountId, id, options = {}) {
      const where = path`/accounts/${accountId}/financial-institutions/${id}/update-link-token`
      const { body } = await post(context, { accountId, path: where, body: {} }, options)
      return decodeLinkToken(body)
    },
  }
}
