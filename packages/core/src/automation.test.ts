import { describe, expect, it } from 'vitest'
import { Automation, automationStatuses, parseAutomationRequest } from './automation.ts'
import { createCatalog, defaultCatalog } from './catalog.ts'
import { OutlayError } from './error.ts'

const body = {
  name: 'Deposits',
  source: { value_type: 'usd' },
  destination: { address_id: 'wallet', value_type: 'SBC', transfer_type: 'Base' },
}

const issuesOf = (input: unknown): string[] => {
  try {
    parseAutomationRequest(input, defaultCatalog)
  } catch (error) {
    if (OutlayError.is(error)) return error.issues.map(({ code, field }) => `${code} ${field}`)
    throw error
  }
  return []
}

describe('Automation', () => {
  it('reads active in both spellings', () => {
    expect(automationStatuses.map(Automation.readStatus)).toEqual([...automationStatuses])
    expect(Automation.readStatus('complete')).toBe('active')
    expect(Automation.readStatus('completed')).toBe('active')
    expect(Automation.readStatus('constructor')).toBeUndefined()
    expect(Automation.readStatus(1)).toBeUndefined()
  })

  it('is never active again once archived', () => {
    expect(Automation.allows('disabled', 'active')).toBe(true)
    expect(automationStatuses.some((to) => Automation.allows('archived', to))).toBe(false)
  })
})

describe('parseAutomationRequest', () => {
  it('answers canonically', () => {
    expect(parseAutomationRequest({ ...body, brand: { account_id: 'acme' } }, defaultCatalog)).toEqual({
      name: 'Deposits',
      source: { valueType: 'USD' },
      destination: { addressId: 'wallet', valueType: 'SBC', transferType: 'base' },
      brand: { accountId: 'acme' },
    })
  })

  it('refuses a destination that is not worth dollars on demand', () => {
    const catalog = createCatalog({ valueTypes: [{ name: 'EURC', kind: 'token', scale: 6, peg: 'EUR' }] })
    const euro = { ...body, destination: { ...body.destination, value_type: 'EURC' } }
    expect(() => parseAutomationRequest(euro, catalog, { samePeg: true })).toThrow(
      expect.objectContaining({ code: 'peg_mismatch', field: 'destination.value_type' }),
    )
    expect(parseAutomationRequest(euro, catalog).destination.valueType).toBe('EURC')
  })

  it.each([
    [{ source: { value_type: 'USDC' } }, 'unsupported_flow source.value_type'],
    [{ source: { value_type: 'EUR' } }, 'unknown_value_type source.value_type'],
    [{ name: '' }, 'missing_field name'],
    [{ destination: { ...body.destination, transfer_type: 'wire' } }, 'unsupported_flow destination.transfer_type'],
    [
      { destination: { ...body.destination, value_type: 'USD' } },
      'transfer_type_not_supported destination.transfer_type',
    ],
    [{ destination: { ...body.destination, transfer_type: 'x' } }, 'unknown_transfer_type destination.transfer_type'],
    [{ destination: { ...body.destination, address_id: undefined } }, 'missing_field destination.address_id'],
    [{ brand: {} }, 'missing_field brand.account_id'],
  ])('refuses %j', (change, issue) => {
    expect(issuesOf({ ...body, ...change })).toEqual([issue])
  })
})
