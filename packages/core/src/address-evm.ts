import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { OutlayError } from './error.ts'

const pattern = /^0x[0-9a-fA-F]{40}$/

const checksummed = (lower: string): string => {
  const hash = bytesToHex(keccak_256(new TextEncoder().encode(lower)))
  let text = '0x'
  for (let at = 0; at < lower.length; at += 1) {
    const character = lower.charAt(at)
    text += hash.charAt(at) >= '8' ? character.toUpperCase() : character
  }
  return text
}

/**
 * Reads an address of an EVM chain and returns its EIP-55 spelling. An address in one case has no checksum and is accepted;
 * mixed case must match. Throws `invalid_address` or `address_checksum_mismatch`.
 */
export const parseEvmAddress = (value: string, field: string): string => {
  if (!pattern.test(value)) {
    throw OutlayError.fromIssues([{ field, code: 'invalid_address', message: 'must be 0x and 40 hexadecimal digits' }])
  }
  const digits = value.slice(2)
  const lower = digits.toLowerCase()
  const canonical = checksummed(lower)
  if (digits !== lower && digits !== digits.toUpperCase() && value !== canonical) {
    throw OutlayError.fromIssues([
      { field, code: 'address_checksum_mismatch', message: 'upper and lower case do not match EIP-55' },
    ])
  }
  return canonical
}
