import { describe, expect, it } from 'vitest'
import { createCatalog, defaultCatalog } from './catalog.ts'
import { OutlayError } from './error.ts'
import type { ParseOptions, PegOptions } from './input.ts'
import { parseTransferOrder, parseTransferRequest } from './transfer-request.ts'

const parse = (body: unknown, options?: PegOptions) => parseTransferRequest(body, defaultCatalog, options)

const issuesOf = (body: unknown, options?: PegOptions): string[] => {
  try {
    parse(body, options)
  } catch (error) {
    if (OutlayError.is(error)) return error.issues.map(({ code, field }) => `${code} ${field}`).sort()
    throw error
  }
  return []
}

const usd = (value: string) => ({ value, currency: 'USD' })
const onBase = (addressId: string, valueType = 'USDC') => ({ addressId, valueType, transferType: 'base' })
const atBank = (transferType: string, addressId = 'bank') => ({ addressId, valueType: 'USD', transferType })
const offramp = { amount: usd('1250.00'), source: onBase('wallet'), destination: atBank('wire') }

const toItself = { amount: { value: '1', currency: 'USDC' }, destination: onBase('wallet') }
const toPesos = { destination: { addressId: 'bank', valueType: 'MXN', transferType: 'spei' } }
const unknownRail = (side: string) => `unknown_transfer_type ${side}.transferType`
const unknownDestination = 'unknown_value_type destination.valueType'

describe('parseTransferRequest accepts', () => {
  it('the scenarios of the specification', () => {
    const inboundWire = { valueType: 'USD', transferType: 'wire' }
    const accepted = [
      { ...offramp, source: inboundWire, destination: onBase('wallet', 'SBC') },
      { ...offramp, source: atBank('ach_debit'), destination: onBase('wallet', 'SBC') },
      offramp,
      { ...offramp, destination: { ...atBank('wire'), wireMemo: 'INV-42' } },
      { ...offramp, destination: atBank('ach_credit'), brand: { accountId: 'acme' } },
      { ...offramp, destination: atBank('same_day_ach_credit') },
      { ...offramp, destination: atBank('rtp'), note: 'rent' },
      { ...offramp, amount: { value: '0.000001', currency: 'USDC' }, destination: onBase('other', 'YSBC') },
      {
        ...offramp,
        amount: { value: '5', currency: 'YSBC' },
        source: onBase('wallet', 'YSBC'),
        destination: onBase('x'),
      },
    ]
    for (const body of accepted) expect(parse(body)).toStrictEqual(body)
  })

  it('snake case and known aliases, and answers canonically', () => {
    const body = {
      amount: { value: '1', currency: 'usd' },
      source: { address_id: 'wallet', value_type: 'usdc', transfer_type: 'Polygon' },
      destination: { address_id: 'bank', value_type: 'usd', transfer_type: 'rtp_credit', wire_memo: null },
      note: null,
      brand: null,
      unheard_of: 1,
    }
    expect(parse(body)).toEqual({
      amount: usd('1'),
      source: { addressId: 'wallet', valueType: 'USDC', transferType: 'polygon' },
      destination: { addressId: 'bank', valueType: 'USD', transferType: 'rtp' },
    })
  })

  it('exactly 50,000 USD by ACH debit, and any amount by wire', () => {
    const debit = { ...offramp, source: atBank('ach_debit'), destination: onBase('wallet') }
    expect(issuesOf({ ...debit, amount: usd('50000.00') })).toEqual([])
    expect(issuesOf({ ...debit, amount: usd('49999.99') })).toEqual([])
    expect(issuesOf({ ...debit, amount: usd('50000.01') })).toEqual(['ach_limit_exceeded amount.value'])
    expect(issuesOf({ ...debit, amount: usd('100000') })).toEqual(['ach_limit_exceeded amount.value'])
    expect(issuesOf({ ...debit, amount: { value: '50001', currency: 'USDC' } })).toEqual([
      'ach_limit_exceeded amount.value',
    ])
    expect(issuesOf({ ...offramp, amount: usd('900000000') })).toEqual([])
    expect(issuesOf({ ...offramp, amount: usd('50000.01'), destination: atBank('ach_credit') })).toEqual([])
  })

  it('an amount in the currency that both tokens are worth one of', () => {
    const swap = { source: onBase('w', 'USDC'), destination: onBase('w', 'SBC') }
    expect(issuesOf({ ...offramp, ...swap, amount: usd('5.00') })).toEqual([])
    expect(issuesOf({ ...offramp, ...swap, amount: { value: '5.00', currency: 'USDT' } })).toEqual([
      'currency_mismatch amount.currency',
    ])
    const euro = createCatalog({ valueTypes: [{ name: 'EURC', kind: 'token', scale: 6, peg: 'EUR' }] })
    for (const [from, to] of [
      ['USDC', 'EURC'],
      ['EURC', 'USDC'],
    ]) {
      const body = { amount: usd('5.00'), source: onBase('w', from), destination: onBase('w', to) }
      expect(() => parseTransferRequest(body, euro)).toThrow(
        expect.objectContaining({ code: 'currency_mismatch', field: 'amount.currency' }),
      )
    }
  })

  it('a memo of 140 characters and a note of 255, an emoji counting as one', () => {
    const memo = (wireMemo: string) => ({ ...offramp, destination: { ...atBank('wire'), wireMemo } })
    expect(issuesOf(memo(''))).toEqual([])
    expect(issuesOf(memo('m'.repeat(140)))).toEqual([])
    expect(issuesOf(memo('m'.repeat(141)))).toEqual(['wire_memo_too_long destination.wireMemo'])
    expect(issuesOf({ ...offramp, note: '🧾'.repeat(255) })).toEqual([])
    expect(issuesOf({ ...offramp, note: '🧾'.repeat(256) })).toEqual(['note_too_long note'])
  })
})

describe('value types with different pegs', () => {
  const abroad = {
    ...offramp,
    destination: { address_id: 'bank', value_type: 'MXN', transfer_type: 'spei' },
  }

  it.each(['USDC', 'MXN'])('are refused on demand, for an amount of %s too', (currency) => {
    const body = { ...abroad, amount: { value: '100', currency } }
    expect(issuesOf(body, { samePeg: true })).toEqual(['peg_mismatch destination.value_type'])
    expect(issuesOf(body)).toEqual([])
  })

  it('are not those of a currency and its tokens', () => {
    expect(issuesOf(offramp, { samePeg: true })).toEqual([])
  })
})

describe('parseTransferRequest refuses', () => {
  it.each([
    ['zero', { amount: usd('0.00') }, 'amount_not_positive amount.value'],
    ['a number for money', { amount: { value: 5, currency: 'USD' } }, 'invalid_amount amount.value'],
    ['no value', { amount: { currency: 'USD' } }, 'missing_field amount.value'],
    ['no amount', { amount: undefined }, 'missing_field amount'],
    ['a third digit of cents', { amount: usd('1.001') }, 'amount_too_precise amount.value'],
    [
      'a token amount that no bank can pay',
      { amount: { value: '1.001', currency: 'USDC' } },
      'amount_too_precise amount.value',
    ],
    ['an endless amount', { amount: usd('1'.repeat(31)) }, 'amount_too_large amount.value'],
    ['a currency of neither leg', { amount: { value: '1', currency: 'MXN' } }, 'currency_mismatch amount.currency'],
    ['an unknown currency', { amount: { value: '1', currency: 'EUR' } }, 'unknown_value_type amount.currency'],
    ['an unknown value type', { source: onBase('w', 'DOGE') }, 'unknown_value_type source.valueType'],
    ['an unknown rail', { destination: atBank('pigeon') }, 'unknown_transfer_type destination.transferType'],
    ['no source', { source: undefined }, 'missing_field source'],
    ['a source that is no object', { source: 'w' }, 'invalid_request source'],
    [
      'a wallet without its id',
      { source: { valueType: 'USDC', transferType: 'base' } },
      'missing_field source.addressId',
    ],
    [
      'a bank without its id',
      { destination: { valueType: 'USD', transferType: 'wire' } },
      'missing_field destination.addressId',
    ],
    ['an id with a space', { source: onBase('a b') }, 'invalid_id source.addressId'],
    ['fiat on a chain', { source: onBase('w', 'USD') }, 'transfer_type_not_supported source.transferType'],
    [
      'a transaction id',
      { source: { ...onBase('w'), transactionId: 'x' } },
      'response_only_field source.transactionId',
    ],
    [
      'payment details',
      { destination: { ...atBank('wire'), paymentDetails: {} } },
      'response_only_field destination.paymentDetails',
    ],
    [
      'a financial institution',
      { source: { ...onBase('w'), financialInstitutionId: 'x' } },
      'response_only_field source.financialInstitutionId',
    ],
    ['a status', { status: 'complete' }, 'response_only_field status'],
    ['an id', { id: 'x' }, 'response_only_field id'],
    ['a failure', { failure: { code: 'x' } }, 'response_only_field failure'],
    ['a time of its making', { createdAt: 'now' }, 'response_only_field createdAt'],
    ['a time of its change', { updated_at: 'now' }, 'response_only_field updated_at'],
    ['an automation', { automationId: 'x' }, 'response_only_field automationId'],
    ['instructions for a wire', { wireInstructions: {} }, 'response_only_field wireInstructions'],
    ['a value type without a name', { source: onBase('w', '') }, 'missing_field source.valueType'],
    ['a rail that is no name', { source: { ...onBase('w'), transferType: 7 } }, 'invalid_request source.transferType'],
    ['a wallet that pays itself', { ...toItself }, 'unsupported_flow destination.addressId'],
    ['dollars for tokens that become pesos', { ...toPesos }, 'currency_mismatch amount.currency'],
    [
      'a broken amount by ACH debit',
      { amount: { value: 60_000, currency: 'USD' }, source: atBank('ach_debit'), destination: onBase('w') },
      'invalid_amount amount.value',
    ],
    ['bank to bank', { source: atBank('ach_debit', 'a') }, 'unsupported_flow destination.transferType'],
    [
      'a pull by credit',
      { source: atBank('ach_credit'), destination: onBase('w') },
      'unsupported_flow source.transferType',
    ],
    ['a payout by debit', { destination: atBank('ach_debit') }, 'unsupported_flow destination.transferType'],
    [
      'a swap across chains',
      {
        destination: { addressId: 'x', valueType: 'SBC', transferType: 'polygon' },
        amount: { value: '1', currency: 'SBC' },
      },
      'swap_chain_mismatch destination.transferType',
    ],
    [
      'a swap across environments',
      {
        destination: { addressId: 'x', valueType: 'SBC', transferType: 'amoy' },
        amount: { value: '1', currency: 'SBC' },
      },
      'mixed_environments destination.transferType',
    ],
    [
      'a memo by ACH',
      { destination: { ...atBank('ach_credit'), wireMemo: 'x' } },
      'wire_memo_not_supported destination.wireMemo',
    ],
    ['a memo at the source', { source: { ...onBase('w'), wireMemo: 'x' } }, 'wire_memo_not_supported source.wireMemo'],
    ['a brand on a wire', { brand: { accountId: 'acme' } }, 'brand_not_supported brand'],
    ['a brand without an account', { destination: atBank('ach_credit'), brand: {} }, 'missing_field brand.accountId'],
    ['a note that no database stores', { note: 'a\0b' }, 'invalid_request note'],
    ['half an emoji', { note: '\ud83e' }, 'invalid_request note'],
  ])('%s', (_, change, issue) => {
    expect(issuesOf({ ...offramp, ...change })).toEqual([issue])
  })

  const branded = { ...offramp, destination: atBank('ach_credit'), brand: { accountId: 'acme' } }
  const memo = { wireMemo: 'x' }

  // One mistake must not be reported as several, and an unknown member must not count as wrong.
  it.each([
    ['no destination', { destination: undefined }, 'missing_field destination'],
    ['no source', { source: undefined }, 'missing_field source'],
    ['an unknown rail to it', { destination: { ...atBank('pigeon'), ...memo } }, unknownRail('destination')],
    ['an unknown rail from it', { source: { ...onBase('w'), transferType: 'pigeon' } }, unknownRail('source')],
    ['an unknown value type at it', { destination: { ...atBank('wire'), valueType: 'EUR' } }, unknownDestination],
  ])('%s, and nothing else, of a transfer with a brand', (_, change, issue) => {
    expect(issuesOf({ ...branded, brand: undefined, ...change })).toEqual([issue])
    if (!issue.startsWith('unknown_value_type')) expect(issuesOf({ ...branded, ...change })).toEqual([issue])
  })

  it('a fraction that no value type has, whichever of them are known', () => {
    const unknown = { value: '1.001', currency: 'EUR' }
    const precise = ['amount_too_precise amount.value', 'unknown_value_type amount.currency']
    expect(issuesOf({ ...offramp, amount: unknown })).toEqual(precise)
    const nothing = {
      amount: { value: `1.${'0'.repeat(19)}`, currency: 'EUR' },
      source: onBase('w', 'DOGE'),
      destination: { ...atBank('wire'), valueType: 'EUR' },
    }
    expect(issuesOf(nothing)).toEqual([
      ...precise,
      'unknown_value_type destination.valueType',
      'unknown_value_type source.valueType',
    ])
  })

  it.each([undefined, null, 'x', 7, []])('%j for a body', (body) => {
    expect(issuesOf(body, { fieldPrefix: '4' })).toEqual(['invalid_request 4'])
  })

  it('everything at once, in the spelling of the caller, under the prefix', () => {
    const body = {
      amount: { value: '1e3', currency: 'USD' },
      source: { value_type: 'USDC', transfer_type: 'base', transaction_id: 'x' },
      destination: { address_id: 'bank', value_type: 'USD', transfer_type: 'ach_credit', wire_memo: 'x' },
    }
    expect(issuesOf(body, { fieldPrefix: '3' })).toEqual([
      'invalid_amount 3.amount.value',
      'missing_field 3.source.address_id',
      'response_only_field 3.source.transaction_id',
      'wire_memo_not_supported 3.destination.wire_memo',
    ])
  })

  it('missing members in the spelling that was asked for', () => {
    const bare = { amount: usd('1'), source: {}, destination: {} }
    expect(issuesOf(bare)).toContain('missing_field source.valueType')
    expect(issuesOf(bare, { spelling: 'snake' })).toContain('missing_field source.value_type')
  })
})

describe('parseTransferOrder', () => {
  const place = { streetLine1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }
  const numbers = { accountNumber: '1234567890', routingNumber: '021000021' }
  const owner = { owner: 'Ada Lovelace', name: 'Ada', accountType: 'checking' }
  const account = { ...owner, ...numbers, bankAddress: place, beneficiaryAddress: place, transferTypes: ['wire'] }
  const inline = (details: object = {}, leg: object = {}) => ({
    ...offramp,
    destination: { address: { ...account, ...details }, valueType: 'USD', transferType: 'wire', ...leg },
  })
  const order = (body: unknown, options?: ParseOptions) => parseTransferOrder(body, defaultCatalog, options)
  const refusals = (body: unknown, options?: ParseOptions): string[] => {
    try {
      order(body, options)
    } catch (error) {
      if (OutlayError.is(error)) return error.issues.map(({ code, field }) => `${code} ${field}`).sort()
      throw error
    }
    return []
  }

  it('reads a destination that is given by its id as parseTransferRequest does', () => {
    expect(order(offramp)).toEqual(parse(offramp))
  })

  it('reads one that is given in full, in either spelling and canonically', () => {
    const read = { kind: 'bank_account', ...account }
    expect(order(inline({}, { wireMemo: 'INV-42' })).destination).toEqual({
      ...{ address: read, valueType: 'USD', transferType: 'wire', wireMemo: 'INV-42' },
    })
    const snake = {
      ...{ owner: 'Ada Lovelace', name: 'Ada', account_type: 'checking', account_number: '1234567890' },
      ...{ routing_number: '021000021', bank_address: place, beneficiary_address: place, transfer_types: ['wire'] },
    }
    expect(order({ ...offramp, destination: { address: snake, value_type: 'USD', transfer_type: 'wire' } })).toEqual(
      order(inline()),
    )
    const wallet = { name: 'Ada', address: '0x7A39EB597C91DA3F10F8702982A20372C2EB6499', transferTypes: ['base'] }
    expect(order({ ...offramp, destination: { address: wallet, ...onBase('x'), addressId: undefined } })).toMatchObject(
      {
        destination: { address: { kind: 'wallet', address: '0x7a39eB597c91da3F10f8702982a20372C2eb6499' } },
      },
    )
  })

  it('names every broken rule of the address under its member, beside those of the transfer', () => {
    const wrong = { ...inline({ accountNumber: '12', owner: '' }), amount: usd('0') }
    expect(refusals(wrong, { fieldPrefix: '3' })).toEqual([
      'amount_not_positive 3.amount.value',
      'invalid_account_number 3.destination.address.accountNumber',
      'missing_field 3.destination.address.owner',
    ])
    expect(refusals({ ...offramp, destination: { ...atBank('wire'), addressId: undefined, address: 'bank' } })).toEqual(
      ['invalid_request destination.address'],
    )
  })

  it('requires exactly one of the two', () => {
    expect(refusals(inline({}, { addressId: 'bank' }))).toEqual(['invalid_request destination.address'])
    expect(refusals(inline({}, { address: null }))).toEqual(['missing_field destination.addressId'])
  })

  it('requires the address to list the transfer type that it is used with', () => {
    expect(refusals(inline({}, { transferType: 'rtp' }))).toEqual([
      'transfer_type_not_supported destination.transferType',
    ])
    expect(refusals(inline({}, { transferType: 'pigeon' }))).toEqual(['unknown_transfer_type destination.transferType'])
    const covered = inline({ transferTypes: ['ach_credit'] }, { transferType: 'same_day_ach_credit' })
    expect(refusals(covered)).toEqual([])
  })

  it('applies the rules of flows to it like to any other', () => {
    const wallet = { name: 'Ada', address: '0x7a39eB597c91da3F10f8702982a20372C2eb6499', transferTypes: ['polygon'] }
    const otherChain = { address: wallet, valueType: 'USDC', transferType: 'polygon' }
    expect(refusals({ ...offramp, destination: otherChain })).toEqual(['swap_chain_mismatch destination.transferType'])
    const memo = inline({ transferTypes: ['rtp'] }, { transferType: 'rtp', wireMemo: 'INV-42' })
    expect(refusals(memo)).toEqual(['wire_memo_not_supported destination.wireMemo'])
    expect(refusals({ ...inline(), source: atBank('ach_debit') })).toEqual([
      'unsupported_flow destination.transferType',
    ])
  })

  it('is for hosts: a create of the service accepts no address', () => {
    expect(issuesOf(inline())).toEqual(['missing_field destination.addressId'])
  })

  it('leaves sources to their ids', () => {
    const source = { address: account, valueType: 'USDC', transferType: 'base' }
    expect(refusals({ ...offramp, source })).toEqual(['missing_field source.addressId'])
  })
})

it('lists the choices for a name that is not in the catalog', () => {
  const catalog = createCatalog({ valueTypes: [{ name: 'ACME', kind: 'token', scale: 6 }] })
  const legs = { source: { addressId: 'a', valueType: 'USDC', transferType: 'base' } }
  const request = (currency: string, transferType: string) => ({
    ...legs,
    amount: { value: '1', currency },
    destination: { addressId: 'b', valueType: 'USD', transferType },
  })
  expect(() => parseTransferRequest(request('EUR', 'wire'), catalog)).toThrow(
    /amount\.currency: is not in the catalog, which has USD, .*USDC.*ACME$/,
  )
  expect(() => parseTransferRequest(request('USD', 'sepa'), catalog)).toThrow(/which has .*wire.*ach_credit/)
})
