import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testAutomations } from '../../test/automations.ts'
import { inspect } from '../../test/inspection.ts'
import { sanctions, type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { sampleBankAddress } from '../../test/service.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import type { ServiceContext } from '../context.ts'
import type { RailFact, RailFactListener } from '../rails/port.ts'
import { applyFacts } from './facts.ts'
import type { TransferResource } from './view.ts'

// A debit that was returned late is presented again, and a payout is sent again. A person decides whether that counts.

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let payments: TestPayments
let context: ServiceContext
let report: RailFactListener
let bankId: string
let outsideId: string
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '10000' }])
  payments = testPayments(api)
  context = api.sandbox.service.context
  // An account that owes goes on.
  const options = context as { receivablePolicy?: string }
  options.receivablePolicy = 'allow'
  report = applyFacts(context)
  const bank = { ...sampleBankAddress, transfer_types: ['ach_credit', 'ach_debit'] }
  const path = `/accounts/${api.accountId}/addresses/external`
  bankId = (await api.call<{ id: string }>('POST', path, { body: bank })).body.id
  outsideId = await testAutomations(api).addWallet(`0x${'7'.repeat(40)}`)
})
afterAll(() => api.stop())

const amount = { value: '100', currency: 'USD' }
const bank = (rail: string) => ({ address_id: bankId, value_type: 'USD', transfer_type: rail })
const wallet = (addressId: string) => ({ address_id: addressId, value_type: 'USDC', transfer_type: 'base' })
const flows = {
  debit: () => ({ source: bank('ach_debit'), destination: wallet(api.walletId) }),
  'debit to an outside wallet': () => ({ source: bank('ach_debit'), destination: wallet(outsideId) }),
  payout: () => ({ source: wallet(api.walletId), destination: bank('ach_credit') }),
}
const day = (number: number) => `2026-02-0${number}T12:00:00.000Z`
const settled = (transfer: TransferResource, reachedAt?: string) =>
  payments.factOf(transfer, 'settled', reachedAt === undefined ? {} : { reachedAt })
const returned = (transfer: TransferResource, occurredAt: string, fields: Partial<RailFact> = {}) =>
  payments.factOf(transfer, 'returned', { failure: { ...sanctions, type: 'returned', occurredAt }, ...fields })

/** A complete transfer whose money came back on the second day. */
const returnedLate = async (flow: keyof typeof flows): Promise<TransferResource> => {
  const { body } = await api.call<TransferResource>('POST', `/accounts/${api.accountId}/transfers`, {
    body: { amount, ...flows[flow]() },
  })
  const transfer = await payments.reaches(body.id, 'processing')
  await report([await settled(transfer, day(1))])
  const complete = await payments.reaches(body.id, 'complete')
  await report([await returned(transfer, day(2))])
  return complete
}
const debts = async () => {
  const { rows } = await inspect(context.pool).query(
    `select coalesce(sum(amount), 0)::float as table, (
       select coalesce(-sum(entries_available), 0)::float from ${context.schema}.ledger_balance where kind = 'receivable'
     ) as ledger from ${context.schema}.receivable`,
  )
  return rows[0] as { table: number; ledger: number }
}
const openOf = (id: string) => payments.exceptions({ transferId: id })
/** What a payment changes of the wallet, and of what its account owes. */
const effects = { debit: [100, 0], 'debit to an outside wallet': [0, -100], payout: [-100, 0] } as const

describe.each(Object.keys(flows) as (keyof typeof flows)[])('a %s that settles again after a late return', (flow) => {
  const accepted = async () => {
    const transfer = await returnedLate(flow)
    const [before, owed] = [await payments.balance(), await debts()]
    const fact = await settled(transfer, day(3))
    expect(await report([fact])).toEqual(new Set([fact.reference]))
    const open = await openOf(transfer.id)
    expect(open).toMatchObject([{ kind: 'settled', reason: 'other_transaction' }])
    expect([await payments.balance(), await debts()]).toEqual([before, owed])
    return { transfer, before, owed, id: open[0]?.id ?? '' }
  }

  it('counts when a person applies it, and so does its return then', async () => {
    const { transfer, before, owed, id } = await accepted()
    await payments.resolve(id, 'apply')
    const [wallet, debt] = effects[flow]
    expect(await payments.balance()).toBe(before + wallet)
    expect(await debts()).toEqual({ table: owed.table + debt, ledger: owed.ledger + debt })
    await expectSoundLedger(context)
    // The return of the first payment, reported again in other words.
    const code = { ...sanctions, type: 'returned', code: 'R10', occurredAt: day(2) } as const
    await report([await returned(transfer, day(2), { failure: code })])
    const repeat = await openOf(transfer.id)
    expect(repeat).toMatchObject([{ reason: 'possible_repeat' }])
    await payments.resolve(repeat[0]?.id ?? '', 'dismiss')
    const again = await returned(transfer, day(4))
    expect(await report([again])).toEqual(new Set([again.reference]))
    const second = await openOf(transfer.id)
    expect(second).toMatchObject([{ reason: 'disputed' }])
    await payments.resolve(second[0]?.id ?? '', 'apply')
    expect([await payments.balance(), await debts()]).toEqual([before, owed])
    await report([await returned(transfer, day(5), { returnReference: 'third' })])
    const [third] = await openOf(transfer.id)
    expect(third).toMatchObject({ reason: 'possible_repeat' })
    await expect(payments.resolve(third?.id ?? '', 'apply')).rejects.toMatchObject({ code: 'conflict' })
    await expectSoundLedger(context)
  })

  it('changes nothing when a person dismisses it', async () => {
    const { transfer, before, owed, id } = await accepted()
    await payments.resolve(id, 'dismiss')
    expect([await payments.balance(), await debts()]).toEqual([before, owed])
    expect(await openOf(transfer.id)).toEqual([])
    expect((await payments.read(transfer.id)).status).toBe('complete')
  })
})

it('more than came back is not booked again', async () => {
  const transfer = await returnedLate('debit')
  await report([await payments.factOf(transfer, 'settled', { reachedAt: day(3), amount: { ...amount, value: '101' } })])
  const [exception] = await openOf(transfer.id)
  await expect(payments.resolve(exception?.id ?? '', 'apply')).rejects.toMatchObject({ code: 'conflict' })
  await payments.resolve(exception?.id ?? '', 'dismiss')
})

it('a late report of the payment that came back, which has its mark, changes nothing', async () => {
  const { body } = await api.call<TransferResource>('POST', `/accounts/${api.accountId}/transfers`, {
    body: { amount, ...flows.debit() },
  })
  const transfer = await payments.reaches(body.id, 'processing')
  const source = { transactionId: '021000020000001' }
  await report([await payments.factOf(transfer, 'settled', { source })])
  await payments.reaches(body.id, 'complete')
  await report([await returned(transfer, day(2))])
  const before = await payments.balance()
  await report([await payments.factOf(transfer, 'settled', { source, reachedAt: day(1) })])
  expect(await openOf(transfer.id)).toEqual([])
  expect(await payments.balance()).toBe(before)
})
