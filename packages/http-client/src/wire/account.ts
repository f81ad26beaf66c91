import { type Account, accountStatuses, type BeneficialOwner } from '@outlay/core'
import type { Dialect } from '../dialect.ts'
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
import { decodePostalAddress, encodePostalAddress } from './postal-address.ts'

/** The acceptance of the terms of a service. */
export interface TermsAttestation {
  /** ISO 8601, UTC. */
  readonly acceptedAt: string
  /** Address from which they were accepted. */
  readonly ip: string
  readonly userAgent: string
  /** Version of the terms. */
  readonly version: string
}

/**
 * An account to register. The specification does not show this payload; these are the fields of the Account. The members below are
 * of the public contract, and are sent when they are given.
 */
export interface AccountRequest extends Omit<Account, 'id' | 'status'> {
  /** The person who controls the business. */
  readonly businessController?: BeneficialOwner | undefined
  readonly tosAttestation?: TermsAttestation | undefined
  readonly accountType?: 'custodial' | 'transactional' | undefined
  readonly entityType?: 'business' | 'individual' | undefined
  /** Additional members, in the service's own spelling. Sent unchanged. */
  readonly additional?: JsonRecord | undefined
}

/**
 * Writes the body that registers an account. Owners are `ultimate_beneficial_owners` by the specification, and `beneficial_owners` by
 * the public contract, null without any. Specification: "Account".
 */
export function encodeAccountRequest(request: AccountRequest, dialect: Dialect): JsonRecord {
  const owners = request.ultimateBeneficialOwners.map(encodePerson)
  return {
    ...request.additional,
    business_name: request.businessName,
    ein: request.ein,
    address: encodePostalAddress(request.address),
    phone_number: request.phoneNumber,
    email: request.email,
    website: request.website,
    ...(dialect === 'public'
      ? { beneficial_owners: owners.length === 0 ? null : owners }
      : { ultimate_beneficial_owners: owners }),
    ...encodePublicMembers(request),
  }
}

const encodePerson = ({ name, ssn, address }: BeneficialOwner): JsonRecord => ({
  name,
  ssn,
  address: encodePostalAddress(address),
})

const encodePublicMembers = (request: AccountRequest): JsonRecord => {
  const { businessController, tosAttestation: terms, accountType, entityType } = request
  return {
    ...(businessController === undefined ? {} : { business_controller: encodePerson(businessController) }),
    ...(terms === undefined ? {} : { tos_attestation: encodeTerms(terms) }),
    ...(accountType === undefined ? {} : { account_type: accountType }),
    ...(entityType === undefined ? {} : { entity_type: entityType }),
  }
}

const encodeTerms = ({ acceptedAt, ip, userAgent, version }: TermsAttestation): JsonRecord => ({
  accepted_at: acceptedAt,
  ip,
  user_agent: userAgent,
  version,
})

/** An account as the service returns it. By the public contract it is a summary, so most texts may be empty. */
export interface ReadAccount extends Account {
  /** ISO 8601, UTC; `undefined` when the service does not say. */
  readonly created: string | undefined
  /** ISO 8601, UTC; `undefined` when the service does not say. */
  readonly updated: string | undefined
}

const empty = { streetLine1: '', city: '', state: '', zip: '' } as const

/**
 * Reads one account; text that the service omitted is empty. A summary has `name` for `business_name`. Specification: "Account".
 *
 * @throws OutlayError `unreadable_response`, with the member
 */
export function decodeAccount(value: unknown): WithRaw<ReadAccount> {
  if (!isRecord(value)) throw unreadable('', 'an account')
  const text = (name: string) => readOptionalText(value, name) ?? ''
  const given = readText(value, 'status', 'status').toLowerCase()
  const status = accountStatuses.find((known) => known === (given === 'completed' ? 'complete' : given))
  if (status === undefined) throw unreadable('status', 'a status of an account')
  const owners = readMember(value, 'ultimate_beneficial_owners') ?? readMember(value, 'beneficial_owners')
  const account: ReadAccount = {
    id: readText(value, 'id', 'id'),
    status,
    businessName: text('business_name') || text('name'),
    ein: text('ein'),
    address: decodePostalAddress(value, 'address') ?? empty,
    phoneNumber: text('phone_number'),
    email: text('email'),
    website: text('website'),
    ultimateBeneficialOwners: Array.isArray(owners) ? owners.filter(isRecord).map(decodeOwner) : [],
    created: readTimestamp(value, 'created') ?? readTimestamp(value, 'created_at'),
    updated: readTimestamp(value, 'updated') ?? readTimestamp(value, 'updated_at'),
  }
  return attachRaw(account, value)
}

const decodeOwner = (owner: JsonRecord): BeneficialOwner => ({
  name: readOptionalText(owner, 'name') ?? '',
  ssn: readOptionalText(owner, 'ssn') ?? '',
  address: decodePostalAddress(owner, 'address') ?? empty,
})

/** Reads one entry of a list of accounts: an id, or an account. */
export function decodeAccountId(value: unknown): string {
  if (typeof value === 'string' && value !== '') return value
  if (isRecord(value)) return readText(value, 'id', 'accounts.id')
  throw unreadable('accounts', 'a list of ids')
}
