import { randomUUID } from 'node:crypto'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signInClient } from '../../test/client-caller.ts'
import { checkedFetch } from '../../test/contract.ts'
import { inspect } from '../../test/inspection.ts'
import { type QuoteRefusal, type TestQuotes, testQuotes } from '../../test/quotes.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { createApp } from '../app.ts'
import type { QuoteAnswer, QuoteProvider, Quotes } from './port.ts'
import { type QuoteResource, quoteView } from './quotes.ts'
import { quotesRoutes } from './routes.ts'

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let quotes: TestQuotes
beforeAll(async () => {
  api = await testSandbox(database.url)
  quotes = testQuotes(api)
})
afterAll(() => api.stop())

const usdc = (value: string) => ({ value, currency: 'USDC' })
const mxn = (value: string) => ({ value, currency: 'MXN' })
const count = async () => {
  const { pool, schema } = api.sandbox.service.context
  return Number((await inspect(pool).query(`select count(*) from ${schema}.quote`)).rows[0].count)
}

describe('a quote', () => {
  it('of an amount that is sent says what arrives, and moves and holds nothing', async () => {
    const { status, body } = await quotes.ask(usdc('100.000001'))
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9A-Z]{26}$/),
      status: 'open',
      rate: '18.5',
      fixed_side: 'source',
      source_amount: usdc('100.000001'),
      destination_amount: mxn('1850.00'),
      created_at: expect.any(String),
      expires_at: expect.any(String),
    })
    expect(await quotes.get(body.id)).toEqual(body)
    const { pool, schema } = api.sandbox.service.context
    expect((await inspect(pool).query(`select from ${schema}.ledger_entry`)).rowCount).toBe(0)
  })

  it('of an amount that arrives says what it takes, rounded up', async () => {
    const { body } = await quotes.ask(mxn('100.00'))
    expect([body.fixed_side, body.source_amount, body.destination_amount]).toEqual([
      'destination',
      usdc('5.405406'),
      mxn('100.00'),
    ])
  })

  it('is asked for in camelCase too, and refused in the same spelling', async () => {
    const path = `/accounts/${api.accountId}/quotes`
    const body = { amount: mxn('100'), source: { valueType: 'USDC' }, destination: { valueType: 'mxn' } }
    expect((await api.call('POST', path, { body })).status).toBe(201)
    const refused = await api.call<QuoteRefusal>('POST', path, { body: { ...body, source: { valueType: 'USD' } } })
    expect([refused.body.code, refused.body.errors?.[0]?.source?.pointer]).toEqual([
      'unsupported_flow',
      '/source/valueType',
    ])
  })

  it('expires as the virtual time passes', async () => {
    const { body } = await quotes.ask()
    await api.call('POST', '/simulations/clock/advance', { body: { seconds: 200 } })
    expect((await quotes.get(body.id)).status).toBe('open')
    await api.call('POST', '/simulations/clock/advance', { body: { seconds: 100 } })
    expect(await quotes.get(body.id)).toEqual({ ...body, status: 'expired' })
  })

  it('is asked for once per key, and answered with the same octets later', async () => {
    const before = await count()
    const key = randomUUID()
    const [first, second] = await Promise.all([quotes.ask(usdc('7'), { key }), quotes.ask(usdc('7'), { key })])
    await api.call('POST', '/simulations/clock/advance', { body: { seconds: 600 } })
    const third = await quotes.ask(usdc('7'), { key })
    expect([second.body, third.body]).toEqual([first.body, first.body])
    expect(third.headers.get('idempotent-replayed')).toBe('true')
    expect(await count()).toBe(before + 1)
    const other = await quotes.ask(usdc('8'), { key })
    expect([other.status, other.body.code]).toEqual([422, 'idempotency_key_mismatch'])
  })

  it('is refused by the desk for a magic amount and for what is too small, and nothing is stored but the answer', async () => {
    const before = await count()
    const key = randomUUID()
    const refused = await quotes.ask(usdc('6661.01'), { key })
    expect([refused.status, refused.body.code, refused.body.detail]).toEqual([
      422,
      'quote_refused',
      'The desk gives no rate from USDC to MXN for this amount.',
    ])
    expect((await quotes.ask(usdc('6661.01'), { key })).headers.get('idempotent-replayed')).toBe('true')
    for (const amount of [usdc('0.000001'), usdc('9'.repeat(30))])
      expect((await quotes.ask(amount)).body.code).toBe('quote_refused')
    expect(await count()).toBe(before)
  })

  it.each([
    [{ value: '1', currency: 'USD' }, 'currency_mismatch', '/amount/currency'],
    [{ value: '1.001', currency: 'MXN' }, 'amount_too_precise', '/amount/value'],
    [{ value: '0', currency: 'MXN' }, 'amount_not_positive', '/amount/value'],
  ])('of %j is refused: %s', async (amount, code, pointer) => {
    const { status, body } = await quotes.ask(amount)
    expect([status, body.code, body.errors?.[0]?.source?.pointer]).toEqual([422, code, pointer])
  })
})

describe('the list of quotes', () => {
  it('has pages, newest first', async () => {
    const ids: string[] = []
    for (const value of ['1', '2', '3']) ids.unshift((await quotes.ask(usdc(value))).body.id)
    type List = { quotes: QuoteResource[]; pagination: { next: string | null; prev: string | null } }
    const page = async (query: string) =>
      (await api.call<List>('GET', `/accounts/${api.accountId}/quotes?page[size]=2&${query}`)).body
    const first = await page('')
    expect(first.quotes.map(({ id }) => id)).toEqual(ids.slice(0, 2))
    const second = await page(`page[after]=${first.pagination.next}`)
    expect(second.quotes[0]?.id).toBe(ids[2])
    const back = await page(`page[prev]=${second.pagination.prev}`)
    expect(back.quotes).toEqual(first.quotes)
  })
})

describe('a quote of another client', () => {
  it('does not exist, on no route', async () => {
    const { body } = await quotes.ask()
    const stranger = await signInClient(api.sandbox, { name: 'Stranger', accounts: [{ businessName: 'Stranger' }] })
    const call = stranger.caller(checkedFetch(api.sandbox.service.fetch))
    const own = `/accounts/${stranger.seeded.accounts[0]?.accountId}`
    for (const path of [`${own}/quotes/${body.id}`, `/accounts/${api.accountId}/quotes/${body.id}`, `${own}/quotes/x`])
      expect((await call(path)).status).toBe(404)
    expect((await call(`/accounts/${api.accountId}/quotes`)).status).toBe(404)
    expect((await call(`${own}/quotes`)).json).toMatchObject({ quotes: [] })
    expect((await call(`/accounts/${api.accountId}/quotes`, {})).status).toBe(404)
  })
})

describe('a desk that does not answer, or lies', () => {
  const through = async (provider: QuoteProvider) => {
    const { context } = api.sandbox.service
    const desk: Quotes = { provider, now: () => new Date() }
    const app = createApp({ ...context, quotes: desk, quoteTimeoutMs: 20 }, [quotesRoutes(desk)])
    const client = await signInClient(api.sandbox, { name: 'Client', accounts: [{ businessName: 'Client' }] })
    const call = client.caller(checkedFetch(app.fetch))
    return (body: object) => call(`/accounts/${client.seeded.accounts[0]?.accountId}/quotes`, body)
  }
  const request = { amount: usdc('6661.03'), source: { value_type: 'USDC' }, destination: { value_type: 'MXN' } }

  it('is answered with 503 at the limit, without a connection meanwhile, and nothing is stored', async () => {
    const [before, { context }] = [await count(), api.sandbox.service]
    const { provider } = context.quotes ?? {}
    if (provider === undefined) throw new Error('The sandbox has no desk.')
    const { json, status } = await (await through(provider))(request)
    expect([status, json['code']]).toEqual([503, 'service_unavailable'])
    const lie = { outcome: 'quoted', rate: '-1' } as unknown as QuoteAnswer
    expect((await (await through({ quote: async () => lie }))(request)).status).toBe(503)
    expect(await count()).toBe(before)
  })
})

it('the view of a quote at a moment says what it is then', () => {
  const row = {
    id: 'q',
    account_id: 'a',
    source_value_type: 'USDC',
    source_value: '1',
    destination_value_type: 'MXN',
    destination_value: '18.5',
    rate: '18.5',
    fixed_side: 'source',
    reference: 'secret of the desk',
    transfer_id: null,
    created_at: new Date(0),
    expires_at: new Date(1_000),
  } as const
  expect([0, 999, 1_000].map((at) => quoteView(row, new Date(at)).status)).toEqual(['open', 'open', 'expired'])
  expect(quoteView({ ...row, transfer_id: 't' }, new Date(2_000))).toMatchObject({ status: 'used', transfer_id: 't' })
  expect(JSON.stringify(quoteView(row, new Date(0)))).not.toContain('secret')
})
