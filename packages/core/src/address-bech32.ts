import { bech32 } from '@scure/base'
import type { AddressFamily } from './address-family.ts'
import { OutlayError } from './error.ts'

/** What distinguishes the addresses of one chain that uses bech32. */
export interface Bech32FamilyOptions {
  /** Name of the family, for example `xion`. */
  readonly name: string
  /** The part before the separator `1`. Default: the name. */
  readonly prefix?: string | undefined
  /** Lengths of the payload that are allowed, in octets. Default 20 and 32: accounts and contracts of Cosmos chains. */
  readonly octets?: readonly number[] | undefined
}

/**
 * Makes the family of chains whose addresses are bech32 with one prefix, such as `xion1…`: the checksum is verified, and the canonical
 * spelling is lower case.
 *
 * @example
 * const xion = bech32Family({ name: 'xion' })
 * createCatalog({ families: [xion], transferTypes: [{ name: 'xion', family: 'xion', expectedMs: 10_000 }] })
 */
export const bech32Family = ({ name, prefix = name, octets = [20, 32] }: Bech32FamilyOptions): AddressFamily => ({
  name,
  parse(value, field) {
    const given = /^[a-z0-9]{8,90}$|^[A-Z0-9]{8,90}$/.test(value) ? value.toLowerCase() : ''
    if (!given.startsWith(`${prefix}1`)) {
      const message = `must be a bech32 address that starts with ${prefix}1, in one case`
      throw OutlayError.fromIssues([{ field, code: 'invalid_address', message }])
    }
    const decoded = bech32.decodeUnsafe(given)
    if (decoded === undefined) {
      const message = 'the checksum does not match'
      throw OutlayError.fromIssues([{ field, code: 'address_checksum_mismatch', message }])
    }
    const payload = bech32.fromWordsUnsafe(decoded.words)
    if (decoded.prefix === prefix && payload instanceof Uint8Array && octets.includes(payload.length)) return given
    const message = `must contain ${octets.join(' or ')} octets`
    throw OutlayError.fromIssues([{ field, code: 'invalid_address', message }])
  },
  fromOctets: (given) => bech32.encode(prefix, bech32.toWords(given.slice(0, octets[0]))),
})
