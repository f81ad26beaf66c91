import {
  type LinkTokenRequest,
  parseLinkTokenRequest,
  parseRegisterAccountRequest,
  type RegisterAccountRequest,
} from '@outlay/core'
import { path } from '../request.ts'
import {
  decodeLinkToken,
  decodeRegisteredIds,
  encodeLinkTokenRequest,
  encodeRegisterAccountRequest,
  type ReadLinkToken,
} from '../wire/bank-link.ts'
import type { WithRaw } from '../wire/json.ts'
import { type CreateOptions, missingId, post, type ResourceContext } from './resource.ts'

/** Where a service keeps bank linking: its operations move from below `financial-institutions` to a segment of their own. */
export interface BankLinkPaths {
  /** Name of the segment. Default `banklink`. */
  readonly segment?: string | undefined
  /**
   * Where link tokens are: `account` for `/accounts/{id}/{segment}/link_token`, `financial-institutions` for
   * `/accounts/{id}/financial-institutions/{segment}/link_token`. Default `account`.
   */
  readonly linkTokens?: 'account' | 'financial-institutions' | undefined
  /**
   * Where accounts are registered: `account` for `/accounts/{id}/{segment}/register-account`, `financial-institutions` for
   * `/accounts/{id}/financial-institutions/register-account`. Default `financial-institutions`.
   */
  readonly registration?: 'account' | 'financial-institutions' | undefined
}

/** What a registration of linked accounts was answered with. */
export interface RegisteredAccount {
  /** The same as before when the account was linked already. */
  readonly financialInstitutionId: string
  /** All of them, when several bank accounts were chosen; the one above is the first. */
  readonly financialInstitutionIds: readonly string[]
  /** The key that was sent: the caller's, or the generated one. */
  readonly idempotencyKey: string
}

/** Bank accounts linked through a provider's flow. Specification: "Bank-linking". */
export interface BankLinksResource {
  /**
   * Asks for the token that opens the provider's flow.
   *
   * @throws OutlayError what `parseLinkTokenRequest` finds wrong, before anything is sent; then what the service refuses
   */
  createLinkToken(
    accountId: string,
    request?: LinkTokenRequest,
    options?: CreateOptions,
  ): Promise<WithRaw<ReadLinkToken>>
  /**
   * Registers the accounts that were chosen in the provider's flow, by its public token.
   *
   * @throws OutlayError what `parseRegisterAccountRequest` finds wrong, before anything is sent; then what the service
   *   refuses
   */
  registerAccount(
    accountId: string,
    request: RegisterAccountRequest,
    options?: CreateOptions,
  ): Promise<RegisteredAccount>
}

/**
 * Makes the bank links of a client.
 *
 * Throws Error for a segment that is not letters, digits, hyphens and underscores.
 */
export function createBankLinks(context: ResourceContext, paths: BankLinkPaths = {}): BankLinksResource {
  const { segment = 'banklink', linkTokens = 'account', registration = 'financial-institutions' } = paths
  if (!/^[\w-]+$/.test(segment))
    throw new Error('the segment of bank links has letters, digits, hyphens and underscores')
  return {
    async createLinkToken(accountId, request = {}, options = {}) {
      const body = encodeLinkTokenRequest(parseLinkTokenRequest(request))
      const where =
        linkTokens === 'account'
          ? path`/accounts/${accountId}/${segment}/link_token`
          : path`/accounts/${accountId}/financial-institutions/${segment}/link_token`
      const answered = await post(context, { accountId, path: where, body }, options)
      return decodeLinkToken(answered.body)
    },
    async registerAccount(accountId, request, options = {}) {
      const body = encodeRegisterAccountRequest(parseRegisterAccountRequest(request))
      const where =
        registration === 'account'
          ? path`/accounts/${accountId}/${segment}/register-account`
          : path`/accounts/${accountId}/financial-institutions/register-account`
      const { body: answer, idempotencyKey } = await post(context, { accountId, path: where, body }, options)
      const [first, ...others] = decodeRegisteredIds(answer)
      if (first === undefined) throw missingId(idempotencyKey)
      return { financialInstitutionId: first, financialInstitutionIds: [first, ...others], idempotencyKey }
    },
  }
}
