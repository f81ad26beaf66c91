import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Books, changeOf, readBooks } from '../../test/books.ts'
import { sanctions, type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { sampleBankAddress } from '../../test/service.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { inTransaction } from '../context.ts'
import { resolveRailException } from '../rail-exceptions/resolution.ts'
import type { RailFact, RailFactListener } from '../rails/port.ts'
import { applyFacts } from './facts.ts'
import { advanceTransfers } from './progress.ts'
import type { TransferResource } from './view.ts'

// Two reports of one settlement in other words are two facts and two exceptions. Whoever applies both books it once.

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
  const body = { ...sampleBankAddress, transfer_types: ['ach_credit', 'ach_debit'] }
  bankId = (await api.call<{ id: string }>('POST', `/accounts/${api.accountId}/addresses/external`, { body })).body.id
})
beforeEach(async () => {
  before = await readBooks(api)
})
afterAll(() => api.stop())

type Fields = Partial<RailFact>
const usd = (value: string) => ({ value, currency: 'USD' })
const bank = (rail: string) => ({ address_id: bankId, value_type: 'USD', transfer_type: rail })
const wallet = () => ({ address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' })
const flows = {
  payout: () => ({ source: wallet(), destination: bank('ach_credit') }),
  debit: () => ({ source: bank('ach_debit'), destination: wallet() }),
}
type Flow = keyof typeof flows
const create = async (flow: Flow): Promise<TransferResource> => {
  const body = { amount: usd('100'), ...flows[flow]() }
  const { body: created } = await api.call<TransferResource>('POST', `/accounts/${api.accountId}/transfers`, { body })
  return await payments.reaches(created.id, 'processing')
}
let words = 0
/** Says it in words that make it another fact. */
const say = async (transfer: TransferResource, kind: RailFact['kind'], fields: Fields = {}) => {
  const source = {
    ...fields.source,
    paymentDetails: { ...fields.source?.paymentDetails, senderName: `words ${words++}` },
  }
  const fact = await payments.factOf(transfer, kind, { ...fields, source })
  expect(await report([fact])).toEqual(new Set([fact.reference]))
}
const openOf = async ({ id }: TransferResource) =>
  (await payments.exceptions({ transferId: id })).map(({ kind, reason }) => `${kind} ${reason}`)
const idsOf = async ({ id }: TransferResource) => (await payments.exceptions({ transferId: id })).map((one) => one.id)
const changes = async () => changeOf(before, await readBooks(api))
const day = (number: number) => `2026-02-0${number}T12:00:00.000Z`
const back = (value: string, fields: Fields = {}): Fields => ({
  amount: usd(value),
  failure: { ...sanctions, type: 'returned', occurredAt: day(2) },
  ...fields,
})
/** What has moved of a payout or a debit, in dollars. */
const moved = (flow: Flow, value: number): Books => {
  if (value === 0) return {}
  const sign = flow === 'payout' ? -1 : 1
  return { 'custodial USDC': sign * value, 'issuer USDC': -sign * value, 'settlement USD': sign * value }
}
/** Applies an exception where that is possible, and dismisses it otherwise. */
const decide = async (id: string) => {
  const refusal = await payments.resolve(id, 'apply').then(
    () => undefined,
    (error) => error,
  )
  if (refusal === undefined) return
  expect(refusal).toMatchObject({ code: 'conflict' })
  await payments.resolve(id, 'dismiss')
}
const decideAll = async (transfer: TransferResource) => {
  for (let ids = await idsOf(transfer); ids.length > 0; ids = await idsOf(transfer)) await decide(ids[0] ?? '')
  await expectSoundLedger(api.sandbox.service.context)
}
/** A person knows that a return is that of the transfer. */
const applyReturn = async ({ id }: TransferResource) => {
  const [one] = (await payments.exceptions({ transferId: id })).filter(({ kind }) => kind === 'returned')
  await payments.resolve(one?.id ?? '', 'apply', { accepts: ['disputed', 'other_transaction'] })
}
/** A payment of which facts say that it was settled in part, and that a poll has completed as the whole. */
const partly = async (flow: Flow, parts: readonly Fields[]): Promise<TransferResource> => {
  const transfer = await create(flow)
  const { context } = api.sandbox.service
  const reference = (await context.engine.transfers.get(transfer.id))?.remoteId ?? ''
  for (const fields of parts) await say(transfer, 'settled', fields)
  const observed = { remoteId: reference, status: 'complete', failure: null } as const
  await inTransaction(context, (tx) => context.engine.transfers.observe(tx, api.accountId, [observed]))
  return await payments.reaches(transfer.id, 'complete')
}
const to = (transactionId: string, fields: Fields = {}): Fields => ({ destination: { transactionId }, ...fields })

describe.each(['payout', 'debit'] as const)('a %s that was settled in part, which two reports say,', (flow) => {
  it.each([
    ['with the same mark', '60', to('0xa'), to('0xa')],
    ['of which one has a mark', '60', {}, to('0xa')],
    ['without a mark', '60', {}, {}],
    ['of less than the half without a mark', '30', {}, {}],
    ['of less than the half with the same mark', '30', to('0xa'), to('0xa')],
  ])('%s, gets the rest back once', async (_, value, first, second) => {
    const part = { amount: usd(value) }
    const transfer = await partly(flow, [
      { ...first, ...part },
      { ...second, ...part },
    ])
    expect(await openOf(transfer)).toEqual(['settled amount_mismatch', 'settled amount_mismatch'])
    const [one] = await idsOf(transfer)
    await payments.resolve(one ?? '', 'apply')
    expect(await changes()).toEqual(moved(flow, Number(value)))
    await decideAll(transfer)
    expect(await changes()).toEqual(moved(flow, Number(value)))
    // A report that comes later says nothing new either.
    await say(transfer, 'settled', { ...second, ...part })
    expect(await openOf(transfer)).toEqual([])
    await say(transfer, 'returned', back(value))
    expect(await changes()).toEqual({})
  })

  it('and another part, is settled by the part that was applied', async () => {
    const transfer = await partly(flow, [{ amount: usd('60') }, { amount: usd('80') }])
    await decideAll(transfer)
    expect(await changes()).toEqual(moved(flow, 60))
  })
})

/** A complete payment of 100 of which an amount came back. */
const returned = async (flow: Flow, value: string): Promise<TransferResource> => {
  const transfer = await create(flow)
  await say(transfer, 'settled', to('0xf'))
  const complete = await payments.reaches(transfer.id, 'complete')
  await say(transfer, 'returned', back(value, { returnReference: 'first' }))
  return complete
}

describe.each(['payout', 'debit'] as const)('a %s that was made again, which two reports say,', (flow) => {
  it.each([
    ['a part', '60', {}, {}],
    ['the whole', '100', {}, {}],
    ['a part with a mark', '60', to('0xb'), to('0xb')],
    ['the whole with a mark', '100', to('0xb'), to('0xb')],
    ['the whole with a later time', '100', { reachedAt: day(3) }, { reachedAt: day(3) }],
  ])('%s, is booked once', async (_, value, first, second) => {
    const amount = usd(value)
    const transfer = await returned(flow, value)
    await say(transfer, 'settled', { ...first, amount })
    await say(transfer, 'settled', { ...second, amount })
    expect(await openOf(transfer)).toEqual(['settled other_transaction', 'settled other_transaction'])
    const [one, other] = await idsOf(transfer)
    await payments.resolve(one ?? '', 'apply')
    expect(await changes()).toEqual(moved(flow, 100))
    // A report of what is booked is dismissed, so that nobody takes it for a third payment.
    await expect(payments.resolve(other ?? '', 'apply')).rejects.toMatchObject({ code: 'conflict' })
    await payments.resolve(other ?? '', 'dismiss')
    await say(transfer, 'settled', { ...second, amount })
    await decideAll(transfer)
    expect(await changes()).toEqual(moved(flow, 100))
    // What came back after it is booked as well, and no more.
    await say(transfer, 'returned', back(value, { returnReference: 'again' }))
    expect(await changes()).toEqual(moved(flow, 100))
    await applyReturn(transfer)
    expect(await changes()).toEqual(moved(flow, 100 - Number(value)))
    await say(transfer, 'returned', back('100', { returnReference: 'more' }))
    await decideAll(transfer)
    expect(await changes()).toEqual(moved(flow, value === '100' ? 0 : 40))
  })

  it('a part of what came back, is booked again only by who has seen that it was', async () => {
    const transfer = await returned(flow, '80')
    for (let time = 0; time < 2; time += 1) await say(transfer, 'settled', { amount: usd('30') })
    const [first, second] = await idsOf(transfer)
    await payments.resolve(first ?? '', 'apply')
    expect(await changes()).toEqual(moved(flow, 50))
    await expect(payments.resolve(second ?? '', 'apply')).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('possible_repeat'),
    })
    expect(await changes()).toEqual(moved(flow, 50))
    await payments.resolve(second ?? '', 'apply', { accepts: ['other_transaction', 'possible_repeat'] })
    expect(await changes()).toEqual(moved(flow, 80))
    await expectSoundLedger(api.sandbox.service.context)
  })
})

it('a wire that was sent again, which two reports say, is credited once', async () => {
  const transfer = await payments.wireOnramp('100.00')
  const first = { source: { transactionId: 'I1' } }
  await say(transfer, 'accepted', first)
  await say(transfer, 'settled', first)
  await payments.reaches(transfer.id, 'complete')
  await say(transfer, 'returned', back('100', first))
  const second = { source: { transactionId: 'I2' } }
  await say(transfer, 'settled', second)
  await say(transfer, 'settled', second)
  expect(await changes()).toEqual({ 'settlement USD': 100 })
  const ids = await idsOf(transfer)
  // The report without the receipt, with which the other one is applied.
  await payments.resolve(ids[1] ?? '', 'apply')
  expect([await openOf(transfer), await changes()]).toEqual([[], moved('debit', 100)])
  await say(transfer, 'returned', back('100', { ...second, returnReference: 'again' }))
  await applyReturn(transfer)
  expect(await changes()).toEqual({})
  // Nothing else is left to come back.
  await say(transfer, 'returned', back('100', { ...second, returnReference: 'third' }))
  await decideAll(transfer)
  expect(await changes()).toEqual({})
})

describe('two reports of one return that may be that of a second payment', () => {
  it('are booked once, unless who applies the second has seen that it may be the first', async () => {
    const transfer = await create('payout')
    await say(transfer, 'settled', to('0xa'))
    await payments.reaches(transfer.id, 'complete')
    await say(transfer, 'settled', to('0xb'))
    const unmarked = { failure: { ...sanctions, type: 'returned', occurredAt: day(2) } } as const
    await say(transfer, 'returned', { ...unmarked, amount: usd('40') })
    await say(transfer, 'returned', { ...back('40'), failure: { ...unmarked.failure, code: 'R10' } })
    expect(await openOf(transfer)).toEqual([
      'settled other_transaction',
      'returned other_transaction',
      'returned other_transaction',
    ])
    const [, first, second] = await idsOf(transfer)
    await payments.resolve(first ?? '', 'apply')
    expect(await changes()).toEqual(moved('payout', 60))
    const refused = { code: 'conflict', message: expect.stringContaining("['other_transaction', 'possible_repeat']") }
    await expect(payments.resolve(second ?? '', 'apply')).rejects.toMatchObject(refused)
    expect(await changes()).toEqual(moved('payout', 60))
    await payments.resolve(second ?? '', 'apply', { accepts: ['possible_repeat', 'other_transaction'] })
    expect(await changes()).toEqual(moved('payout', 20))
    await decideAll(transfer)
  })
})

it('a settlement that a person has applied stays so, and is an exception once more when its transfer fails', async () => {
  const { context } = api.sandbox.service
  const transfer = await create('debit')
  await say(transfer, 'settled', { amount: usd('60') })
  const [id = ''] = await idsOf(transfer)
  // The engine has the failure already, and says nothing of what is observed then.
  const engine = { ...context.engine, transfers: { ...context.engine.transfers, observeMany: async () => 1 } }
  const decision = { action: 'apply', by: 'ops@example.com' } as const
  await inTransaction(context, (tx) => resolveRailException(tx, { ...context, engine }, id, decision))
  await inTransaction(context, (tx) =>
    advanceTransfers(tx, context, [{ id: transfer.id, type: 'transfer.failed', failure: sanctions, reference: null }]),
  )
  const all = await payments.exceptions({ transferId: transfer.id, includeResolved: true })
  expect(all).toMatchObject([
    { id, reason: 'amount_mismatch', resolution: { action: 'applied' } },
    { kind: 'settled', reason: 'status_contradicted', amount: usd('60'), resolution: null },
  ])
  expect(await changes()).toEqual({})
  await decideAll(transfer)
  expect([await openOf(transfer), await changes()]).toEqual([[], {}])
})
