import { sha256 } from '@noble/hashes/sha2.js'
import { base58xrp } from '@scure/base'
import { OutlayError } from './error.ts'

const pattern = /^r[rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz]{24,34}$/
const xAddress = /^[XT][rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz]{40,50}$/

const hasChecksum = (octets: Uint8Array): boolean => {
  const expected = sha256(sha256(octets.subarray(0, 21)))
  return octets.subarray(21).every((octet, at) => octet === expected[at])
}

/**
 * Reads a classic address of the XRP Ledger: base58check of version 0 and 20 octets. Refuses X-addresses, whose tag would be
 * lost. Throws `invalid_address` or `address_checksum_mismatch`.
 */
export const parseXrpAddress = (value: string, field: string): string => {
  if (xAddress.test(value)) {
    const message = 'X-addresses are not supported; send the classic address that starts with r'
    throw OutlayError.fromIssues([{ field, code: 'invalid_address', message }])
  }
  const octets = pattern.test(value) ? base58xrp.decode(value) : undefined
  if (octets?.length !== 25 || octets[0] !== 0) {
    throw OutlayError.fromIssues([{ field, code: 'invalid_address', message: 'must be a classic XRP Ledger address' }])
  }
  if (!hasChecksum(octets)) {
    throw OutlayError.fromIssues([{ field, code: 'address_checksum_mismatch', message: 'the checksum does not match' }])
  }
  return value
}
