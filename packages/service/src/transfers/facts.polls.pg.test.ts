import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { changeOf, readBooks } from '../../test/books.ts'
import { inspect } from '../../test/inspection.ts'
import { sanctions, type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { sampleBankAddress } from '../../test/service.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import type { ServiceContext } from '../context.ts'
import { asSystem } from '../database/tenant.ts'
import { readPaymentFact } from '../rail-facts/payment-fact.ts'
import { recordFact } from '../rail-facts/rail-facts.ts'
import type { RailFactListener } from '../rails/port.ts'
import { applyFacts } from './facts.ts'
import type { TransferResource } from './view.ts'

// A poll moves no transfer otherwise than a fact would that says the same.

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let payments: TestPayments
let context: ServiceContext
let report: RailFactListener
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '100000' }])
  payments = testPayments(api)
  context = api.sandbox.service.context
  report = applyFacts(context)
})
afterAll(() => api.stop())

const usd = (value: string) => ({ value, currency: 'USD' })
const usdc = (value: string) => ({ value, currency: 'USDC' })
const settled = { state: 'settled', failure: null } as const
const returned = { state: 'returned', failure: { ...sanctions, type: 'returned' } } as const
/** Available and held tokens of the wallet. */
const wallet = async () => {
  const { rows } = await inspect(context.pool).query(
    `select available::float, held::float from ${context.schema}.ledger_account
      where kind = 'custodial' and address_id = $1 and value_type = 'USDC' and transfer_type = 'base'`,
    [api.walletId],
  )
  return rows[0] as { available: number; held: number }
}
let bank: string
beforeAll(async () => {
  const body = { ...sampleBankAddress, transfer_types: ['ach_debit'] }
  bank = (await api.call<{ id: string }>('POST', `/accounts/${api.accountId}/addresses/external`, { body })).body.id
})
const debit = async (): Promise<TransferResource> => {
  const source = { address_id: bank, value_type: 'USD', transfer_type: 'ach_debit' }
  const destination = { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' }
  const { body } = await api.call<TransferResource>('POST', `/accounts/${api.accountId}/transfers`, {
    body: { amount: usd('100.00'), source, destination },
  })
  return await payments.reaches(body.id, 'processing')
}
let before: { available: number; held: number }
beforeEach(async () => {
  before = await wallet()
})

describe('a debit', () => {
  it('is not credited by a poll without an amount, or with another one', async () => {
    const transfer = await debit()
    expect(await payments.poll(transfer.id, settled)).toBe('processing')
    expect(await payments.poll(transfer.id, { ...settled, amount: usd('60') })).toBe('processing')
    expect(await payments.poll(transfer.id, { ...settled, amount: usd('100') })).toBe('complete')
    await payments.reaches(transfer.id, 'complete')
    expect(await wallet()).toEqual({ ...before, available: before.available + 100 })
  })

  it('whose amount is held is credited by no poll, and as it is by a person', async () => {
    const transfer = await debit()
    await report([await payments.factOf(transfer, 'settled', { amount: usd('60') })])
    for (const amount of [undefined, usd('60'), usd('100')])
      expect(await payments.poll(transfer.id, { ...settled, amount })).toBe('processing')
    expect(await wallet()).toEqual(before)
    const [exception] = await payments.exceptions({ transferId: transfer.id })
    await payments.resolve(exception?.id ?? '', 'apply')
    expect((await payments.reaches(transfer.id, 'complete')).amount).toEqual(usd('60'))
    expect(await wallet()).toEqual({ ...before, available: before.available + 60 })
    await expectSoundLedger(context)
  })
})

describe('a wire that has arrived', () => {
  it('is minted by no poll while a fact of another amount waits', async () => {
    const transfer = await payments.wireOnramp('100.00')
    await report([await payments.factOf(transfer, 'accepted')])
    await payments.reaches(transfer.id, 'processing')
    await report([await payments.factOf(transfer, 'settled', { amount: usd('60') })])
    for (const amount of [undefined, usd('60'), usd('100')])
      expect(await payments.poll(transfer.id, { ...settled, amount })).toBe('processing')
    expect(await wallet()).toEqual(before)
  })
})

describe('a wire beside which a second one came', () => {
  it('is ended by no poll that says returned, also once a person has dismissed the second one', async () => {
    const books = await readBooks(api)
    const transfer = await payments.wireOnramp('100.00')
    const from = (transactionId: string) => ({ source: { transactionId } })
    await report([await payments.factOf(transfer, 'accepted', from('I1'))])
    await report([await payments.factOf(transfer, 'accepted', from('I2'))])
    await report([await payments.factOf(transfer, 'returned')])
    for (const { id } of await payments.exceptions({ transferId: transfer.id })) await payments.resolve(id, 'dismiss')
    expect(await payments.poll(transfer.id, { ...returned, amount: usd('100') })).toBe('processing')
    await report([await payments.factOf(transfer, 'settled', from('I1'))])
    await payments.reaches(transfer.id, 'complete')
    expect(changeOf(books, await readBooks(api))).toEqual({
      'custodial USDC': 100,
      'issuer USDC': -100,
      'settlement USD': 100,
    })
  })
})

describe('a payout', () => {
  it('of which a part came back releases nothing by a poll, before its fact and after it', async () => {
    const transfer = await payments.payout()
    const held = { available: before.available - 6660.04, held: before.held + 6660.04 }
    expect(await payments.poll(transfer.id, returned)).toBe('processing')
    expect(await payments.poll(transfer.id, { ...returned, amount: usdc('60') })).toBe('processing')
    await report([await payments.factOf(transfer, 'returned', { amount: usdc('60') })])
    for (const amount of [undefined, usdc('60'), usdc('6660.04')])
      expect(await payments.poll(transfer.id, { ...returned, amount })).toBe('processing')
    expect(await wallet()).toEqual(held)
    const [exception] = await payments.exceptions({ transferId: transfer.id })
    await expect(payments.resolve(exception?.id ?? '', 'apply')).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('Let the rail report the settlement'),
    })
    expect(await wallet()).toEqual(held)
    // What the refusal says: the settlement comes, then what came back of it is booked.
    await report([await payments.factOf(transfer, 'settled')])
    await payments.reaches(transfer.id, 'complete')
    await payments.resolve(exception?.id ?? '', 'apply')
    expect(await wallet()).toEqual({ ...before, available: before.available - 6600.04 })
    await expectSoundLedger(context)
  })

  it.each([
    ['canceled', undefined],
    ['rejected', sanctions],
    ['returned', { ...sanctions, type: 'returned', retriable: true }],
  ] as const)('is not %s by a poll while its settlement is stored and not judged', async (state, failure) => {
    const transfer = await payments.payout()
    const fact = await payments.factOf(transfer, 'settled')
    await recordFact(asSystem(context), context, readPaymentFact(fact).row)
    expect(await payments.poll(transfer.id, { state, failure: failure ?? null })).toBe('processing')
    await report([fact])
    await payments.reaches(transfer.id, 'complete')
    expect((await wallet()).available).toBeCloseTo(before.available - 6660.04, 2)
    await expectSoundLedger(context)
  })

  it('whose settlement a person has dismissed, and that a poll says is canceled, is decided about by a person', async () => {
    const transfer = await payments.payout()
    const canceled = { state: 'canceled', failure: null } as const
    await report([await payments.factOf(transfer, 'settled', { amount: usdc('60') })])
    expect(await payments.poll(transfer.id, canceled)).toBe('processing')
    const [part, ...others] = await payments.exceptions({ transferId: transfer.id })
    expect(others).toEqual([])
    await payments.resolve(part?.id ?? '', 'dismiss')
    for (let times = 0; times < 3; times += 1) expect(await payments.poll(transfer.id, canceled)).toBe('processing')
    const open = await payments.exceptions({ transferId: transfer.id })
    expect(open).toMatchObject([{ kind: 'canceled', reason: 'disputed', rail: 'base', amount: usdc('6660.04') }])
    await payments.resolve(open[0]?.id ?? '', 'apply')
    await payments.reaches(transfer.id, 'canceled')
    expect(await wallet()).toEqual(before)
    expect(await payments.poll(transfer.id, canceled)).toBe('canceled')
    expect(await payments.exceptions({ transferId: transfer.id })).toEqual([])
    await expectSoundLedger(context)
  })

  it.each([
    ['rejected', sanctions, 'failed', 0],
    ['settled', null, 'complete', 6660.04],
  ] as const)(
    'of which polls alone say %s behind a dismissed settlement is decided about by a person',
    async (state, failure, end, sent) => {
      const transfer = await payments.payout()
      await report([await payments.factOf(transfer, 'settled', { amount: usdc('60') })])
      const [part] = await payments.exceptions({ transferId: transfer.id })
      await payments.resolve(part?.id ?? '', 'dismiss')
      for (let times = 0; times < 3; times += 1)
        expect(await payments.poll(transfer.id, { state, failure })).toBe('processing')
      const open = await payments.exceptions({ transferId: transfer.id })
      expect(open).toMatchObject([{ kind: state, reason: 'disputed', rail: 'base', amount: usdc('6660.04') }])
      await payments.resolve(open[0]?.id ?? '', 'apply')
      await payments.reaches(transfer.id, end)
      const { available, held } = await wallet()
      expect([available, held]).toEqual([expect.closeTo(before.available - sent, 2), before.held])
      expect(await payments.exceptions({ transferId: transfer.id })).toEqual([])
      await expectSoundLedger(context)
    },
  )

  it('whose cancellation a person has dismissed, too, is not asked about by each poll', async () => {
    const transfer = await payments.payout()
    await report([await payments.factOf(transfer, 'settled', { amount: usdc('60') })])
    await report([await payments.factOf(transfer, 'canceled', { reachedAt: '2026-01-05T00:00:00.000Z' })])
    for (const { id } of await payments.exceptions({ transferId: transfer.id })) await payments.resolve(id, 'dismiss')
    expect(await payments.poll(transfer.id, { state: 'canceled', failure: null })).toBe('processing')
    expect(await payments.exceptions({ transferId: transfer.id })).toEqual([])
  })

  it('of which a part was sent has the rest again once a person applies that', async () => {
    const transfer = await payments.payout()
    await report([await payments.factOf(transfer, 'settled', { amount: usdc('6660') })])
    const [exception] = await payments.exceptions({ transferId: transfer.id })
    await payments.resolve(exception?.id ?? '', 'apply')
    expect((await payments.reaches(transfer.id, 'complete')).amount).toEqual(usdc('6660'))
    expect(await wallet()).toEqual({ ...before, available: before.available - 6660 })
    await report([await payments.factOf({ ...transfer, amount: usdc('6660') }, 'returned')])
    expect(await wallet()).toEqual(before)
    await expectSoundLedger(context)
  })

  it('that was sent twice is an exception, and shows the first transaction', async () => {
    const transfer = await payments.payout()
    const sent = (transactionId: string) => payments.factOf(transfer, 'settled', { destination: { transactionId } })
    await report([await sent('0xaaa')])
    await payments.reaches(transfer.id, 'complete')
    await report([await sent('0xbbb')])
    expect(await payments.exceptions({ transferId: transfer.id })).toMatchObject([{ reason: 'other_transaction' }])
    expect((await payments.read(transfer.id)).destination.transaction_id).toBe('0xaaa')
  })

  it.each(['2026-11-31T00:00:00Z', 'garbage', 'infinity', ''])(
    'whose failure was at the odd time %j by a poll goes on',
    async (occurredAt) => {
      const transfer = await payments.payout()
      const failure = { ...sanctions, type: 'returned', retriable: true, occurredAt } as const
      expect(await payments.poll(transfer.id, { state: 'returned', failure })).toBe('failed')
      const failed = await payments.reaches(transfer.id, 'failed')
      expect(failed.failure?.occurred_at).toSatisfy((text: string) => !Number.isNaN(Date.parse(text)))
      await report([await payments.factOf(transfer, 'settled')])
      await payments.reaches(transfer.id, 'complete')
    },
  )
})

it('a transfer whose failure was stored with an odd time by an earlier release goes on', async () => {
  const transfer = await payments.payout()
  const failure = { ...sanctions, type: 'returned', retriable: true } as const
  await payments.poll(transfer.id, { state: 'returned', failure })
  await payments.reaches(transfer.id, 'failed')
  await inspect(context.pool).query(
    `update ${context.schema}.transfer set failure = failure || '{"occurredAt": "2026-11-31T00:00:00Z"}' where id = $1`,
    [transfer.id],
  )
  await report([await payments.factOf(transfer, 'settled')])
  await payments.reaches(transfer.id, 'complete')
})
