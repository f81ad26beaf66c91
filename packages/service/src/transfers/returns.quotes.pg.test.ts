import { createCatalog } from '@outlay/core'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestQuotes, testQuotes } from '../../test/quotes.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { inTransaction, type ServiceContext } from '../context.ts'
import { listReceivables } from '../ledger/receivables.ts'
import type { QuoteResource } from '../quotes/quotes.ts'
import { resolveRailException } from '../rail-exceptions/resolution.ts'
import type { RailFactListener } from '../rails/port.ts'
import { applyFacts } from './facts.ts'
import type { TransferResource } from './view.ts'

const database = await testDatabase({ role: 'ordinary' })
const catalog = createCatalog({
  valueTypes: [
    { name: 'EUR', kind: 'fiat', scale: 2 },
    { name: 'EURC', kind: 'token', scale: 6, peg: 'EUR' },
    { name: 'MXNT', kind: 'token', scale: 6, peg: 'MXN' },
  ],
})
let api: TestSandbox
let quotes: TestQuotes
let payments: TestPayments
let context: ServiceContext
let report: RailFactListener
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '10000' }], { catalog })
  quotes = testQuotes(api)
  payments = testPayments(api)
  context = api.sandbox.service.context
  report = applyFacts(context)
})
afterAll(() => api.stop())

const usdc = (value: string) => ({ value, currency: 'USDC' })
const mxn = (value: string) => ({ value, currency: 'MXN' })
const moved = (value: string) => `2026-01-05T14:30:1${value}.000Z`
/** A payout of 100.00 pesos for 5.405406 USDC that is in progress. */
const pay = async (): Promise<TransferResource> => {
  const { body: quote } = await quotes.ask(mxn('100.00'))
  const { body: transfer } = await quotes.pay(quote)
  return await payments.reaches(transfer.id, 'processing')
}
const settle = async (transfer: TransferResource, amount = mxn('100.00')) => {
  await report([await payments.factOf(transfer, 'settled', { amount })])
  return await payments.reaches(transfer.id, 'complete')
}
const giveBack = async (transfer: TransferResource, amount: object, second = '0') => {
  const failure = { type: 'returned', code: 'returned', detail: 'No account', retriable: false } as const
  const fact = await payments.factOf(transfer, 'returned', {
    amount: amount as TransferResource['amount'],
    failure: { ...failure, occurredAt: moved(second) },
    returnReference: second,
  })
  await report([fact])
  return fact
}

it('a return is refused from code that does not know quotes, and would credit the source with it', async () => {
  const transfer = await settle(await pay())
  const before = await payments.balance()
  const lines = [{ kind: 'outside', value: 'MXN', rail: 'spei', bucket: 'available', amount: '0' }]
  const old = { id: 'old', transfer_id: transfer.id, code: 'returned', amount: '100', currency: 'MXN', lines }
  const book = inTransaction(context, (tx) =>
    tx.query('select outlay_service.transfer_return_many($1::jsonb, true, now())', [JSON.stringify([old])]),
  )
  await expect(book).rejects.toThrow('its share at the source')
  expect(await payments.balance()).toBe(before)
})

describe('what the rail says about a payout with a quote', () => {
  it('is judged by what arrives, not by what was taken', async () => {
    const before = await payments.balance()
    const transfer = await pay()
    const contradictions = [mxn('99.99'), usdc('5.405406'), usdc('100')]
    for (const [at, amount] of contradictions.entries())
      await report([await payments.factOf(transfer, 'settled', { amount, reachedAt: moved(String(at)) })])
    expect((await payments.read(transfer.id)).status).toBe('processing')
    const exceptions = await payments.exceptions({ transferId: transfer.id })
    expect(exceptions.map(({ reason }) => reason)).toEqual(contradictions.map(() => 'amount_mismatch'))
    await report([await payments.factOf(transfer, 'settled', { amount: mxn('100.00') })])
    // Which of the amounts is right, a person says.
    const right = (await payments.exceptions({ transferId: transfer.id })).find(({ reason }) => reason === 'disputed')
    await payments.resolve(right?.id ?? '', 'apply')
    await payments.reaches(transfer.id, 'complete')
    expect(await payments.balance()).toBeCloseTo(before - 5.405406, 6)
    for (const { id } of exceptions)
      await inTransaction(context, (tx) =>
        resolveRailException(tx, context, id, { action: 'dismiss', by: 'ops@example.com' }),
      )
    await expectSoundLedger(context)
  })
})

describe('pesos that come back after they had arrived', () => {
  it('are changed back at the rate of the quote, in parts that add up to what was taken', async () => {
    const [before, exchange] = [await payments.balance(), await quotes.exchange()]
    const transfer = await settle(await pay())
    const parts = ['33.33', '33.33', '33.34']
    for (const [at, part] of parts.entries()) await giveBack(transfer, mxn(part), String(at))
    const after = await payments.read(transfer.id)
    expect(after.status).toBe('complete')
    expect(after.returns).toEqual([
      { code: 'returned', amount: mxn('33.33'), source_amount: usdc('1.801621'), occurred_at: moved('0') },
      { code: 'returned', amount: mxn('33.33'), source_amount: usdc('1.801622'), occurred_at: moved('1') },
      { code: 'returned', amount: mxn('33.34'), source_amount: usdc('1.802163'), occurred_at: moved('2') },
    ])
    expect(await payments.balance()).toBeCloseTo(before, 6)
    expect(await quotes.exchange()).toEqual({ USDC: 0, MXN: 0, ...exchange })
    expect(await payments.exceptions({ transferId: transfer.id })).toEqual([])
    await expectSoundLedger(context)
  })

  it('are booked in one batch as one after the other', async () => {
    const before = await payments.balance()
    const transfer = await settle(await pay())
    const failure = { type: 'returned', code: 'returned', detail: 'No account', retriable: false } as const
    const facts = []
    for (const second of ['0', '1', '2'])
      facts.push(
        await payments.factOf(transfer, 'returned', {
          amount: mxn(second === '2' ? '33.34' : '33.33'),
          failure: { ...failure, occurredAt: moved(second) },
          returnReference: second,
        }),
      )
    await report(facts)
    expect((await payments.read(transfer.id)).returns?.map((one) => one.source_amount?.value)).toEqual([
      '1.801621',
      '1.801622',
      '1.802163',
    ])
    expect(await payments.balance()).toBeCloseTo(before, 6)
    await expectSoundLedger(context)
  })

  it('are never more than what arrived, and never in another value type', async () => {
    const transfer = await settle(await pay())
    await giveBack(transfer, mxn('60.00'), '0')
    await giveBack(transfer, mxn('40.01'), '1')
    await giveBack(transfer, usdc('1'), '2')
    expect((await payments.read(transfer.id)).returns).toHaveLength(1)
    expect((await payments.exceptions({ transferId: transfer.id })).map(({ reason }) => reason)).toEqual([
      'amount_mismatch',
      'amount_mismatch',
    ])
    await expectSoundLedger(context)
  })

  it('are an exception where they are finer than pesos are', async () => {
    const transfer = await settle(await pay())
    await giveBack(transfer, mxn('33.333'))
    expect(await payments.exceptions({ transferId: transfer.id })).toMatchObject([{ reason: 'amount_mismatch' }])
    expect(await payments.read(transfer.id)).not.toHaveProperty('returns')
  })
})

/** A complete swap of 100 USDC in the account's wallet. */
const swapInto = async (currency: string, value: string): Promise<TransferResource> => {
  const body = { amount: usdc('100'), source: { value_type: 'USDC' }, destination: { value_type: currency } }
  const { body: quote } = await api.call<QuoteResource>('POST', `/accounts/${api.accountId}/quotes`, { body })
  const destination = { address_id: api.walletId, value_type: currency, transfer_type: 'base' }
  const { body: created } = await quotes.pay(quote, { destination })
  return await settle(await payments.reaches(created.id, 'processing'), { value, currency })
}

it('a part that is worth less than a unit of the source is booked at the destination alone', async () => {
  const before = await payments.balance()
  const swap = await swapInto('MXNT', '1850')
  const mxnt = (value: string) => ({ value, currency: 'MXNT' })
  await giveBack(swap, mxnt('0.000001'))
  const [part] = (await payments.read(swap.id)).returns ?? []
  expect(part?.source_amount).toEqual(usdc('0.000000'))
  await giveBack(swap, mxnt('1849.999999'), '1')
  expect(await payments.balance()).toBeCloseTo(before, 6)
  await expectSoundLedger(context)
})

it('a swap is reversed as far as its tokens are there, at its rate, and nothing is owed', async () => {
  const before = await payments.balance()
  const swap = await swapInto('EURC', '86')
  const eurc = (value: string) => ({ value, currency: 'EURC' })
  const { pool, schema } = context
  // As if 80 of the 86 were spent.
  await inspect(pool).query(`select ${schema}.ledger_apply('spent', 'deposit', $1::jsonb)`, [
    JSON.stringify(
      [
        { kind: 'custodial', account: api.accountId, address: api.walletId, amount: '-80' },
        { kind: 'outside', account: '', address: '', amount: '80' },
      ].map((line) => ({ ...line, value: 'EURC', rail: 'base', bucket: 'available' })),
    ),
  ])
  await giveBack(swap, eurc('43'))
  const owed = await inTransaction(context, (tx) => listReceivables(tx, context, api.accountId))
  expect(owed).toEqual([])
  // 6 of the 86 were there: 6.976744 USDC.
  expect(await payments.balance()).toBeCloseTo(before - 93.023256, 6)
  await expectSoundLedger(context)
})

it('a payment at a rate to a wallet of another account stays when it is returned, and its payer owes nothing', async () => {
  const body = { amount: usdc('100'), source: { value_type: 'USDC' }, destination: { value_type: 'EURC' } }
  const { body: quote } = await api.call<QuoteResource>('POST', `/accounts/${api.accountId}/quotes`, { body })
  const payee = { name: 'Other', address: api.otherWallet.address, transfer_types: ['base'] }
  const path = `/accounts/${api.accountId}/addresses/external`
  const { body: added } = await api.call<{ id: string }>('POST', path, { body: payee })
  const { body: created } = await quotes.pay(quote, {
    destination: { address_id: added.id, value_type: 'EURC', transfer_type: 'base' },
  })
  const transfer = await settle(await payments.reaches(created.id, 'processing'), { value: '86', currency: 'EURC' })
  const before = await payments.balance()
  await giveBack(transfer, { value: '43', currency: 'EURC' })
  expect((await payments.read(transfer.id)).returns).toHaveLength(1)
  expect(await payments.balance()).toBe(before)
  expect(await inTransaction(context, (tx) => listReceivables(tx, context, api.accountId))).toEqual([])
  await expectSoundLedger(context)
})
