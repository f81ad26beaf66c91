import { describe, expect, it } from 'vitest'
import { Address } from './address.ts'
import { bech32Family } from './address-bech32.ts'
import { tronFamily } from './address-tron.ts'
import { createCatalog } from './catalog.ts'
import { OutlayError } from './error.ts'
import { parseExternalAddress } from './external-address.ts'

const xion = bech32Family({ name: 'xion' })
const catalog = createCatalog({
  families: [xion, tronFamily()],
  transferTypes: [
    { name: 'xion', family: 'xion', expectedMs: 10_000 },
    { name: 'xion_testnet', family: 'xion', expectedMs: 10_000, environment: 'testnet' },
    { name: 'tron', family: 'tron', expectedMs: 60_000 },
  ],
})
const address = xion.fromOctets(new Uint8Array(32).fill(9))
const register = (more: object) => parseExternalAddress({ name: 'Supplier', address, ...more }, catalog)

describe('a catalog with families of its host', () => {
  it('knows them and the chains that use them', () => {
    expect(catalog.family('xion')?.name).toBe('xion')
    expect(catalog.family('evm')).toBeUndefined()
    expect(catalog.transferType('Xion_testnet')?.environment).toBe('testnet')
    expect(catalog.pairs('USDC', 'tron')).toBe(true)
  })

  it('checks an external address by its family', () => {
    expect(register({ transferTypes: ['xion'] })).toMatchObject({ kind: 'wallet', address })
    expect(() => register({ transferTypes: ['tron'] })).toThrow(expect.objectContaining({ code: 'invalid_address' }))
    const broken = { transferTypes: ['xion'], address: address.replace(/.$/, (last) => (last === 'q' ? 'p' : 'q')) }
    expect(() => register(broken)).toThrow(expect.objectContaining({ code: 'address_checksum_mismatch' }))
    expect(() => register({ transferTypes: ['xion', 'base'] })).toThrow(
      expect.objectContaining({ code: 'mixed_chains' }),
    )
  })

  it('counts any error of a check as an address that is none, and refuses an answer that is no text', () => {
    const of = (parse: (value: string) => string) => {
      const family = { name: 'own', parse, fromOctets: () => 'own' }
      return createCatalog({ families: [family], transferTypes: [{ name: 'own', family: 'own', expectedMs: 1 }] })
    }
    const failing = of(() => {
      throw new TypeError('no')
    })
    expect(() => Address.parse('own', 'x', 'address', failing)).toThrow(
      expect.objectContaining({ code: 'invalid_address', field: 'address' }),
    )
    const silent = of(() => undefined as unknown as string)
    const parse = () => Address.parse('own', 'x', 'address', silent)
    expect(parse).toThrow(/parse must give the address/)
    expect(parse).not.toThrow(OutlayError)
  })
})

describe('createCatalog', () => {
  const transferTypes = [{ name: 'xion', family: 'xion', expectedMs: 1 }]

  it.each([
    ['a chain of an unknown family', { transferTypes }, /xion: unknown family xion/],
    ['a family that is built in', { families: [{ ...xion, name: 'evm' }] }, /evm: there is one/],
    ['a family that is there twice', { families: [xion, xion] }, /xion: there is one/],
    ['a family without a check', { families: [{ name: 'own', fromOctets: () => '' } as never] }, /own: needs/],
    ['a name that is none', { families: [{ ...xion, name: 'Own chain' }] }, /lower-case/],
  ])('refuses %s', (_, extension, message) => {
    expect(() => createCatalog(extension)).toThrow(message)
  })
})
