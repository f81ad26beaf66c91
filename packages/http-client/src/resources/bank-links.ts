import {
  type LinkTokenRequest,
  parseLinkTokenRequest,
  parseRegisterAccountRequest,
  type RegisterAccountRequest,
} from '@outlay/core'
import { path } from '../request.ts'
import {
  decodeLinkToken,
  decodeRegistration,
  encodeLinkTokenRequest,
  encodeRegisterAccountRequest,
  type PublicLinkMembers,
  type ReadLinkToken,
} from '../wire/bank-link.ts'
import type { WithRaw } from '../wire/json.ts'
import { type CreateOptions, missingId, post, type ResourceContext } from './resource.ts'

/** Paths of bank linking at a service. The operations are moving from `financial-institutions` to a segment of their own. */
export interface BankLinkPaths {
  /** Name of the segment. Default `banklink`; by the public contract `plaid`. */
  readonly segment?: string | undefined
  /**
   * Path of link tokens: `account` for `/accounts/{id}/{segment}/link_token`, `financial-institutions` for
   * `/accounts/{id}/financial-institutions/{segment}/link_token`. Default `account`.
   */
  readonly linkTokens?: 'account' | 'financial-institutions' | undefined
  /**
   * Path of registrations: `account` for `/accounts/{id}/{segment}/register-account`, `financial-institutions` for
   * `/accounts/{id}/financial-institutions/register-account`. Default `financial-institutions`; by the public contract `account`.
   */
  readonly registration?: 'account' | 'financial-institutions' | undefined
}

/** The result of a registration of linked accounts. */
export interface RegisteredAccount {
  /** Id of the address that the bank account is, for transfers; `undefined` when the service returns only an institution. */
  readonly addressId: string | undefined
  /** The existing id when the account is already linked. */
  readonly financialInstitutionId: string
  /** All ids when several bank accounts were selected. `id` is the first. */
  readonly financialInstitutionIds: readonly string[]
  /** The key that was sent: the caller's, or the generated one. */
  readonly idempotencyKey: string
}

/** The request for a link token. What the specification does not have is sent when it is given. */
export interface LinkTokenInput extends LinkTokenRequest, PublicLinkMembers {
  /** Where the provider's flow returns to. */
  readonly redirectUri?: string | undefined
  readonly androidPackageName?: string | undefined
  /** Gets notices of re-authentication. */
  readonly customerWebhookUrl?: string | undefined
}

/** The request that exchanges a public token for linked accounts. */
export interface RegisterAccountInput extends RegisterAccountRequest, PublicLinkMembers {}

/** Bank accounts linked through a provider's flow. Specification: "Bank-linking". */
export interface BankLinksResource {
  /**
   * Requests the token that opens the provider's flow.
   *
   * @throws OutlayError the codes of `parseLinkTokenRequest`, before anything is sent; then the refusals of the service
   */
  createLinkToken(accountId: string, request?: LinkTokenInput, options?: CreateOptions): Promise<WithRaw<ReadLinkToken>>
  /**
   * Registers the accounts that were selected in the provider's flow, by its public token.
   *
   * @throws OutlayError the codes of `parseRegisterAccountRequest`, before anything is sent; then the refusals of the service
   *   refuses
   */
  registerAccount(accountId: string, request: RegisterAccountInput, options?: CreateOptions): Promise<RegisteredAccount>
}

/**
 * Makes the bank links resource of a client.
 *
 * Throws Error for a segment that is not letters, digits, hyphens and underscores.
 */
export function createBankLinks(context: ResourceContext, paths: BankLinkPaths = {}): BankLinksResource {
  const isPublic = context.dialect === 'public'
  const { segment = isPublic ? 'plaid' : 'banklink', linkTokens = 'account' } = paths
  const { registration = isPublic ? 'account' : 'financial-institutions' } = paths
  if (!/^[\w-]+$/.test(segment))
    throw new Error('the segment of bank links must be letters, digits, hyphens and underscores')
  return {
    async createLinkToken(accountId, request = {}, options = {}) {
      const body = encodeLinkTokenRequest({ ...pickPublic(request), ...parseLinkTokenRequest(request) })
      const where =
        linkTokens === 'account'
          ? path`/accounts/${accountId}/${segment}/link_token`
          : path`/accounts/${accountId}/financial-institutions/${segment}/link_token`
      const answered = await post(context, { accountId, path: where, body }, options)
      return decodeLinkToken(answered.body)
    },
    async registerAccount(accountId, request, options = {}) {
      const { transferTypes = isPublic ? linkedTransferTypes : undefined } = request
      const body = encodeRegisterAccountRequest({ ...parseRegisterAccountRequest(request), transferTypes })
      const where =
        registration === 'account'
          ? path`/accounts/${accountId}/${segment}/register-account`
          : path`/accounts/${accountId}/financial-institutions/register-account`
      const { body: answer, idempotencyKey } = await post(context, { accountId, path: where, body }, options)
      const { addressId, ids } = decodeRegistration(answer)
      const [first, ...others] = ids
      if (first === undefined) throw missingId(idempotencyKey)
      return { addressId, financialInstitutionId: first, financialInstitutionIds: [first, ...others], idempotencyKey }
    },
  }
}

/** Accounts are linked to be debited. Specification: "Bank-linking". */
const linkedTransferTypes = ['ach_debit']

const pickPublic = ({ transferTypes, redirectUri, androidPackageName, customerWebhookUrl }: LinkTokenInput) => ({
  transferTypes,
  redirectUri,
  androidPackageName,
  customerWebhookUrl,
})
