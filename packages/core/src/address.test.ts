import { describe, expect, it } from 'vitest'
import { Address } from './address.ts'
import { defaultCatalog } from './catalog.ts'

const hash = 'ab'.repeat(32)
const refusal = (code: string, field = 'address') => expect.objectContaining({ code, field })

describe('Address.parse of an EVM address', () => {
  // The examples of EIP-55 itself.
  it.each([
    '0x52908400098527886E0F7030069857D2E4169EE7',
    '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
    '0xde709f2102306220921060314715629080e2fb77',
    '0x27b1fdb04752bbc536007a920d24acb045561c26',
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
    '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
    '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
  ])('accepts %s and spells it with its checksum', (address) => {
    expect(Address.parse('evm', address)).toBe(address)
    expect(Address.parse('evm', address.toLowerCase())).toBe(address)
    expect(Address.parse('evm', `0x${address.slice(2).toUpperCase()}`)).toBe(address)
  })

  it('refuses mixed case that does not match', () => {
    expect(() => Address.parse('evm', '0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed')).toThrow(
      refusal('address_checksum_mismatch'),
    )
  })

  it.each([
    '5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0X5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0x5aAeb6053F3E94C9',
    '0xzz',
    '',
    7,
  ])('refuses %s', (address) => {
    expect(() => Address.parse('evm', address)).toThrow(refusal('invalid_address'))
  })
})

describe('Address.parse of a Solana address', () => {
  it.each(['11111111111111111111111111111111', 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'])(
    'accepts %s',
    (address) => {
      expect(Address.parse('solana', address)).toBe(address)
    },
  )

  it.each([
    '1111111111111111111111111111111',
    '111111111111111111111111111111111',
    'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt10',
    'zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz',
    '1'.repeat(10_000),
  ])('refuses %s', (address) => {
    expect(() => Address.parse('solana', address)).toThrow(refusal('invalid_address'))
  })
})

describe('Address.parse of a Stellar address', () => {
  // The examples of SEP-23.
  const account = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ'
  const muxed = 'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ'

  it.each([account, muxed])('accepts %s', (address) => {
    expect(Address.parse('stellar', address)).toBe(address)
  })

  it('refuses a wrong checksum', () => {
    expect(() => Address.parse('stellar', account.replace('VSGZ', 'VSGA'))).toThrow(
      refusal('address_checksum_mismatch'),
    )
  })

  it.each([account.slice(0, -1), account.toLowerCase(), `${muxed.slice(0, -1)}R`, 'X'])('refuses %s', (address) => {
    expect(() => Address.parse('stellar', address)).toThrow(refusal('invalid_address'))
  })

  it('says that a secret key is one, without repeating it', () => {
    const secret = `S${'A'.repeat(55)}`
    expect(() => Address.parse('stellar', secret)).toThrow(/secret key/)
    expect(() => Address.parse('stellar', secret)).not.toThrow(secret)
  })
})

describe('Address.parse of an XRP Ledger address', () => {
  it('accepts a classic address', () => {
    expect(Address.parse('xrp', 'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh')).toBe('rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh')
  })

  it('refuses a wrong checksum', () => {
    expect(() => Address.parse('xrp', 'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTj')).toThrow(
      refusal('address_checksum_mismatch'),
    )
    expect(() => Address.parse('xrp', 'rN7n3473SaZBCG4dFL83w7a1RXtXtbk2D9')).toThrow(
      expect.objectContaining({ field: 'address' }),
    )
  })

  it('refuses an X-address by its name', () => {
    expect(() => Address.parse('xrp', 'XVLhHMPHU98es4dbozjVtdWzVrDjtV5fdx1mHp98tDMoQXb')).toThrow(/X-addresses/)
  })
})

describe('Address.parse of a Canton party', () => {
  it.each([`alice::1220${hash}`, `a-b_c:9::1220${hash}`])('accepts %s', (party) => {
    expect(Address.parse('canton', party)).toBe(party)
  })

  it.each([
    `::1220${hash}`,
    `alice:1220${hash}`,
    `alice::1221${hash}`,
    `alice::1220${hash}0`,
    `a::b::1220${hash}`,
    `alice::1220${hash.toUpperCase()}`,
  ])('refuses %s', (party) => {
    expect(() => Address.parse('canton', party)).toThrow(refusal('invalid_address'))
  })
})

describe('Address.checkTransferTypes', () => {
  const check = (...names: string[]) => Address.checkTransferTypes(names, defaultCatalog)

  it('lets EVM chains share an entry, under canonical names, each once', () => {
    expect(check('Ethereum', 'base', 'POLYGON', 'base', 'arbitrum')).toEqual([
      'ethereum',
      'base',
      'polygon',
      'arbitrum',
    ])
    expect(check('sepolia', 'amoy')).toEqual(['sepolia', 'amoy'])
    expect(check('ach_credit', 'ach_debit', 'wire', 'rtp_credit')).toEqual(['ach_credit', 'ach_debit', 'wire', 'rtp'])
  })

  it.each([
    [['solana', 'base'], 'mixed_chains', 'transferTypes'],
    [['base', 'wire'], 'mixed_chains', 'transferTypes'],
    [['wire', 'spei'], 'mixed_chains', 'transferTypes'],
    [['base', 'base_sepolia'], 'mixed_environments', 'transferTypes'],
    [['solana', 'solana_devnet'], 'mixed_environments', 'transferTypes'],
    [['base', 'nowhere'], 'unknown_transfer_type', 'transferTypes.1'],
    [[], 'missing_field', 'transferTypes'],
  ])('refuses %j as %s', (names, code, field) => {
    expect(() => check(...names)).toThrow(expect.objectContaining({ code, field }))
  })
})

describe('Address.allows', () => {
  it('wants the transfer type listed, with same-day credits under ordinary ones', () => {
    expect(Address.allows(['base', 'polygon'], 'polygon', defaultCatalog)).toBe(true)
    expect(Address.allows(['base'], 'polygon', defaultCatalog)).toBe(false)
    expect(Address.allows(['ach_credit'], 'same_day_ach_credit', defaultCatalog)).toBe(true)
    expect(Address.allows(['same_day_ach_credit'], 'ach_credit', defaultCatalog)).toBe(false)
    expect(Address.allows(['ach_credit'], 'ach_debit', defaultCatalog)).toBe(false)
  })
})
