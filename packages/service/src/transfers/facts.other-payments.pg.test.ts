import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { testAutomations } from '../../test/automations.ts'
import { type Books, changeOf, readBooks } from '../../test/books.ts'
import { sanctions, type TestPayments, testPayments } from '../../test/payments.ts'
import { testQuotes } from '../../test/quotes.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { sampleBankAddress } from '../../test/service.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { inTransaction } from '../context.ts'
import type { RailFact, RailFactListener } from '../rails/port.ts'
import { applyFacts } from './facts.ts'
import type { TransferResource } from './view.ts'

// What comes back is that of one payment. That of a second one, which was never booked, is not taken from the first.

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let payments: TestPayments
let report: RailFactListener
let bankId: string
let before: Books
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '1000000' }])
  payments = testPayments(api)
  report = applyFacts(api.sandbox.service.context)
  const body = { ...sampleBankAddress, transfer_types: ['ach_debit'] }
  bankId = (await api.call<{ id: string }>('POST', `/accounts/${api.accountId}/addresses/external`, { body })).body.id
})
beforeEach(async () => {
  await payments.forgetWires()
  before = await readBooks(api)
})
afterAll(() => api.stop())

type Fields = Partial<RailFact>
const usd = (value: string) => ({ value, currency: 'USD' })
const usdc = (value: string) => ({ value, currency: 'USDC' })
const from = (transactionId: string, fields: Fields = {}): Fields => ({ source: { transactionId }, ...fields })
const to = (transactionId: string, fields: Fields = {}): Fields => ({ destination: { transactionId }, ...fields })
const imad = (value: string, fields: Fields = {}): Fields => ({
  source: { paymentDetails: { imad: value } },
  ...fields,
})
const say = async (transfer: TransferResource, kind: RailFact['kind'], fields: Fields = {}) => {
  const fact = await payments.factOf(transfer, kind, fields)
  expect(await report([fact])).toEqual(new Set([fact.reference]))
}
const openOf = async ({ id }: TransferResource) =>
  (await payments.exceptions({ transferId: id })).map(({ kind, reason }) => `${kind} ${reason}`)
const changes = async () => changeOf(before, await readBooks(api))
const dismissAll = async ({ id }: TransferResource) => {
  for (const one of await payments.exceptions({ transferId: id })) await payments.resolve(one.id, 'dismiss')
  await expectSoundLedger(api.sandbox.service.context)
}
const applyAll = async ({ id }: TransferResource) => {
  for (const one of await payments.exceptions({ transferId: id }))
    await expect(payments.resolve(one.id, 'apply')).rejects.toMatchObject({ code: 'conflict' })
}
/** A person applies what waits only because a person had to decide before. */
const applyDisputed = async (transfer: TransferResource) => {
  const [one, ...others] = (await payments.exceptions({ transferId: transfer.id })).filter(
    ({ reason }) => reason === 'disputed',
  )
  expect(others).toEqual([])
  await payments.resolve(one?.id ?? '', 'apply')
}
const returnsOf = async ({ id }: TransferResource) => (await payments.read(id)).returns ?? []
/** A wire of 100 that is complete. */
const completeWire = async (fields: Fields) => {
  const transfer = await payments.wireOnramp('100.00')
  await say(transfer, 'accepted', fields)
  await say(transfer, 'settled', fields)
  return await payments.reaches(transfer.id, 'complete')
}
const debit = async () => {
  const source = { address_id: bankId, value_type: 'USD', transfer_type: 'ach_debit' }
  const destination = { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' }
  const body = { amount: usd('100.00'), source, destination }
  const { body: created } = await api.call<TransferResource>('POST', `/accounts/${api.accountId}/transfers`, { body })
  return await payments.reaches(created.id, 'processing')
}
const credited = { 'settlement USD': 100, 'custodial USDC': 100, 'issuer USDC': -100 }
const nothing = {}

describe('a second wire that the bank sends back', () => {
  it.each([
    ['its transaction', from('I1'), from('I2')],
    ['its IMAD', imad('M1'), imad('M2')],
    ['a mark of another kind', from('I1'), imad('M2')],
  ])('is known by %s, and is not taken from its client', async (_, first, second) => {
    const transfer = await completeWire(first)
    await say(transfer, 'accepted', second)
    expect(await changes()).toEqual({ ...credited, 'settlement USD': 200 })
    await say(transfer, 'returned', { ...second, returnReference: 'back' })
    expect(await openOf(transfer)).toEqual(['accepted other_transaction', 'returned other_transaction'])
    expect(await returnsOf(transfer)).toEqual([])
    await applyAll(transfer)
    await dismissAll(transfer)
    expect(await changes()).toEqual(credited)
  })

  it('is known after a person has dismissed it, and the first one comes back when a person says so', async () => {
    const transfer = await completeWire(from('I1'))
    await say(transfer, 'accepted', from('I2'))
    await dismissAll(transfer)
    await say(transfer, 'returned', from('I2'))
    expect(await openOf(transfer)).toEqual(['returned other_transaction'])
    expect(await changes()).toEqual(credited)
    await say(transfer, 'returned', from('I1', { returnReference: 'recall' }))
    await applyDisputed(transfer)
    expect(await returnsOf(transfer)).toHaveLength(1)
    expect(await changes()).toEqual(nothing)
  })

  it('without a mark waits for a person, who takes it from the client or does not', async () => {
    for (const action of ['apply', 'dismiss'] as const) {
      await payments.forgetWires()
      const transfer = await completeWire(from('I1'))
      await say(transfer, 'accepted', from('I2'))
      await say(transfer, 'returned')
      const open = await payments.exceptions({ transferId: transfer.id })
      expect(open).toMatchObject([{ kind: 'accepted' }, { kind: 'returned', reason: 'other_transaction' }])
      expect(await returnsOf(transfer)).toEqual([])
      await payments.resolve(open[1]?.id ?? '', action)
      expect(await returnsOf(transfer)).toHaveLength(action === 'apply' ? 1 : 0)
      await dismissAll(transfer)
    }
    expect(await changes()).toEqual(credited)
  })

  it.each([
    ['with a mark', from('S1', { amount: usd('90.00') })],
    ['without one', { amount: usd('90.00') }],
  ])('was short, %s, and held before the right one came', async (_, short) => {
    const transfer = await payments.wireOnramp('100.00')
    await say(transfer, 'accepted', short)
    await say(transfer, 'accepted', from('S2'))
    await applyDisputed(transfer)
    await say(transfer, 'settled', from('S2'))
    await payments.reaches(transfer.id, 'complete')
    await say(transfer, 'returned', short)
    expect(await openOf(transfer)).toEqual(['accepted amount_mismatch', 'returned other_transaction'])
    await dismissAll(transfer)
    expect(await changes()).toEqual(credited)
  })

  it('while the first one is minted ends nothing', async () => {
    const transfer = await payments.wireOnramp('100.00')
    await say(transfer, 'accepted', from('D1'))
    await say(transfer, 'accepted', from('D2'))
    await say(transfer, 'returned', from('D2'))
    await say(transfer, 'returned', { amount: usd('35.00') })
    expect(await openOf(transfer)).toEqual([
      'accepted other_transaction',
      'returned other_transaction',
      'returned other_transaction',
    ])
    await say(transfer, 'settled', from('D1'))
    await payments.reaches(transfer.id, 'complete')
    await dismissAll(transfer)
    expect(await changes()).toEqual(credited)
  })

  it('in one batch with all that was said before is known as well', async () => {
    const transfer = await payments.wireOnramp('100.00')
    const facts = [
      await payments.factOf(transfer, 'accepted', from('B1')),
      await payments.factOf(transfer, 'accepted', from('B2')),
      await payments.factOf(transfer, 'settled', from('B1')),
      await payments.factOf(transfer, 'returned', from('B2')),
    ]
    await report(facts)
    await payments.reaches(transfer.id, 'complete')
    await report(facts)
    expect(await openOf(transfer)).toEqual(['accepted other_transaction', 'returned other_transaction'])
    await dismissAll(transfer)
    expect(await changes()).toEqual(credited)
  })
})

describe('what was paid twice, of which the second comes back', () => {
  it('is not given to the payer of a payout again', async () => {
    const transfer = await payments.payout()
    await say(transfer, 'settled', to('0xaaa'))
    await payments.reaches(transfer.id, 'complete')
    const paid = await changes()
    await say(transfer, 'settled', to('0xbbb'))
    await say(transfer, 'returned', to('0xbbb', { returnReference: 'back' }))
    expect(await openOf(transfer)).toEqual(['settled other_transaction', 'returned other_transaction'])
    await applyAll(transfer)
    await dismissAll(transfer)
    expect(await changes()).toEqual(paid)
    await say(transfer, 'returned', to('0xaaa'))
    await applyDisputed(transfer)
    expect(await changes()).toEqual(nothing)
  })

  it('is not given to the payer of a quote again', async () => {
    const quotes = testQuotes(api)
    const { body: quote } = await quotes.ask({ value: '100.00', currency: 'MXN' })
    const { body: transfer } = await quotes.pay(quote)
    await payments.reaches(transfer.id, 'processing')
    const amount = { value: '100.00', currency: 'MXN' }
    await say(transfer, 'settled', to('SP1', { amount }))
    await payments.reaches(transfer.id, 'complete')
    const paid = await changes()
    await say(transfer, 'settled', to('SP2', { amount }))
    await say(transfer, 'returned', to('SP2', { amount }))
    expect(await openOf(transfer)).toEqual(['settled other_transaction', 'returned other_transaction'])
    await dismissAll(transfer)
    expect(await changes()).toEqual(paid)
  })

  it('is not taken from the client of a debit', async () => {
    const transfer = await debit()
    await say(transfer, 'settled', from('TR1'))
    await payments.reaches(transfer.id, 'complete')
    await say(transfer, 'settled', from('TR2'))
    await say(transfer, 'returned', from('TR2', { returnReference: 'R10' }))
    expect(await openOf(transfer)).toEqual(['settled other_transaction', 'returned other_transaction'])
    await dismissAll(transfer)
    expect(await changes()).toEqual(credited)
  })
})

describe('a second wire', () => {
  it.each([
    ['with a mark, behind one without', {}, from('Y2'), 100],
    ['of another amount, both without a mark', {}, { amount: usd('10.00') }, 10],
    ['with a mark of another kind', from('X1'), imad('M2'), 100],
  ])('%s is in the settlement account until it was sent back', async (_, first, second, amount) => {
    const transfer = await completeWire(first)
    await say(transfer, 'accepted', second)
    expect(await openOf(transfer)).toEqual(['accepted other_transaction'])
    expect(await changes()).toEqual({ ...credited, 'settlement USD': 100 + amount })
    await applyAll(transfer)
    await dismissAll(transfer)
    expect(await changes()).toEqual(credited)
  })

  it('is one while the first one is minted, too', async () => {
    const transfer = await payments.wireOnramp('100.00')
    await say(transfer, 'accepted', from('X1'))
    await say(transfer, 'accepted', imad('M2'))
    await say(transfer, 'settled', imad('M2'))
    expect(await openOf(transfer)).toEqual(['accepted other_transaction', 'settled other_transaction'])
    await say(transfer, 'settled', imad('M1'))
    await applyDisputed(transfer)
    await payments.reaches(transfer.id, 'complete')
    expect(await changes()).toEqual({ ...credited, 'settlement USD': 200 })
    await dismissAll(transfer)
    expect(await changes()).toEqual(credited)
  })

  it('is never credited in the place of a part that a person has applied', async () => {
    const transfer = await payments.wireOnramp('100.00')
    await say(transfer, 'accepted', { amount: usd('90.00') })
    const [held] = await payments.exceptions({ transferId: transfer.id })
    await payments.resolve(held?.id ?? '', 'apply')
    await say(transfer, 'accepted', { amount: usd('10.00') })
    await applyAll(transfer)
    await say(transfer, 'settled', { amount: usd('90.00') })
    await applyDisputed(transfer)
    expect((await payments.reaches(transfer.id, 'complete')).amount).toEqual(usd('90.00'))
    expect(await changes()).toEqual({ 'settlement USD': 100, 'custodial USDC': 90, 'issuer USDC': -90 })
    await dismissAll(transfer)
    expect(await changes()).toEqual({ 'settlement USD': 90, 'custodial USDC': 90, 'issuer USDC': -90 })
  })
})

it('a wire that is held is not taken for the first one, which came back', async () => {
  const transfer = await payments.wireOnramp('100.00')
  await say(transfer, 'accepted', from('I1', { amount: usd('110.00') }))
  await say(transfer, 'accepted', from('I2'))
  await applyDisputed(transfer)
  await say(transfer, 'settled', from('I2'))
  await payments.reaches(transfer.id, 'complete')
  await say(transfer, 'returned', from('I2'))
  await applyDisputed(transfer)
  await applyAll(transfer)
  expect(await changes()).toEqual({ 'settlement USD': 110 })
  await dismissAll(transfer)
  expect(await changes()).toEqual(nothing)
})

it('a mint of a part of a wire that has arrived is not credited as its whole', async () => {
  const transfer = await payments.wireOnramp('100.00')
  await say(transfer, 'accepted', from('Q1'))
  await say(transfer, 'settled', from('Q1', { amount: usd('60.00') }))
  await applyAll(transfer)
  await say(transfer, 'settled', from('Q1'))
  await payments.reaches(transfer.id, 'complete')
  await dismissAll(transfer)
  expect(await changes()).toEqual(credited)
})

describe('a wire that has arrived before its transfer', () => {
  it.each([
    ['was rejected', 'rejected', 'failed'],
    ['was canceled', 'canceled', 'canceled'],
  ] as const)('%s is in the settlement account until it was sent back', async (_, kind, status) => {
    const transfer = await payments.wireOnramp('100.00')
    await say(transfer, 'accepted', from('W1'))
    await say(transfer, kind)
    await payments.reaches(transfer.id, status)
    expect(await openOf(transfer)).toEqual(['accepted status_contradicted'])
    expect(await changes()).toEqual({ 'settlement USD': 100 })
    await applyAll(transfer)
    await say(transfer, 'accepted', from('W2'))
    expect(await changes()).toEqual({ 'settlement USD': 200 })
    await dismissAll(transfer)
    expect(await changes()).toEqual(nothing)
  })

  it('was rejected is there also where a person had applied it', async () => {
    const transfer = await payments.wireOnramp('100.00')
    await say(transfer, 'accepted', from('W1', { amount: usd('90.00') }))
    const [held] = await payments.exceptions({ transferId: transfer.id })
    await payments.resolve(held?.id ?? '', 'apply')
    await say(transfer, 'rejected')
    await payments.reaches(transfer.id, 'failed')
    expect(await changes()).toEqual({ 'settlement USD': 90 })
    await dismissAll(transfer)
    expect(await changes()).toEqual(nothing)
  })

  it('goes back is not', async () => {
    const transfer = await payments.wireOnramp('100.00')
    await say(transfer, 'accepted', from('W1'))
    await say(transfer, 'returned', from('W1', { failure: sanctions }))
    await payments.reaches(transfer.id, 'failed')
    expect([await openOf(transfer), await changes()]).toEqual([[], nothing])
  })
})

describe('a deposit at a virtual account that its bank takes back', () => {
  const deposit = async () => {
    const automations = testAutomations(api)
    const { body } = await automations.wire(await automations.open(), { amount: '50.00' })
    return await automations.transferReaches(body.transfer_id, 'processing')
  }

  it('before it is minted leaves the settlement account', async () => {
    const transfer = await deposit()
    expect(await changes()).toEqual({ 'settlement USD': 50 })
    await say(transfer, 'returned')
    await payments.reaches(transfer.id, 'failed')
    expect([await openOf(transfer), await changes()]).toEqual([[], nothing])
    await expectSoundLedger(api.sandbox.service.context)
  })

  it('after its mint was rejected leaves it, once', async () => {
    const transfer = await deposit()
    await say(transfer, 'rejected')
    await payments.reaches(transfer.id, 'failed')
    expect(await changes()).toEqual({ 'settlement USD': 50 })
    await say(transfer, 'returned')
    await say(transfer, 'returned', { returnReference: 'again' })
    expect([await openOf(transfer), await changes()]).toEqual([[], nothing])
  })
})

describe('a payment that a poll has completed and a fact says was a part', () => {
  it.each([
    ['payout', () => payments.payout(), '6660.04', usdc('60')],
    ['debit', () => debit(), '100.00', usd('60')],
  ] as const)('of a %s has the rest back once a person applies it', async (_, create, whole, part) => {
    const transfer = await create()
    const { engine } = api.sandbox.service.context
    // The poll was admitted before the fact came, and is applied behind it.
    const reference = (await engine.transfers.get(transfer.id))?.remoteId ?? ''
    await say(transfer, 'settled', { amount: part })
    const observed = { remoteId: reference, status: 'complete', failure: null } as const
    await inTransaction(api.sandbox.service.context, (tx) => engine.transfers.observe(tx, api.accountId, [observed]))
    await payments.reaches(transfer.id, 'complete')
    const [held] = await payments.exceptions({ transferId: transfer.id })
    expect(held).toMatchObject({ kind: 'settled', reason: 'amount_mismatch' })
    const complete = await changes()
    await payments.resolve(held?.id ?? '', 'apply')
    const [rest] = await returnsOf(transfer)
    expect(Number(rest?.amount.value)).toBeCloseTo(Number(whole) - 60)
    const share = (value: number) => Math.round(((value * 60) / Number(whole)) * 1e6) / 1e6
    expect(await changes()).toEqual(Object.fromEntries(Object.entries(complete).map(([k, v]) => [k, share(v)])))
    // What was sent comes back in addition, and no more.
    await say(transfer, 'returned', { amount: part })
    expect(await changes()).toEqual(nothing)
    await expectSoundLedger(api.sandbox.service.context)
  })
})
