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

const muxedVersion = 12 << 3
const accountVersion = 6 << 3
const keyLength = 32

/** The account of a muxed address, and any other text as it is: `M…` and `G…` of one account are one payee. */
export const stellarAccount = (address: string): string => {
  const octets = /^M[A-Z2-7]{68}$/.test(address) ? decode(address) : undefined
  if (octets?.[0] !== muxedVersion) return address
  const account = new Uint8Array(keyLength + 3)
  account[0] = accountVersion
  account.set(octets.subarray(1, 1 + keyLength), 1)
  const checksum = crc16Xmodem(account.subarray(0, 1 + keyLength))
  account.set([checksum & 0xff, checksum >> 8], 1 + keyLength)
  return base32nopad.encode(account)
}
