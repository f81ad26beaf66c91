import { describe, expect, it } from 'vitest'
import { defaultCatalog } from './catalog.ts'
import { OutlayError } from './error.ts'
import { parseExternalAddress } from './external-address.ts'

const parse = (body: unknown) => parseExternalAddress(body, defaultCatalog)

const issuesOf = (body: unknown): string[] => {
  try {
    parse(body)
  } catch (error) {
    if (OutlayError.is(error)) return error.issues.map(({ code, field }) => `${code} ${field}`).sort()
    throw error
  }
  return []
}

const postal = { street_line_1: '1 Main St', city: 'Springfield', state: 'IL', zip: '62701' }
const bank = {
  owner: 'Acme Inc',
  name: 'Acme operating',
  account_number: '1234567890',
  routing_number: '021000021',
  account_type: 'checking',
  bank_address: postal,
  beneficiary_address: { ...postal, street_line_2: 'Floor 2' },
  transfer_types: ['ach_credit', 'ach_debit', 'wire', 'rtp'],
}
const wallet = {
  name: 'Treasury',
  address: '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed',
  transfer_types: ['ethereum', 'Base', 'polygon', 'arbitrum'],
}

describe('parseExternalAddress', () => {
  it('reads a wallet on several EVM chains', () => {
    expect(parse(wallet)).toEqual({
      kind: 'wallet',
      name: 'Treasury',
      address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
      transferTypes: ['ethereum', 'base', 'polygon', 'arbitrum'],
    })
  })

  it('reads a Canton party', () => {
    const address = `alice::1220${'0f'.repeat(32)}`
    expect(parse({ name: 'Alice', address, transferTypes: ['canton'] })).toEqual({
      kind: 'canton_party',
      name: 'Alice',
      address,
      transferTypes: ['canton'],
    })
  })

  it('reads a bank account in either spelling', () => {
    const streets = { streetLine1: '1 Main St', city: 'Springfield', state: 'IL', zip: '62701' }
    const read = {
      kind: 'bank_account',
      owner: 'Acme Inc',
      name: 'Acme operating',
      accountNumber: '1234567890',
      routingNumber: '021000021',
      accountType: 'checking',
      bankAddress: streets,
      beneficiaryAddress: { ...streets, streetLine2: 'Floor 2' },
      transferTypes: ['ach_credit', 'ach_debit', 'wire', 'rtp'],
    }
    expect(parse(bank)).toEqual(read)
    expect(parse(read)).toEqual(read)
  })

  it('reads a Mexican bank account by its CLABE alone', () => {
    const { routing_number: _, ...rest } = bank
    const mexican = { ...rest, account_number: '032180000118359719', transfer_types: ['spei'] }
    expect(parse(mexican)).toMatchObject({ accountNumber: '032180000118359719', transferTypes: ['spei'] })
    expect(issuesOf({ ...mexican, account_number: '032180000118359718' })).toEqual(['invalid_clabe account_number'])
  })

  it('names every broken rule at once, in the spelling of the caller', () => {
    const broken = {
      ...bank,
      owner: undefined,
      account_number: '12ab',
      routing_number: '123456789',
      account_type: 'credit',
      bank_address: { ...postal, street_line_1: ' ', zip: 62701 },
      id: 'x',
    }
    expect(issuesOf(broken)).toEqual([
      'invalid_account_number account_number',
      'invalid_request account_type',
      'invalid_request bank_address.zip',
      'invalid_routing_number routing_number',
      'missing_field bank_address.street_line_1',
      'missing_field owner',
      'response_only_field id',
    ])
    expect(issuesOf({ name: 'x', accountNumber: '1', transferTypes: ['wire'] })).toContain(
      'missing_field routingNumber',
    )
    expect(issuesOf({ name: 'x', account_number: '1', transfer_types: ['wire'] })).toContain(
      'missing_field routing_number',
    )
  })

  it.each([
    [{ ...wallet, transfer_types: ['ethereum', 'solana'] }, 'mixed_chains transfer_types'],
    [{ ...wallet, transfer_types: ['base', 'sepolia'] }, 'mixed_environments transfer_types'],
    [{ ...wallet, transfer_types: ['wire'] }, 'transfer_type_not_supported transfer_types'],
    [{ ...bank, transfer_types: ['base'] }, 'transfer_type_not_supported transfer_types'],
    [{ ...wallet, transfer_types: ['moon'] }, 'unknown_transfer_type transfer_types.0'],
    [{ ...wallet, transfer_types: 'base' }, 'invalid_request transfer_types'],
    [{ ...wallet, transfer_types: [] }, 'missing_field transfer_types'],
    [{ ...wallet, transfer_types: ['solana'] }, 'invalid_address address'],
    [{ ...wallet, name: 'a\0b' }, 'invalid_request name'],
    [{ ...wallet, name: 'x'.repeat(256) }, 'invalid_request name'],
    [{ ...wallet, address: '0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed' }, 'address_checksum_mismatch address'],
    ['text', 'invalid_request '],
  ])('refuses %j', (body, issue) => {
    expect(issuesOf(body)).toEqual([issue])
  })

  it('says each rule in plain words, without the value', () => {
    expect(() => parse({ ...wallet, address: '0x123' })).toThrow('address: must be 0x and 40 hexadecimal digits')
  })
})
