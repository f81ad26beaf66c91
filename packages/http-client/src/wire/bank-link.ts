import type { LinkToken, LinkTokenRequest, RegisterAccountRequest } from '@outlay/core'
import {
  attachRaw,
  isRecord,
  type JsonRecord,
  readMember,
  readOptionalText,
  readText,
  readTimestamp,
  unreadable,
  type WithRaw,
} from './json.ts'

/** What the public contract lets a request about linked accounts have, and the specification does not. */
export interface PublicLinkMembers {
  /** What the linked accounts are for. By the public contract a registration needs it, and without it is for `ach_debit`. */
  readonly transferTypes?: readonly string[] | undefined
}

interface PublicLinkToken extends PublicLinkMembers {
  readonly redirectUri?: string | undefined
  readonly androidPackageName?: string | undefined
  readonly customerWebhookUrl?: string | undefined
}

/** Writes the body that requests a link token. Specification: "Bank-linking", 1. */
export function encodeLinkTokenRequest(request: LinkTokenRequest & PublicLinkToken): JsonRecord {
  return {
    legal_name: request.legalName,
    email_address: request.emailAddress,
    phone_number: request.phoneNumber,
    date_of_birth: request.dateOfBirth,
    transfer_types: request.transferTypes,
    redirect_uri: request.redirectUri,
    android_package_name: request.androidPackageName,
    customer_webhook_url: request.customerWebhookUrl,
  }
}

/** Opens the provider's flow. Only the token is certain, because a service may return less than the specification. */
export type ReadLinkToken = Pick<LinkToken, 'linkToken'> & {
  readonly [Member in 'expiration' | 'callbackUrl']: LinkToken[Member] | undefined
}

/**
 * Reads a link token. Specification: "Bank-linking", 1.
 *
 * @throws OutlayError `unreadable_response` without a token
 */
export function decodeLinkToken(value: unknown): WithRaw<ReadLinkToken> {
  if (!isRecord(value)) throw unreadable('', 'a link token')
  const linkToken: ReadLinkToken = {
    linkToken: readText(value, 'link_token', 'link_token'),
    expiration: readTimestamp(value, 'expiration'),
    callbackUrl: readOptionalText(value, 'callback_url'),
  }
  return attachRaw(linkToken, value)
}

/** Writes the body that registers linked accounts. Specification: "Bank-linking", 3. */
export function encodeRegisterAccountRequest(request: RegisterAccountRequest & PublicLinkMembers): JsonRecord {
  return {
    public_token: request.publicToken,
    customer_webhook_url: request.customerWebhookUrl,
    transfer_types: request.transferTypes,
  }
}

/** The bank accounts that a registration created or updated. */
export interface Registration {
  readonly addressId: string | undefined
  /** Empty when the answer has none. */
  readonly ids: readonly string[]
}

/** Reads the answer to a registration: `financial_institution_id`, `address_id`, or both. Specification: "Bank-linking", 3. */
export function decodeRegistration(value: unknown): Registration {
  if (!isRecord(value)) return { addressId: undefined, ids: [] }
  const addressId = readOptionalText(value, 'address_id')
  const one = readOptionalText(value, 'financial_institution_id') ?? addressId ?? readOptionalText(value, 'id')
  const several: unknown = readMember(value, 'financial_institution_ids') ?? readMember(value, 'address_ids')
  const texts = Array.isArray(several) ? several.filter((id) => typeof id === 'string' && id !== '') : []
  return { addressId, ids: [...new Set<string>(one === undefined ? texts : [one, ...texts])] }
}
