import { describe, expect, it } from 'vitest'
import { createCatalog, defaultCatalog } from './catalog.ts'

describe('the default catalog', () => {
  it.each([
    ['usd', 'USD'],
    ['Usd', 'USD'],
    ['USD', 'USD'],
    ['usdc', 'USDC'],
    ['ysbc', 'YSBC'],
  ])('knows the value type %s as %s', (name, canonical) => {
    expect(defaultCatalog.valueType(name)?.name).toBe(canonical)
  })

  it.each([
    ['Polygon', 'polygon'],
    ['POLYGON', 'polygon'],
    ['rtp_credit', 'rtp'],
    ['RTP', 'rtp'],
    ['ACH_DEBIT', 'ach_debit'],
  ])('knows the transfer type %s as %s', (name, canonical) => {
    expect(defaultCatalog.transferType(name)?.name).toBe(canonical)
  })

  it.each(['uSD', 'EUR', '', 'constructor', '__proto__'])('does not know the value type %j', (name) => {
    expect(defaultCatalog.valueType(name)).toBeUndefined()
  })

  it('lists exactly these transfer types', () => {
    expect(defaultCatalog.transferTypes.map(({ name }) => name)).toEqual([
      ...['wire', 'ach_credit', 'ach_debit', 'same_day_ach_credit', 'rtp', 'spei'],
      ...['ethereum', 'base', 'polygon', 'arbitrum', 'optimism', 'avalanche', 'celo', 'bnb'],
      ...['solana', 'stellar', 'xrp_ledger', 'canton'],
      ...['sepolia', 'base_sepolia', 'amoy', 'fuji'],
      ...['solana_devnet', 'stellar_testnet', 'xrp_ledger_testnet', 'canton_testnet'],
    ])
  })

  it('lists exactly these value types', () => {
    const names = defaultCatalog.valueTypes.map(({ name, scale }) => `${name} ${scale}`)
    expect(names).toEqual(['USD 2', 'MXN 2', 'USDC 6', 'USDT 6', 'PYUSD 6', 'SBC 6', 'YSBC 6'])
  })

  it('moves fiat on banks and tokens on chains', () => {
    expect(defaultCatalog.pairs('USD', 'wire')).toBe(true)
    expect(defaultCatalog.pairs('MXN', 'spei')).toBe(true)
    expect(defaultCatalog.pairs('USDC', 'base')).toBe(true)
    expect(defaultCatalog.pairs('USD', 'spei')).toBe(false)
    expect(defaultCatalog.pairs('MXN', 'wire')).toBe(false)
    expect(defaultCatalog.pairs('USDC', 'wire')).toBe(false)
    expect(defaultCatalog.pairs('USD', 'base')).toBe(false)
    expect(defaultCatalog.pairs('USD', 'nowhere')).toBe(false)
  })

  it('has bank rails in no environment and every chain in one', () => {
    for (const { family, environment } of defaultCatalog.transferTypes) {
      expect(environment === null).toBe(family === 'bank')
    }
  })

  it('cannot be changed', () => {
    expect(Object.isFrozen(defaultCatalog)).toBe(true)
    for (const entry of [...defaultCatalog.valueTypes, ...defaultCatalog.transferTypes]) {
      expect(Object.isFrozen(entry)).toBe(true)
      expect(Object.isFrozen(entry.aliases)).toBe(true)
    }
  })
})

describe('createCatalog', () => {
  it('adds what a host has beside the defaults', () => {
    const catalog = createCatalog({
      valueTypes: [{ name: 'EUR', kind: 'fiat', scale: 2, aliases: ['euro'] }],
      transferTypes: [{ name: 'sepa', family: 'bank', expectedMs: 1000, valueTypes: ['EUR'], inbound: false }],
    })
    expect(catalog.valueType('euro')?.name).toBe('EUR')
    expect(catalog.pairs('EUR', 'sepa')).toBe(true)
    expect(catalog.transferType('sepa')).toMatchObject({ inbound: false, outbound: true, brandable: false })
    expect(catalog.transferType('wire')).toEqual(defaultCatalog.transferType('wire'))
    expect(defaultCatalog.valueType('EUR')).toBeUndefined()
  })

  it('keeps names in mixed case, and those with a plus', () => {
    const catalog = createCatalog({
      valueTypes: [
        { name: 'MXNe', kind: 'token', scale: 6, peg: 'MXN' },
        { name: 'USD+', kind: 'token', scale: 6, peg: 'USD' },
        { name: 'dUSD', kind: 'token', scale: 6, peg: 'USD' },
      ],
    })
    expect(['mxne', 'MXNe', 'usd+', 'DUSD'].map((name) => catalog.valueType(name)?.name)).toEqual([
      'MXNe',
      'MXNe',
      'USD+',
      'dUSD',
    ])
    expect(() => createCatalog({ transferTypes: [{ name: 'a+', family: 'evm', expectedMs: 1 }] })).toThrow(/letters/)
  })

  it('says what each value type is worth one of', () => {
    const pegs = Object.fromEntries(defaultCatalog.valueTypes.map(({ name, peg }) => [name, peg]))
    expect(pegs).toMatchObject({ USD: 'USD', USDC: 'USD', YSBC: 'USD', MXN: 'MXN' })
    const euro = createCatalog({
      valueTypes: [
        { name: 'EUR', kind: 'fiat', scale: 2 },
        { name: 'EURC', kind: 'token', scale: 6, peg: 'EUR' },
      ],
    })
    expect([euro.valueType('EUR')?.peg, euro.valueType('EURC')?.peg]).toEqual(['EUR', 'EUR'])
  })

  it.each([
    ['a name that is in use', { valueTypes: [{ name: 'USD', kind: 'fiat', scale: 2 }] }, /already/],
    [
      'an alias that is in use',
      { valueTypes: [{ name: 'EUR', kind: 'fiat', scale: 2, aliases: ['usdc'] }] },
      /already/,
    ],
    ['a name that is an alias', { transferTypes: [{ name: 'rtp_credit', family: 'evm', expectedMs: 1 }] }, /already/],
    ['a peg that is an alias', { valueTypes: [{ name: 'EURC', kind: 'token', scale: 6, peg: 'usd' }] }, /peg usd/],
    ['a peg with another peg', { valueTypes: [{ name: 'EURC', kind: 'token', scale: 6, peg: 'USDC' }] }, /peg USDC/],
    ['a scale beyond 18', { valueTypes: [{ name: 'EUR', kind: 'fiat', scale: 19 }] }, /scale/],
    ['an unusable name', { valueTypes: [{ name: 'E UR', kind: 'fiat', scale: 2 }] }, /letters/],
    ['a bank without value types', { transferTypes: [{ name: 'sepa', family: 'bank', expectedMs: 1 }] }, /value types/],
    [
      'an unknown value type',
      { transferTypes: [{ name: 'sepa', family: 'bank', expectedMs: 1, valueTypes: ['EUR'] }] },
      /unknown value type EUR/,
    ],
  ] as const)('refuses %s', (_, extension, message) => {
    expect(() => createCatalog(extension)).toThrow(message)
  })
})
