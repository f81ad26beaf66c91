import type { PostalAddress } from '@outlay/core'
import { isRecord, type JsonRecord, readMember, readOptionalText } from './json.ts'

/** Writes a postal address. Specification: AccountAddress, bank_address, beneficiary_address. */
export function encodePostalAddress(address: PostalAddress): JsonRecord {
  return {
    street_line_1: address.streetLine1,
    street_line_2: address.streetLine2,
    city: address.city,
    state: address.state,
    zip: address.zip,
    country: address.country,
  }
}

/** Reads a postal address. A member that the service omitted is empty. */
export function decodePostalAddress(record: JsonRecord, name: string): PostalAddress | undefined {
  const address = readMember(record, name)
  if (!isRecord(address)) return undefined
  const text = (member: string) => readOptionalText(address, member)
  return {
    streetLine1: text('street_line_1') ?? '',
    streetLine2: text('street_line_2'),
    city: text('city') ?? '',
    state: text('state') ?? '',
    zip: text('zip') ?? '',
    country: text('country'),
  }
}
