import { describe, expect, it } from 'vitest'
import { createCatalog, defaultCatalog } from './catalog.ts'
import { OutlayError } from './error.ts'
import type { PegOptions } from './input.ts'
import { parseTransferRequest } from './transfer-request.ts'

const parse = (body: unknown, options?: PegOptions) => parseTransferRequest(body, defaultCatalog, options)

const issuesOf = (body: unknown, options?: PegOptions): string[] => {
  try {
    parse(body, options)
  } catch (error) {
    if (OutlayError.is(error)) return error.issues.map(({ code, field }) => `${code} ${field}`)
    throw error
  }
  return []
}

const onBase = (addressId: string, valueType = 'USDC') => ({ addressId, valueType, transferType: 'base' })

describe('a transfer with a quote', () => {
  const spei = { addressId: 'bank', valueType: 'MXN', transferType: 'spei' }
  const quoted = {
    amount: { value: '5.405406', currency: 'USDC' },
    quoteId: 'quote',
    source: onBase('w'),
    destination: spei,
  }

  it('may change value of one peg to value of another, and has an amount of either side in its own digits', () => {
    expect(parse(quoted, { samePeg: true })).toEqual(quoted)
    const pesos = { ...quoted, amount: { value: '100.05', currency: 'MXN' } }
    expect(parse(pesos, { samePeg: true })).toEqual(pesos)
    const snake = { ...quoted, quoteId: undefined, quote_id: 'quote' }
    expect(parse(snake, { samePeg: true })).toEqual(quoted)
  })

  it('is refused for an amount of too many digits, or of neither side, and for an id that is none', () => {
    const refused = (body: object) => issuesOf({ ...quoted, ...body }, { samePeg: true })
    expect(refused({ amount: { value: '100.005', currency: 'MXN' } })).toEqual(['amount_too_precise amount.value'])
    expect(refused({ amount: { value: '1', currency: 'USDT' } })).toEqual(['currency_mismatch amount.currency'])
    expect(refused({ quoteId: 'a quote' })).toContain('invalid_id quoteId')
    expect(refused({ quoteId: null })).toContain('peg_mismatch destination.valueType')
  })

  it('is what a refusal for want of one advises, for a source that can have one', () => {
    const messageOf = (body: unknown) => {
      try {
        return String(parse(body, { samePeg: true, pegHint: 'get a quote' }))
      } catch (error) {
        return String((error as Error).message)
      }
    }
    expect(messageOf({ ...quoted, amount: { value: '1', currency: 'USDC' }, quoteId: undefined })).toMatch(
      /get a quote/,
    )
    const catalogued = createCatalog({ valueTypes: [{ name: 'EURC', kind: 'token', scale: 6, peg: 'EUR' }] })
    const wire = {
      amount: { value: '1', currency: 'USD' },
      source: { valueType: 'USD', transferType: 'wire' },
      destination: onBase('w', 'EURC'),
    }
    expect(() => parseTransferRequest(wire, catalogued, { samePeg: true, pegHint: 'get a quote' })).toThrow(
      /no rate is known/,
    )
  })
})
