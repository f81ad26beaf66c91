import { randomUUID } from 'node:crypto'
import { createCatalog } from '@outlay/core'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { testAutomations } from '../../test/automations.ts'
import { inspect } from '../../test/inspection.ts'
import { type TestPayments, testPayments } from '../../test/payments.ts'
import { sampleClabe, signInPayer, type TestQuotes, testQuotes } from '../../test/quotes.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { createApp } from '../app.ts'
import type { ServiceContext } from '../context.ts'
import type { QuoteResource } from '../quotes/quotes.ts'
import type { RailInstruction } from '../rails/port.ts'
import { expireTransfers } from './expiry.ts'
import { transfersRoutes } from './routes.ts'
import type { TransferResource } from './view.ts'

const database = await testDatabase({ role: 'ordinary' })
const catalog = createCatalog({
  valueTypes: [
    { name: 'EUR', kind: 'fiat', scale: 2 },
    { name: 'EURC', kind: 'token', scale: 6, peg: 'EUR' },
  ],
})
let api: TestSandbox
let quotes: TestQuotes
let payments: TestPayments
let context: ServiceContext
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '10000' }], { catalog })
  quotes = testQuotes(api)
  payments = testPayments(api)
  context = api.sandbox.service.context
  await api.call('POST', `/accounts/${api.accountId}/webhooks`, {
    body: { url: 'https://acme.example/hook', event_types: ['transfer.created', 'transfer.completed'] },
  })
})
afterAll(() => api.stop())

const patience = { timeout: 30_000, interval: 25 }
const usdc = (value: string) => ({ value, currency: 'USDC' })
const mxn = (value: string) => ({ value, currency: 'MXN' })
const ask = async (amount?: object) => (await quotes.ask(amount)).body
const advance = (seconds: number) => api.call('POST', '/simulations/clock/advance', { body: { seconds } })
const entriesOf = async (id: string) => {
  const { rows } = await inspect(context.pool).query(
    `select e.step, a.kind, a.transfer_type as rail, e.bucket, e.value_type, trim_scale(e.amount)::text as amount
       from ${context.schema}.ledger_entry e join ${context.schema}.ledger_account a on a.id = e.ledger_account_id
      where e.posting_id = $1 order by e.step, e.line`,
    [id],
  )
  return rows.map(({ step, kind, rail, bucket, value_type, amount }) =>
    [step, kind, rail, bucket, amount, value_type].filter((part) => part !== '').join(' '),
  )
}
const written = async () => {
  const { rows } = await inspect(context.pool).query(
    `select (select count(*)::int from ${context.schema}.transfer) as transfers,
            (select count(*)::int from ${context.schema}.ledger_entry) as entries,
            (select count(*)::int from ${context.schema}.quote where transfer_id is not null) as used,
            (select sum(held)::float from ${context.schema}.ledger_account) as held`,
  )
  return rows[0]
}

describe('a payout with a quote', () => {
  it('holds what the quote takes, pays what it gives, and shows both', async () => {
    const [before, exchange] = [await payments.balance(), await quotes.exchange()]
    const quote = await ask(usdc('100.000001'))
    const created = await quotes.pay(quote)
    expect(created.status).toBe(201)
    const shown = {
      id: quote.id,
      rate: '18.5',
      source_amount: usdc('100.000001'),
      destination_amount: mxn('1850.00'),
    }
    expect(created.body).toMatchObject({ amount: usdc('100.000001'), status: 'pending', quote: shown })
    expect(await quotes.get(quote.id)).toEqual({ ...quote, status: 'used', transfer_id: created.body.id })
    await payments.reaches(created.body.id, 'processing')
    await advance(3_600)
    const complete = await payments.reaches(created.body.id, 'complete')
    expect(complete.quote).toEqual(shown)
    expect(await entriesOf(complete.id)).toEqual([
      'hold custodial base available -100.000001 USDC',
      'hold custodial base held 100.000001 USDC',
      'post custodial base held -100.000001 USDC',
      'post exchange available 100.000001 USDC',
      'post exchange available -1850 MXN',
      'post outside spei available 1850 MXN',
    ])
    expect(await payments.balance()).toBeCloseTo(before - 100.000001, 6)
    const after = await quotes.exchange()
    expect((after['USDC'] ?? 0) - (exchange['USDC'] ?? 0)).toBeCloseTo(100.000001, 6)
    expect((after['MXN'] ?? 0) - (exchange['MXN'] ?? 0)).toBeCloseTo(-1850, 2)
    const { rows } = await inspect(context.pool).query(
      `select body::jsonb -> 'data' as data from ${context.schema}.webhook_event
        where body::jsonb #>> '{data,id}' = $1 order by id`,
      [complete.id],
    )
    expect(rows.map(({ data }) => data)).toEqual([created.body, complete])
    await expectSoundLedger(context)
  })

  it('may say the amount that arrives, and instructs the rail with it and with the reference of the desk', async () => {
    const seen: RailInstruction[] = []
    const rails: ServiceContext['rails'] = {
      ...context.rails,
      validate: async (instruction) => {
        seen.push(instruction)
        return undefined
      },
    }
    const app = createApp({ ...context, rails }, [transfersRoutes])
    const client = await signInPayer(api.sandbox)
    const quote = await client.ask(mxn('6660.04'))
    const created = await client.pay(quote, app.fetch)
    expect([created.status, created.json['amount']]).toEqual([201, mxn('6660.04')])
    const instructed = {
      amount: mxn('6660.04'),
      quote: { reference: `DESK-${quote.id}`, rate: '18.5', sourceAmount: quote.source_amount },
    }
    expect(seen).toMatchObject([instructed])
    await vi.waitFor(async () => {
      const { rows } = await inspect(context.pool).query(
        `select route from ${context.schema}.rail_payment where transfer_id = $1`,
        [created.json['id']],
      )
      expect(rows).toMatchObject([{ route: { amount: '6660.04', currency: 'MXN' } }])
    }, patience)
  })

  it('that the wallet does not cover leaves the quote open, and the same key works after a deposit', async () => {
    const quote = await ask(usdc('50000.5'))
    const key = randomUUID()
    const refused = await quotes.pay(quote, {}, { key })
    expect([refused.status, refused.body.code]).toEqual([422, 'insufficient_balance'])
    expect(refused.body.detail).toContain('50000.5 USDC')
    expect((await quotes.get(quote.id)).status).toBe('open')
    const wallet = { account_id: api.accountId, address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' }
    await api.call('POST', '/simulations/deposits', { body: { ...wallet, amount: '50000' } })
    const paid = await quotes.pay(quote, {}, { key })
    expect(paid.status).toBe(201)
    await payments.reaches(paid.body.id, 'processing')
    await advance(3_600)
    await payments.reaches(paid.body.id, 'complete')
  })

  it('gives its hold back when it is canceled, is pending for too long or fails, and the quote stays used', async () => {
    const before = await payments.balance()
    const { service } = api.sandbox
    await service.stop()
    const canceled = (await quotes.pay(await ask(usdc('33.3')))).body
    const answer = await api.call<TransferResource>(
      'POST',
      `/accounts/${api.accountId}/transfers/${canceled.id}/cancel`,
    )
    const late = (await quotes.pay(await ask(usdc('44.4')))).body
    await inspect(context.pool).query(`update ${context.schema}.transfer set expires_at = created_at where id = $1`, [
      late.id,
    ])
    await expireTransfers(context)
    await service.start()
    expect([answer.body.status, (await payments.read(late.id)).status]).toEqual(['canceled', 'canceled'])
    const quote = await ask(mxn('6660.01'))
    const failed = (await quotes.pay(quote)).body
    await payments.reaches(failed.id, 'processing')
    await advance(3_600)
    await payments.reaches(failed.id, 'failed')
    expect(await payments.balance()).toBeCloseTo(before, 6)
    for (const id of [canceled.id, late.id, failed.id])
      expect((await entriesOf(id)).filter((entry) => !/^(hold|void) custodial base/.test(entry))).toEqual([])
    expect((await quotes.get(quote.id)).status).toBe('used')
    expect((await quotes.pay(quote)).body.code).toBe('quote_used')
    await expectSoundLedger(context)
  })
})

describe('a swap and a payout on a chain with a quote', () => {
  it('take one token and give the other, to a wallet of the service and to another one', async () => {
    const body = { amount: usdc('200'), source: { value_type: 'USDC' }, destination: { value_type: 'EURC' } }
    const wallet = { address_id: api.walletId, value_type: 'EURC', transfer_type: 'base' }
    const payee = await testAutomations(api).addWallet('0x52908400098527886E0F7030069857D2E4169EE7')
    for (const [destination, end] of [
      [wallet, 'post custodial base available 172 EURC'],
      [{ ...wallet, address_id: payee }, 'post outside base available 172 EURC'],
    ] as const) {
      const path = `/accounts/${api.accountId}/quotes`
      const { body: quote } = await api.call<QuoteResource>('POST', path, { body })
      expect(quote).toMatchObject({ rate: '0.86', destination_amount: { value: '172.000000', currency: 'EURC' } })
      const created = await quotes.pay(quote, { destination })
      expect(created.status).toBe(201)
      await payments.reaches(created.body.id, 'processing')
      await advance(3_600)
      await payments.reaches(created.body.id, 'complete')
      expect((await entriesOf(created.body.id)).at(-1)).toBe(end)
    }
    await expectSoundLedger(context)
  })
})

describe('a quote that the transfer cannot use', () => {
  const refusedBy = async (quote: QuoteResource, body: object) => {
    const { status, body: refusal } = await quotes.pay(quote, body)
    return [status, refusal.code, refusal.errors?.[0]?.source?.pointer]
  }

  it('is refused with a code and a field of its own, and nothing is written', async () => {
    const quote = await ask()
    const used = await ask()
    expect((await quotes.pay(used)).status).toBe(201)
    const gone = await ask(usdc('6661.02'))
    await advance(1)
    const before = await written()
    const wallet = { address_id: api.walletId, value_type: 'EURC', transfer_type: 'base' }
    expect(await refusedBy(quote, { amount: usdc('101') })).toEqual([422, 'quote_mismatch', '/amount/value'])
    expect(await refusedBy(quote, { amount: mxn('100') })).toEqual([422, 'quote_mismatch', '/amount/value'])
    expect(await refusedBy(quote, { destination: wallet })).toEqual([422, 'quote_mismatch', '/destination/value_type'])
    expect(await refusedBy(quote, { quote_id: '0'.repeat(26) })).toEqual([422, 'invalid_id', '/quote_id'])
    expect(await refusedBy(quote, { quote_id: 'a b' })).toEqual([422, 'invalid_id', '/quote_id'])
    expect(await refusedBy(used, {})).toEqual([422, 'quote_used', '/quote_id'])
    expect(await refusedBy(gone, {})).toEqual([422, 'quote_expired', '/quote_id'])
    expect(await written()).toEqual(before)
  })

  it('is one of another account of the same client, and of another client', async () => {
    const quote = await ask()
    const path = `/accounts/${api.otherAccountId}`
    const { body: payee } = await api.call<{ id: string }>('POST', `${path}/addresses/external`, { body: sampleClabe })
    const body = {
      amount: quote.source_amount,
      source: { address_id: api.otherWallet.addressId, value_type: 'USDC', transfer_type: 'base' },
      destination: { address_id: payee.id, value_type: 'MXN', transfer_type: 'spei' },
      quote_id: quote.id,
    }
    const other = await api.call<{ code: string }>('POST', `${path}/transfers`, { body })
    expect([other.status, other.body.code]).toEqual([422, 'invalid_id'])
    const stranger = await (await signInPayer(api.sandbox)).pay(quote)
    expect([stranger.status, stranger.json['code']]).toEqual([422, 'invalid_id'])
    expect((await quotes.get(quote.id)).status).toBe('open')
  })

  it('is missing between two pegs, which the refusal says how to change', async () => {
    const { status, body } = await quotes.pay(await ask(), { quote_id: undefined })
    expect([status, body.code]).toEqual([422, 'peg_mismatch'])
    expect(body.detail).toContain('POST /accounts/{account_id}/quotes')
  })
})

describe('a quote that several requests use at once', () => {
  it('pays once, however many writers there are', async () => {
    const before = await payments.balance()
    const quote = await ask(usdc('10'))
    const answers = await Promise.all(Array.from({ length: 64 }, () => quotes.pay(quote)))
    const paid = answers.filter(({ status }) => status === 201)
    expect(paid).toHaveLength(1)
    expect(new Set(answers.filter(({ status }) => status !== 201).map(({ body }) => body.code))).toEqual(
      new Set(['quote_used']),
    )
    expect((await quotes.get(quote.id)).transfer_id).toBe(paid[0]?.body.id)
    expect(await payments.balance()).toBe(before)
    const { body } = await api.call<{ available: { value: string } }>(
      'GET',
      `/accounts/${api.accountId}/addresses/${api.walletId}/balance?value_type=USDC&transfer_type=base`,
    )
    const { rows } = await inspect(context.pool).query(
      `select count(*)::int as transfers from ${context.schema}.transfer where quote ->> 'id' = $1`,
      [quote.id],
    )
    expect([rows[0].transfers, Number(body.available.value) <= before - 10]).toEqual([1, true])
    await expectSoundLedger(context)
  })

  it('with one key is one transfer, also long after the quote has expired', async () => {
    const quote = await ask(usdc('10'))
    const key = randomUUID()
    const answers = await Promise.all(Array.from({ length: 8 }, () => quotes.pay(quote, {}, { key })))
    await advance(3_600)
    answers.push(await quotes.pay(quote, {}, { key }))
    expect(answers.map(({ status }) => status)).toEqual(Array(9).fill(201))
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
    expect(answers.at(-1)?.headers.get('idempotent-replayed')).toBe('true')
  })
})
