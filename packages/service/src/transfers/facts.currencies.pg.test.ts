import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { sampleBankAddress } from '../../test/service.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import type { ServiceContext } from '../context.ts'
import type { RailFactListener } from '../rails/port.ts'
import { applyFacts } from './facts.ts'
import type { TransferResource } from './view.ts'

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let payments: TestPayments
let context: ServiceContext
let report: RailFactListener
beforeAll(async () => {
  api = await testSandbox(database.url)
  payments = testPayments(api)
  context = api.sandbox.service.context
  report = applyFacts(context)
})
afterAll(() => api.stop())

const dollars = (value: string) => ({ value, currency: 'USD' })
const tokens = (value: string) => ({ value, currency: 'USDC' })

/** Asks for a wire in the currency of the token that it becomes. */
async function wireInTokens(): Promise<TransferResource> {
  const body = {
    amount: tokens('100.00'),
    source: { value_type: 'USD', transfer_type: 'wire' },
    destination: { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' },
  }
  const { body: transfer } = await api.call<TransferResource>('POST', `/accounts/${api.accountId}/transfers`, { body })
  await vi.waitFor(
    async () => expect((await context.engine.transfers.get(transfer.id))?.remoteId).toEqual(expect.any(String)),
    { timeout: 60_000, interval: 25 },
  )
  return transfer
}
/** What is in transit at the rail of wires, by value type. */
async function settlement() {
  const { rows } = await inspect(context.pool).query(
    `select value_type, sum(entries_available)::float as value from ${context.schema}.ledger_balance
      where kind = 'settlement' group by value_type having sum(entries_available) <> 0 order by 1`,
  )
  return Object.fromEntries(rows.map(({ value_type: type, value }) => [type, value]))
}

it('a wire that was asked for in tokens is paid, held and credited in dollars', async () => {
  const validate = vi.spyOn(context.rails, 'validate')
  const [balance, { USD: before = 0 }] = [await payments.balance(), await settlement()]
  const transfer = await wireInTokens()
  expect(transfer.amount).toEqual(tokens('100.00'))
  expect(validate.mock.lastCall?.[0].amount).toEqual(dollars('100.00'))
  await report([await payments.factOf(transfer, 'accepted', { amount: dollars('100') })])
  await payments.reaches(transfer.id, 'processing')
  expect(await payments.poll(transfer.id, { state: 'settled', failure: null, amount: dollars('100') })).toBe('complete')
  expect((await payments.reaches(transfer.id, 'complete')).amount).toEqual(tokens('100.00'))
  expect([await payments.balance(), await settlement()]).toEqual([balance + 100, { USD: before + 100 }])
  expect(await payments.exceptions({ transferId: transfer.id })).toEqual([])
})

it.each([
  ['the bank', dollars('90.00')],
  ['an earlier release', tokens('90.00')],
])('an underpaid one is held, and credited by a person, in the currency of %s', async (_, amount) => {
  const [balance, { USD: before = 0 }] = [await payments.balance(), await settlement()]
  const transfer = await wireInTokens()
  await report([await payments.factOf(transfer, 'accepted', { amount })])
  const [held] = await payments.exceptions({ transferId: transfer.id })
  expect(held?.reason).toBe('amount_mismatch')
  expect(await settlement()).toEqual({ USD: before + 90 })
  await payments.resolve(held?.id ?? '', 'apply')
  await report([await payments.factOf(transfer, 'settled', { amount })])
  expect((await payments.reaches(transfer.id, 'complete')).amount).toEqual(tokens('90.00'))
  expect([await payments.balance(), await settlement()]).toEqual([balance + 90, { USD: before + 90 }])
  await expectSoundLedger(context)
})

it('tokens are no dollars where dollars were asked for', async () => {
  const transfer = await payments.wireOnramp('100.00')
  await report([await payments.factOf(transfer, 'accepted', { amount: tokens('100.00') })])
  expect(await payments.exceptions({ transferId: transfer.id })).toMatchObject([{ reason: 'amount_mismatch' }])
})

it('the return of a payout in dollars that was asked for in tokens is booked once', async () => {
  const body = { ...sampleBankAddress, transfer_types: ['wire'] }
  const { body: bank } = await api.call<{ id: string }>('POST', `/accounts/${api.accountId}/addresses/external`, {
    body,
  })
  const create = {
    amount: tokens('50.00'),
    source: { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' },
    destination: { address_id: bank.id, value_type: 'USD', transfer_type: 'wire' },
  }
  const { body: transfer } = await api.call<TransferResource>('POST', `/accounts/${api.accountId}/transfers`, {
    body: create,
  })
  expect(transfer).toMatchObject({ amount: tokens('50.00') })
  const settled = await payments.factOf(transfer, 'settled', { amount: dollars('50.00') })
  await report([settled])
  await payments.reaches(transfer.id, 'complete')
  const returned = (amount: typeof settled.amount) =>
    payments.factOf(transfer, 'returned', { amount, returnReference: 'R1' })
  await report([await returned(tokens('50.00'))])
  await report([await returned(dollars('50.00'))])
  expect((await payments.read(transfer.id)).returns).toMatchObject([{ amount: dollars('50.00') }])
  expect(await payments.exceptions({ transferId: transfer.id })).toEqual([])
  await expectSoundLedger(context)
})

it('a return in another currency is booked with the amount that a person states, for no more than has moved', async () => {
  const pesos = (value: string) => ({ value, currency: 'MXN' })
  const transfer = await payments.wireOnramp('100.00')
  await report([await payments.factOf(transfer, 'accepted')])
  await report([await payments.factOf(transfer, 'settled')])
  await payments.reaches(transfer.id, 'complete')
  const balance = await payments.balance()
  await report([await payments.factOf(transfer, 'returned', { amount: pesos('720.00'), returnReference: 'R1' })])
  const [held] = await payments.exceptions({ transferId: transfer.id })
  const id = held?.id ?? ''
  const mismatch = { code: 'conflict', message: expect.stringContaining('with `amount`') }
  await expect(payments.resolve(id, 'apply')).rejects.toMatchObject(mismatch)
  for (const amount of [dollars('100.01'), pesos('40'), dollars('0'), dollars('0.001')])
    await expect(payments.resolve(id, 'apply', { amount })).rejects.toMatchObject({ code: 'conflict' })
  await expect(payments.resolve(id, 'dismiss', { amount: dollars('40') })).rejects.toMatchObject({
    code: 'invalid_request',
  })
  await expect(payments.resolve(id, 'apply', { amount: dollars('-1') })).rejects.toMatchObject({
    code: 'invalid_amount',
  })
  expect(await payments.balance()).toBe(balance)
  await payments.resolve(id, 'apply', { amount: dollars('40.00') })
  expect(await payments.balance()).toBe(balance - 40)
  expect((await payments.read(transfer.id)).returns).toMatchObject([{ amount: dollars('40.00') }])
  const [resolved] = await payments.exceptions({ transferId: transfer.id, includeResolved: true })
  expect(resolved).toMatchObject({ amount: pesos('720.00'), payload: { appliedAmount: dollars('40.00') } })
  // No other amount is booked than a fact in the currency of the transfer says.
  await report([await payments.factOf(transfer, 'returned', { amount: dollars('70.00'), returnReference: 'R2' })])
  const [more] = await payments.exceptions({ transferId: transfer.id })
  await expect(payments.resolve(more?.id ?? '', 'apply', { amount: dollars('20.00') })).rejects.toMatchObject(mismatch)
  await payments.resolve(more?.id ?? '', 'dismiss')
  // In either currency it is the same return.
  await report([await payments.factOf(transfer, 'returned', { amount: dollars('40.00'), returnReference: 'R1' })])
  expect(await payments.exceptions({ transferId: transfer.id })).toEqual([])
  expect(await payments.balance()).toBe(balance - 40)
  await expectSoundLedger(context)
})
