import { type Account, accountStatuses, type BeneficialOwner } from '@outlay/core'
import {
  attachRaw,
  isRecord,
  type JsonRecord,
  readMember,
  readOptionalText,
  readText,
  unreadable,
  type WithRaw,
} from './json.ts'
import { decodePostalAddress, encodePostalAddress } from './postal-address.ts'

/** An account to register. The specification does not show this payload; these are the fields of the Account. */
export interface AccountRequest extends Omit<Account, 'id' | 'status'> {
  /** Additional members, in the service's own spelling. Sent unchanged. */
  readonly additional?: JsonRecord | undefined
}

/** Writes the body that registers an account. Specification: "Account". */
export function encodeAccountRequest(request: AccountRequest): JsonRecord {
  return {
    ...request.additional,
    business_name: request.businessName,
    ein: request.ein,
    address: encodePostalAddress(request.address),
    phone_number: request.phoneNumber,
    email: request.email,
    website: request.website,
    ultimate_beneficial_owners: request.ultimateBeneficialOwners.map(({ name, ssn, address }) => ({
      name,
      ssn,
      address: encodePostalAddress(address),
    })),
  }
}

const empty = { streetLine1: '', city: '', state: '', zip: '' } as const

/**
 * Reads one account; text that the service omitted is empty. Specification: "Account".
 *
 * @throws OutlayError `unreadable_response`, with the member
 */
export function decodeAccount(value: unknown): WithRaw<Account> {
  if (!isRecord(value)) throw unreadable('', 'an account')
  const text = (name: string) => readOptionalText(value, name) ?? ''
  const given = readText(value, 'status', 'status').toLowerCase()
  const status = accountStatuses.find((known) => known === (given === 'completed' ? 'complete' : given))
  if (status === undefined) throw unreadable('status', 'a status of an account')
  const owners = readMember(value, 'ultimate_beneficial_owners')
  const account: Account = {
    id: readText(value, 'id', 'id'),
    status,
    businessName: text('business_name'),
    ein: text('ein'),
    address: decodePostalAddress(value, 'address') ?? empty,
    phoneNumber: text('phone_number'),
    email: text('email'),
    website: text('website'),
    ultimateBeneficialOwners: Array.isArray(owners) ? owners.filter(isRecord).map(decodeOwner) : [],
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
