import { sha256 } from '@noble/hashes/sha2.js'
import { base58 } from '@scure/base'
import type { AddressFamily } from './address-family.ts'
import { OutlayError } from './error.ts'

/** The octet in front of the 20 of an account. */
const version = 0x41

const pattern = /^T[1-9A-HJ-NP-Za-km-z]{33}$/

const checksumOf = (octets: Uint8Array): Uint8Array => sha256(sha256(octets)).slice(0, 4)

/**
 * Makes the family of Tron: addresses are base58check of `0x41` and 20 octets, and start with `T`.
 *
 * @example
 * createCatalog({ families: [tronFamily()], transferTypes: [{ name: 'tron', family: 'tron', expectedMs: 60_000 }] })
 */
export const tronFamily = (name = 'tron'): AddressFamily => ({
  name,
  parse(value, field) {
    const octets = pattern.test(value) ? base58.decode(value) : undefined
    if (octets?.length !== 25 || octets[0] !== version) {
      const message = 'must be a Tron address: T and 33 characters in base58'
      throw OutlayError.fromIssues([{ field, code: 'invalid_address', message }])
    }
    if (!checksumOf(octets.subarray(0, 21)).every((octet, at) => octet === octets[21 + at])) {
      const message = 'the checksum does not match'
      throw OutlayError.fromIssues([{ field, code: 'address_checksum_mismatch', message }])
    }
    return value
  },
  fromOctets(given) {
    const payload = Uint8Array.of(version, ...given.slice(0, 20))
    return base58.encode(Uint8Array.of(...payload, ...checksumOf(payload)))
  },
})
