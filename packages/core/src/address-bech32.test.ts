import { describe, expect, it } from 'vitest'
import { bech32Family } from './address-bech32.ts'
import { OutlayError } from './error.ts'

/** A vector of BIP-173: 20 octets. */
const vector = 'abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw'
const family = bech32Family({ name: 'example', prefix: 'abcdef' })

const codeOf = (value: string, given = family) => {
  try {
    return given.parse(value, 'address')
  } catch (error) {
    return OutlayError.is(error) ? `${error.code} ${error.field}` : 'another error'
  }
}

describe('a family of bech32 addresses', () => {
  it('reads a published vector, in lower case and in upper case, as one address', () => {
    expect(codeOf(vector)).toBe(vector)
    expect(codeOf(vector.toUpperCase())).toBe(vector)
  })

  it.each([
    ['mixed case', vector.replace('q', 'Q'), 'invalid_address'],
    ['another prefix', 'split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w', 'invalid_address'],
    ['a character that is not of the alphabet', vector.replace('x8', 'xb'), 'address_checksum_mismatch'],
    ['one changed character', vector.replace('9x', '8x'), 'address_checksum_mismatch'],
    ['two exchanged characters', vector.replace('qpz', 'pqz'), 'address_checksum_mismatch'],
    ['the checksum of bech32m', 'abcdef1l7aum6echk45nj3s0wdvt2fg8x9yrzpqzd3ryx', 'address_checksum_mismatch'],
    ['text that is none', 'abcdef1', 'invalid_address'],
    ['more than 90 characters', `abcdef1${'q'.repeat(90)}`, 'invalid_address'],
  ])('refuses %s', (_, value, code) => {
    expect(codeOf(value)).toBe(`${code} address`)
  })

  it('refuses another length than those of the chain', () => {
    const short = bech32Family({ name: 'example', prefix: 'abcdef', octets: [32] })
    expect(codeOf(vector, short)).toBe('invalid_address address')
  })

  it('writes what it reads, with the name as the default prefix', () => {
    const xion = bech32Family({ name: 'xion' })
    const octets = Uint8Array.from({ length: 32 }, (_, at) => at * 7)
    const address = xion.fromOctets(octets)
    expect(address).toMatch(/^xion1/)
    expect(xion.parse(address, 'address')).toBe(address)
    expect(xion.fromOctets(octets)).toBe(address)
  })
})
