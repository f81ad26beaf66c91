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

/** Writes the body that requests a link token. Specification: "Bank-linking", 1. */
export function encodeLinkTokenRequest(request: LinkTokenRequest): JsonRecord {
  return {
    legal_name: request.legalName,
    email_address: request.emailAddress,
    phone_number: request.phoneNumber,
    date_of_birth: request.dateOfBirth,
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

/**
 * Reads the token that opens the provider's update flow. Specification: "POST …/{fi_id}/update-link-token".
 *
 * @throws OutlayError `unreadable_response` without a token
 */
export function decodeUpdateLinkToken(value: unknown): { readonly linkToken: string } {
  if (!isRecord(value)) throw unreadable('', 'a link token')
  return { linkToken: readText(value, 'link_token', 'link_token') }
}

/** Writes the body that registers linked accounts. Specification: "Bank-linking", 3. */
export function encodeRegisterAccountRequest(request: RegisterAccountRequest): JsonRecord {
  return { public_token: request.publicToken, customer_webhook_url: request.customerWebhookUrl }
}

/** Reads the ids of the financial institutions that a registration created or updated. Empty when the answer has none. */
export function decodeRegisteredIds(value: unknown): readonly string[] {
  if (!isRecord(value)) return []
  const one = readOptionalText(value, 'financial_institution_id') ?? readOptionalText(value, 'id')
  const several: unknown = readMember(value, 'financial_institution_ids')
  const texts = Array.isArray(several) ? several.filter((id) => typeof id === 'string' && id !== '') : []
  return [...new Set<string>(one === undefined ? texts : [one, ...texts])]
}
