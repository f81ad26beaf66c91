import { base32nopad } from '@scure/base'
import { OutlayError } from './error.ts'

const pattern = /^(?:G[A-Z2-7]{55}|M[A-Z2-7]{68})$/

const crc16Xmodem = (octets: Uint8Array): number => {
  let crc = 0
  for (const octet of octets) {
    crc ^= octet << 8
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff
  }
  return crc
}

// The unused last bit of an M address must be zero, or one account would have two spellings; the decoder throws for it.
const decode = (value: string): Uint8Array | undefined => {
  try {
    return base32nopad.decode(value)
  } catch {
    return undefined
  }
}

/**
 * Reads a Stellar account (G, 56 characters) or a muxed account (M, 69 characters). Throws `invalid_address` or
 * `address_checksum_mismatch`.
 */
export const parseStellarAddress = (value: string, field: string): string => {
  if (/^S[A-Z2-7]{55}$/.test(value)) {
    throw OutlayError.fromIssues([
      { field, code: 'invalid_address', message: 'is a secret key, which must never be sent' },
    ])
  }
  const octets = pattern.test(value) ? decode(value) : undefined
  if (octets === undefined) {
    throw OutlayError.fromIssues([{ field, code: 'invalid_address', message: 'must be a G or M address of Stellar' }])
  }
  const end = octets.length - 2
  const checksum = (octets[end] ?? 0) | ((octets[end + 1] ?? 0) << 8)
  if (checksum !== crc16Xmodem(octets.subarray(0, end))) {
    throw OutlayError.fromIssues([{ field, code: 'address_checksum_mismatch', message: 'the checksum does not match' }])
  }
  return value
}
