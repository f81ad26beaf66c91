import { type Catalog, parseExternalAddress } from '@outlay/core'
import type { Dialect } from '../dialect.ts'
import { encodeExternalAddress } from './address.ts'
import { isRecord, type JsonRecord } from './json.ts'

/** Members that the public contract requires of a bank account only for wires, and what stands in for them while it is checked. */
const placeholders: JsonRecord = {
  name: 'bank account',
  bankAddress: { streetLine1: '-', city: '-', state: '-', zip: '-' },
  beneficiaryAddress: { streetLine1: '-', city: '-', state: '-', zip: '-' },
}

const encodedNames: Readonly<Record<string, string>> = {
  name: 'name',
  bankAddress: 'bank_address',
  beneficiaryAddress: 'beneficiary_address',
}

/**
 * Checks an external address to register and writes its body, with `ownership` when it is given. By the public contract, a bank
 * account without wire needs neither a name nor postal addresses.
 *
 * @throws OutlayError the codes of `parseExternalAddress`
 */
export function encodeAddressInput(input: unknown, catalog: Catalog, dialect: Dialect): JsonRecord {
  if (!isRecord(input)) return encodeExternalAddress(parseExternalAddress(input, catalog))
  const { ownership, ...address } = input
  const missing = dialect === 'public' && isBankWithoutWire(address, catalog) ? listMissing(address) : []
  const completed = { ...address, ...Object.fromEntries(missing.map((name) => [name, placeholders[name]])) }
  const body = encodeExternalAddress(parseExternalAddress(completed, catalog))
  const omitted = new Set(missing.map((name) => encodedNames[name]))
  const kept = Object.fromEntries(Object.entries(body).filter(([name]) => !omitted.has(name)))
  return ownership === undefined ? kept : { ...kept, ownership }
}

const listMissing = (address: JsonRecord): readonly string[] =>
  Object.keys(placeholders).filter((name) => (address[name] ?? address[encodedNames[name] ?? name]) === undefined)

const isBankWithoutWire = (address: JsonRecord, catalog: Catalog): boolean => {
  const names = address['transferTypes'] ?? address['transfer_types']
  const isBank = (address['accountNumber'] ?? address['account_number']) !== undefined
  return isBank && Array.isArray(names) && !names.some((name) => catalog.transferType(String(name))?.wire)
}
