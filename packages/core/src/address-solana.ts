import { base58 } from '@scure/base'
import { OutlayError } from './error.ts'

// The base 58 of 32 octets has 32 to 44 characters; the bound also keeps long input away from the quadratic decoder.
const pattern = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/

/** Reads a Solana address: base 58 of exactly 32 octets, without a checksum. Throws `invalid_address`. */
export const parseSolanaAddress = (value: string, field: string): string => {
  if (!pattern.test(value) || base58.decode(value).length !== 32) {
    throw OutlayError.fromIssues([{ field, code: 'invalid_address', message: 'must be base 58 of 32 octets' }])
  }
  return value
}
