import { describe, expect, it } from 'vitest'
import { createCatalog, defaultCatalog } from './catalog.ts'
import { OutlayError } from './error.ts'
import { SumLimit } from './sum-limit.ts'

const daily = { name: 'daily', most: { USD: '100000' }, span: 'day', zone: 'Europe/Berlin' }
const parse = (...limits: readonly unknown[]) => SumLimit.parseAll(limits, defaultCatalog)
const refusal = (...limits: readonly unknown[]) => {
  try {
    parse(...limits)
    return undefined
  } catch (error) {
    if (!OutlayError.is(error)) throw error
    return error.field
  }
}

describe('limits on sums', () => {
  it('are read with canonical currencies, and lists without repeats', () => {
    expect(parse({ ...daily, most: { usdc: '5' }, per: ['gateway', 'account', 'gateway'] })).toEqual([
      { ...daily, most: { USDC: '5' }, per: ['account', 'gateway'] },
    ])
    expect(parse()).toEqual([])
  })

  it.each([
    ['0.name', { ...daily, name: 'Daily' }],
    ['0.name', { ...daily, name: undefined }],
    ['0', 'daily'],
    ['0.mst', { ...daily, mst: {} }],
    ['0.most', { ...daily, most: {} }],
    ['0.most', { ...daily, most: undefined }],
    ['0.most', { ...daily, most: ['USD'] }],
    ['0.most.DOLLAR', { ...daily, most: { DOLLAR: '1' } }],
    ['0.most.USD', { ...daily, most: { USD: 5 } }],
    ['0.most.USD', { ...daily, most: { USD: '-5' } }],
    ['0.most.USDC', { ...daily, most: { USD: '5', USDC: '5' } }],
    ['0.most.USD', { ...daily, most: { USDC: '5', USD: '5' } }],
    ['0.span', { ...daily, span: 'week' }],
    ['0.zone', { ...daily, zone: '+02:00' }],
    ['0.zone', { ...daily, zone: undefined }],
    ['0.zone', { ...daily, zone: 'CET' }],
    ['0.zone', { ...daily, zone: 'MET' }],
    ['0.zone', { ...daily, zone: 'Europe/Nowhere' }],
    ['0.per', { ...daily, per: [] }],
    ['0.per.1', { ...daily, per: ['account', 'currency'] }],
    ['0.accounts', { ...daily, accounts: [] }],
    ['0.accounts', { ...daily, accounts: undefined }],
    ['0.gateways.0', { ...daily, gateways: [7] }],
    ['0.counterparties.0', { ...daily, counterparties: [' '] }],
  ])('are refused with the field %s', (field, limit) => {
    expect(refusal(limit)).toBe(field)
  })

  it('are refused with what else is wrong, where they have a member that is not known', () => {
    const bad = { ...daily, name: 'Daily', mst: {}, span: 'week' }
    expect(() => parse(bad)).toThrow(
      expect.objectContaining({
        issues: ['mst', 'name', 'span'].map((name) => expect.objectContaining({ field: `0.${name}` })),
      }),
    )
  })

  it.each([
    ['Asia/Kolkata', 'Asia/Kolkata'],
    ['Asia/Calcutta', 'Asia/Calcutta'],
    ['europe/berlin', 'Europe/Berlin'],
    ['utc', 'UTC'],
  ])('have the zone %s under the name %s', (given, zone) => {
    expect(parse({ ...daily, zone: given })).toMatchObject([{ zone }])
  })

  it('have names of their own, and are a hundred at most', () => {
    expect(refusal(daily, daily)).toBe('1.name')
    const many = Array.from({ length: 101 }, (_, at) => ({ ...daily, name: `limit-${at}` }))
    expect(refusal(...many)).toBe('limits')
    expect(parse(...many.slice(1))).toHaveLength(100)
  })

  it('count all that is worth one of a currency, and a token alone', () => {
    const catalog = createCatalog({ valueTypes: [{ name: 'EURC', kind: 'token', scale: 6 }] })
    const limits = SumLimit.parseAll([{ ...daily, most: { USD: '1', EURC: '2' } }], catalog)
    expect(
      SumLimit.sums(limits, catalog).map(({ currency, currencies, most, per }) => [currency, currencies, most, per]),
    ).toEqual([
      ['USD', ['PYUSD', 'SBC', 'USD', 'USDC', 'USDT', 'YSBC'], '1', []],
      ['EURC', ['EURC'], '2', []],
    ])
  })
})
