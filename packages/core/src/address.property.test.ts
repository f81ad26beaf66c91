import { Keypair, MuxedAccount, Account as StellarAccount, StrKey } from '@stellar/stellar-base'
import fc from 'fast-check'
import { encodeAccountID, isValidClassicAddress } from 'ripple-address-codec'
import { describe, expect, it } from 'vitest'
import { Address } from './address.ts'
import type { ChainFamily } from './transfer-type.ts'

const octets = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const accepts = (family: ChainFamily, text: string): boolean => {
  try {
    return Address.parse(family, text) === text
  } catch {
    return false
  }
}

/** The text with one character replaced by another one of the alphabet. */
const changed = (text: string, alphabet: string, at: number, by: number): string => {
  const place = at % text.length
  const others = alphabet.replace(text.charAt(place), '')
  return text.slice(0, place) + others.charAt(by % others.length) + text.slice(place + 1)
}

const base32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const ripple = 'rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz'

describe('addresses with a checksum', () => {
  it('agree with the Stellar library on G addresses and refuse any other character anywhere', () => {
    fc.assert(
      fc.property(octets(32), fc.nat(), fc.nat(), (key, at, by) => {
        const address = StrKey.encodeEd25519PublicKey(Buffer.from(key))
        expect(accepts('stellar', address)).toBe(true)
        expect(accepts('stellar', changed(address, base32, at, by))).toBe(false)
      }),
    )
  })

  it('agree with the Stellar library on M addresses and refuse any other character anywhere', () => {
    fc.assert(
      fc.property(octets(32), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.nat(), fc.nat(), (seed, id, at, by) => {
        const account = new StellarAccount(Keypair.fromRawEd25519Seed(Buffer.from(seed)).publicKey(), '0')
        const address = new MuxedAccount(account, id.toString()).accountId()
        expect(accepts('stellar', address)).toBe(true)
        expect(accepts('stellar', changed(address, base32, at, by))).toBe(false)
      }),
      { numRuns: 30 },
    )
  })

  it('agree with the XRP library and refuse any other character anywhere', () => {
    fc.assert(
      fc.property(octets(20), fc.nat(), fc.nat(), (id, at, by) => {
        const address = encodeAccountID(id)
        expect(accepts('xrp', address)).toBe(true)
        const wrong = changed(address, ripple, at, by)
        expect(accepts('xrp', wrong)).toBe(isValidClassicAddress(wrong))
        expect(accepts('xrp', wrong)).toBe(false)
      }),
    )
  })

  // Fifteen letters carry about fifteen bits of checksum, so a few changes in a hundred thousand go unseen: a fixed seed.
  it('refuse any other character in an EVM address of mixed case', () => {
    fc.assert(
      fc.property(octets(20), fc.nat(), fc.nat(), (bytes, at, by) => {
        const address = Address.parse('evm', `0x${Buffer.from(bytes).toString('hex')}`)
        fc.pre((address.match(/[a-f]/g)?.length ?? 0) > 3 && (address.match(/[A-F]/g)?.length ?? 0) > 3)
        const wrong = `0x${changed(address.slice(2), '0123456789abcdefABCDEF', at, by)}`
        expect(accepts('evm', wrong)).toBe(false)
      }),
      { seed: 55, numRuns: 500 },
    )
  })
})
