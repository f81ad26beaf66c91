import { defaultCatalog, OutlayError } from '@outlay/core'
import { recordingLogger } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import type { QuoteAnswer, QuoteOrder, QuoteProvider } from './port.ts'
import { askForQuote } from './provider-call.ts'

const now = new Date('2026-01-05T12:00:00Z')
const typeOf = (name: string) => {
  const type = defaultCatalog.valueType(name)
  if (type === undefined) throw new Error(`There is no ${name}.`)
  return type
}
const order: QuoteOrder = {
  quoteId: 'quote',
  accountId: 'account',
  amount: { value: '100', currency: 'USDC' },
  fixedSide: 'source',
  source: typeOf('USDC'),
  destination: typeOf('MXN'),
}
const honest = {
  outcome: 'quoted',
  rate: '18.5',
  sourceAmount: { value: '100', currency: 'USDC' },
  destinationAmount: { value: '1850', currency: 'MXN' },
  expiresAt: '2026-01-05T12:05:00Z',
  reference: 'deal-1',
} satisfies QuoteAnswer
const usdc = (value: unknown) => ({ sourceAmount: { value, currency: 'USDC' } })
const mxn = (value: unknown) => ({ destinationAmount: { value, currency: 'MXN' } })

const ask = async (
  provider: QuoteProvider,
  quoteTimeoutMs?: number,
  accountId = order.accountId,
  clientId = `client of ${accountId}`,
) => {
  const logger = recordingLogger()
  try {
    const quotes = { provider, now: () => now }
    const answer = await askForQuote({ logger, quoteTimeoutMs }, quotes, { ...order, accountId }, clientId)
    return { answer, logger }
  } catch (error) {
    return { error, logger }
  }
}
const says = (answer: unknown) => ask({ quote: async () => answer as QuoteAnswer })

describe('an answer of a desk', () => {
  it('is taken as it is when it agrees with the question and with itself', async () => {
    const { answer } = await says(honest)
    const { outcome: _, ...agreed } = honest
    expect(answer).toEqual({ ...agreed, fixedSide: 'source', expiresAt: new Date(honest.expiresAt) })
  })

  it('is guaranteed for a day at most', async () => {
    const { answer } = await says({ ...honest, expiresAt: '9999-12-31T23:59:59Z' })
    expect(answer?.expiresAt).toEqual(new Date('2026-01-06T12:00:00Z'))
  })

  it('may refuse, which the client reads', async () => {
    const { error } = await says({ outcome: 'refused', detail: 'Closed on Sundays.' })
    expect(error).toMatchObject({ code: 'quote_refused', message: 'Closed on Sundays.' })
  })

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a number', 18.5],
    ['another outcome', { ...honest, outcome: 'maybe' }],
    ['a refusal without a reason', { outcome: 'refused' }],
    ['a refusal that cannot be stored', { outcome: 'refused', detail: 'no\u0000' }],
    ['a rate of zero', { ...honest, rate: '0' }],
    ['a negative rate', { ...honest, rate: '-18.5' }],
    ['a rate that is a number', { ...honest, rate: 18.5 }],
    ['a rate that is not one', { ...honest, rate: 'NaN' }],
    ['an endless rate', { ...honest, rate: 'Infinity' }],
    ['a rate of 40 digits', { ...honest, rate: `18.${'3'.repeat(40)}` }],
    ['a huge rate', { ...honest, rate: '9'.repeat(31) }],
    ['a rate with an exponent', { ...honest, rate: '1.85e1' }],
    ['a rate that disagrees with the amounts', { ...honest, rate: '18.6' }],
    ['the rate of the other way', { ...honest, rate: '0.054054' }],
    ['a negative amount', { ...honest, ...mxn('-1850') }],
    ['an amount of zero', { ...honest, ...mxn('0.00') }],
    ['an amount that is a number', { ...honest, ...mxn(1850) }],
    ['an amount of 40 digits', { ...honest, ...mxn('1'.repeat(40)) }],
    ['more digits than the value type has', { ...honest, ...mxn('1850.000') }],
    ['a cent more than the rate', { ...honest, ...mxn('1850.01') }],
    ['a cent less than the rate', { ...honest, ...mxn('1849.99') }],
    ['another currency', { ...honest, destinationAmount: { value: '1850', currency: 'USD' } }],
    ['another source', { ...honest, sourceAmount: { value: '100', currency: 'USDT' } }],
    ['less than was asked for', { ...honest, ...usdc('99'), ...mxn('1831.5') }],
    ['a time that is over', { ...honest, expiresAt: '2026-01-05T12:00:00Z' }],
    ['a time that is none', { ...honest, expiresAt: 'tomorrow' }],
    ['a date', { ...honest, expiresAt: now }],
    ['a reference that is empty', { ...honest, reference: '' }],
    ['a reference that is too long', { ...honest, reference: 'x'.repeat(256) }],
    ['a reference that cannot be stored', { ...honest, reference: 'deal\ud800' }],
  ])('that is %s cannot be used', async (_, answered) => {
    const { error, logger } = await says(answered)
    expect(error).toMatchObject({ code: 'service_unavailable', retryAfterMs: 5_000 })
    expect(logger.entries).toMatchObject([{ level: 'warn', fields: { pair: 'USDC/MXN', error: 'UnusableAnswer' } }])
    expect((error as Error).message).not.toMatch(/deal|rate must|18/)
  })
})

describe('a desk', () => {
  it.each([
    ['rejects', () => Promise.reject(new Error('secret of the desk'))],
    ['rejects with a refusal of ours', () => Promise.reject(new OutlayError('quote_refused', 'secret of the desk'))],
    [
      'throws',
      () => {
        throw new TypeError('secret of the desk')
      },
    ],
  ])('that %s is not available, and is not quoted', async (_, quote) => {
    const { error, logger } = await ask({ quote })
    expect(error).toMatchObject({ code: 'service_unavailable' })
    expect(JSON.stringify([String(error), logger.entries])).not.toContain('secret')
  })

  it('that hangs is left at the limit, with its signal', async () => {
    const signals: AbortSignal[] = []
    const provider: QuoteProvider = {
      quote: (_, { signal }) => {
        signals.push(signal)
        return new Promise(() => {})
      },
    }
    expect((await ask(provider, 5)).error).toMatchObject({ code: 'service_unavailable' })
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  })

  it('that hangs takes a bounded number of calls, and refuses the others at once', async () => {
    const end = Promise.withResolvers<QuoteAnswer>()
    let calls = 0
    const provider: QuoteProvider = {
      quote: () => {
        calls += 1
        return end.promise
      },
    }
    const asked = Array.from({ length: 161 }, (_, index) => ask(provider, undefined, `account-${index}`))
    expect((await asked[160])?.error).toMatchObject({ code: 'service_unavailable' })
    expect(calls).toBe(32)
    end.resolve(honest)
    const rest = await Promise.all(asked)
    expect(rest.filter(({ answer }) => answer !== undefined)).toHaveLength(160)
  })

  it('that hangs for all accounts of one client answers the others', async () => {
    const end = Promise.withResolvers<QuoteAnswer>()
    let calls = 0
    const provider: QuoteProvider = {
      quote: ({ accountId }) => {
        calls += 1
        return accountId.startsWith('slow') ? end.promise : Promise.resolve(honest)
      },
    }
    const slow = Array.from({ length: 81 }, (_, index) => ask(provider, undefined, `slow-${index}`, 'client'))
    expect((await slow[80])?.error).toMatchObject({ code: 'service_unavailable' })
    expect(calls).toBe(16)
    expect((await ask(provider)).answer).toBeDefined()
    end.resolve(honest)
    const answers = await Promise.all(slow)
    expect(answers.filter(({ answer }) => answer !== undefined)).toHaveLength(80)
  })

  it('that hangs for one account answers the others', async () => {
    const end = Promise.withResolvers<QuoteAnswer>()
    let calls = 0
    const provider: QuoteProvider = {
      quote: ({ accountId }) => {
        calls += 1
        return accountId === 'slow' ? end.promise : Promise.resolve(honest)
      },
    }
    const slow = Array.from({ length: 41 }, () => ask(provider, undefined, 'slow'))
    expect((await slow[40])?.error).toMatchObject({ code: 'service_unavailable' })
    expect(calls).toBe(8)
    expect((await ask(provider)).answer).toBeDefined()
    end.resolve(honest)
    const answers = await Promise.all(slow)
    expect(answers.filter(({ answer }) => answer !== undefined)).toHaveLength(40)
  })
})
