import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { sanctions, type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { sampleBankAddress } from '../../test/service.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import type { ServiceContext } from '../context.ts'
import type { RailFact, RailFactListener } from '../rails/port.ts'
import { applyFacts } from './facts.ts'
import type { TransferResource } from './view.ts'

// A part of a complete transfer that comes back is credited once, however often and in whatever words it is reported.

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let payments: TestPayments
let context: ServiceContext
let report: RailFactListener
let bankId: string
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '10000' }])
  payments = testPayments(api)
  context = api.sandbox.service.context
  report = applyFacts(context)
  const bank = { ...sampleBankAddress, transfer_types: ['ach_credit'] }
  bankId = (await api.call<{ id: string }>('POST', `/accounts/${api.accountId}/addresses/external`, { body: bank }))
    .body.id
})
afterAll(() => api.stop())

const usd = (value: string) => ({ value, currency: 'USD' })
const occurredAt = '2026-01-05T14:30:15.250Z'
const failure = { ...sanctions, type: 'returned', occurredAt } as const

/** A complete offramp of 100. */
const complete = async (): Promise<TransferResource> => {
  const source = { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' }
  const destination = { address_id: bankId, value_type: 'USD', transfer_type: 'ach_credit' }
  const body = { amount: usd('100'), source, destination }
  const { body: created } = await api.call<TransferResource>('POST', `/accounts/${api.accountId}/transfers`, { body })
  const transfer = await payments.reaches(created.id, 'processing')
  await report([await payments.factOf(transfer, 'settled')])
  return await payments.reaches(created.id, 'complete')
}
const partOf = (transfer: TransferResource, fields: Partial<RailFact> = {}) =>
  payments.factOf(transfer, 'returned', { amount: usd('5'), failure, ...fields })
const factsOf = async (transferId: string) => {
  const { rows } = await inspect(context.pool).query(
    `select applied_at is not null as applied, exception_reason as reason from ${context.schema}.rail_fact
      where transfer_id = $1 and kind = 'returned' order by id`,
    [transferId],
  )
  return rows
}

/** Reports a part twice, in other words the second time: how much came back, and the reasons of exceptions. */
const reportTwice = async (first: Partial<RailFact>, second: Partial<RailFact>, together: boolean) => {
  const transfer = await complete()
  const before = await payments.balance()
  const facts = [await partOf(transfer, first), await partOf(transfer, second)]
  const references = new Set(facts.map(({ reference }) => reference))
  for (let time = 0; time < 2; time += 1) {
    if (together) expect(await report(facts)).toEqual(references)
    else for (const fact of facts) expect(await report([fact])).toEqual(references)
  }
  await expectSoundLedger(context)
  const exceptions = await payments.exceptions({ transferId: transfer.id })
  return { transfer, returned: (await payments.balance()) - before, exceptions }
}

const details = (paymentDetails: object): Partial<RailFact> => ({ source: { paymentDetails } })
const failed = (fields: object): Partial<RailFact> => ({ failure: { ...failure, ...fields } })
/** What the port does not describe exactly. */
const saying = (fields: object): Partial<RailFact> => fields

describe.each([
  ['in one batch', true],
  ['one after the other', false],
])('reports of a part, %s,', (_, together) => {
  it.each<[string, Partial<RailFact>, Partial<RailFact>]>([
    ['other words', {}, failed({ detail: 'Said otherwise' })],
    ['another type', {}, failed({ type: 'unknown' })],
    ['words of the network', {}, failed({ achReturn: { code: 'R01', reason: 'Funds', category: 'Funds' } })],
    ['another name of the sender', details({ senderName: 'Ada' }), details({ senderName: 'ADA' })],
    ['another spelling of the amount', {}, { amount: usd('5.00') }],
    ['another zone', {}, failed({ occurredAt: '2026-01-06T06:30:15.250+16:00' })],
    ['more digits of the time', {}, failed({ occurredAt: '2026-01-05T14:30:15.250000Z' })],
    ['a Date', {}, failed({ occurredAt: new Date(occurredAt) })],
    [
      'null for nothing',
      {},
      saying({ returnReference: null, reachedAt: null, source: { transactionId: null }, destination: null }),
    ],
    [
      'another time of the same reference',
      { returnReference: 'a' },
      { ...failed({ occurredAt: '2026-02-01T00:00:00Z' }), returnReference: 'a' },
    ],
  ])('that differ in %s are one', async (__, first, second) => {
    const { transfer, returned, exceptions } = await reportTwice(first, second, together)
    expect([returned, exceptions]).toEqual([5, []])
    expect(await factsOf(transfer.id)).toEqual([{ applied: true, reason: null }])
  })

  it('that differ in the spelling of their IMADs are one', async () => {
    const [first, second] = [' 20260105 mmqfmp2l000123', '20260105MMQFMP2L000123'].map((imad) => details({ imad }))
    const { transfer, returned, exceptions } = await reportTwice(first ?? {}, second ?? {}, together)
    expect([returned, exceptions]).toEqual([5, []])
    // As the bank has written it.
    expect((await factsOf(transfer.id)).length).toBe(2)
  })

  it.each<[string, string, Partial<RailFact>, Partial<RailFact>]>([
    ['fewer digits of the time', 'possible_repeat', {}, failed({ occurredAt: '2026-01-05T14:30:15Z' })],
    ['a time without seconds', 'possible_repeat', {}, failed({ occurredAt: '2026-01-05T14:30:00Z' })],
    ['the day alone', 'possible_repeat', {}, failed({ occurredAt: '2026-01-05T00:00:00Z' })],
    ['a finer time', 'possible_repeat', {}, failed({ occurredAt: '2026-01-05T14:30:15.250400Z' })],
    ['a rounded time', 'possible_repeat', {}, failed({ occurredAt: '2026-01-05T14:30:16Z' })],
    ['the day of the bank', 'possible_repeat', {}, failed({ occurredAt: '2026-01-05T00:00:00-05:00' })],
    ['the day of the bank behind midnight', 'possible_repeat', {}, failed({ occurredAt: '2026-01-06T00:00:00+14:00' })],
    ['the time of the report', 'possible_repeat', {}, failed({ occurredAt: '2026-03-01T09:12:44.071Z' })],
    [
      'the case of a transaction id',
      'possible_repeat',
      { source: { transactionId: '0xABCDEF' } },
      { source: { transactionId: '0xabcdef' } },
    ],
    ['the case of their reference', 'possible_repeat', { returnReference: 'RET-1' }, { returnReference: 'ret-1' }],
    ['the padding of their reference', 'unreadable', { returnReference: 'RET-1' }, { returnReference: 'RET-1  ' }],
    [
      'the padding of a transaction id',
      'unreadable',
      { source: { transactionId: '0xa' } },
      { source: { transactionId: '\u00a00xa' } },
    ],
    [
      'the amount and the case of their reference',
      'reference_reused',
      { returnReference: 'RET-1' },
      { returnReference: 'ret-1', amount: usd('6') },
    ],
    ['the code', 'possible_repeat', {}, failed({ code: 'R02' })],
    ['a transaction id that one lacks', 'possible_repeat', {}, { source: { transactionId: '0xa' } }],
    ['a trace number', 'possible_repeat', details({ traceNumber: '1' }), details({ traceNumber: '2' })],
    ['a reference that one lacks', 'possible_repeat', {}, { returnReference: 'a' }],
    [
      'the amount, of the same reference',
      'reference_reused',
      { returnReference: 'a' },
      { returnReference: 'a', amount: usd('6') },
    ],
  ])('that differ in %s wait for a person', async (__, reason, first, second) => {
    const { returned, exceptions } = await reportTwice(first, second, together)
    expect([returned, exceptions.map((one) => one.reason)]).toEqual([5, [reason]])
  })

  it.each<[string, Partial<RailFact>, Partial<RailFact>]>([
    ['their reference', { returnReference: 'a' }, { returnReference: 'b' }],
    ['a transaction id', { source: { transactionId: '0xa' } }, { source: { transactionId: '0xb' } }],
    [
      'a transaction id of the payee',
      { destination: { transactionId: '0xa' } },
      { destination: { transactionId: '0xb' } },
    ],
  ])('that differ in %s are two', async (__, first, second) => {
    const { returned, exceptions } = await reportTwice(first, second, together)
    expect([returned, exceptions]).toEqual([10, []])
  })
})

it('a part that a person takes for another one is booked', async () => {
  const { transfer, exceptions } = await reportTwice({}, failed({ code: 'R02' }), false)
  const before = await payments.balance()
  await payments.resolve(exceptions[0]?.id ?? '', 'apply')
  expect(await payments.balance()).toBe(before + 5)
  expect((await payments.read(transfer.id)).returns).toHaveLength(2)
  await expectSoundLedger(context)
})

it('a part that an earlier release has booked is not booked again', async () => {
  const transfer = await complete()
  const fact = await partOf(transfer)
  await report([fact])
  const before = await payments.balance()
  // That release put the words into the fingerprint, and wrote times as they came.
  await inspect(context.pool).query(
    `update ${context.schema}.rail_fact
        set fingerprint = 'earlier ' || id, payload = jsonb_set(payload, '{failure,occurredAt}', '"2026-01-05T15:30:15.25+01:00"')
      where transfer_id = $1 and kind = 'returned'`,
    [transfer.id],
  )
  expect(await report([fact])).toEqual(new Set([fact.reference]))
  expect(await payments.balance()).toBe(before)
  expect((await payments.read(transfer.id)).returns).toHaveLength(1)
  expect(await payments.exceptions({ transferId: transfer.id })).toEqual([])
})

it('a part that an earlier release has booked with a padded id is not booked again', async () => {
  const transfer = await complete()
  await report([await partOf(transfer, { returnReference: 'RET-1' })])
  await inspect(context.pool).query(
    `update ${context.schema}.rail_fact
        set fingerprint = 'earlier ' || id, payload = payload || '{"returnReference": "RET-1  "}'
      where transfer_id = $1 and kind = 'returned'`,
    [transfer.id],
  )
  const before = await payments.balance()
  await report([await partOf(transfer, { returnReference: 'RET-1' })])
  expect(await payments.balance()).toBe(before)
  expect(await payments.exceptions({ transferId: transfer.id })).toMatchObject([{ reason: 'possible_repeat' }])
  // Once a person has to decide about one, the others wait, too.
  await report([await partOf(transfer, { returnReference: 'RET-2' })])
  expect(await payments.balance()).toBe(before)
  const [, other] = await payments.exceptions({ transferId: transfer.id })
  expect(other).toMatchObject({ reason: 'disputed' })
  await payments.resolve(other?.id ?? '', 'apply')
  expect(await payments.balance()).toBe(before + 5)
})

it.each(['5.001', '0', '0.00', '100.01', '0.0000001'])('%s of 100 dollars cannot come back', async (value) => {
  const transfer = await complete()
  const before = await payments.balance()
  await report([await partOf(transfer, { amount: usd(value) })])
  expect(await payments.exceptions({ transferId: transfer.id })).toMatchObject([{ reason: 'amount_mismatch' }])
  const [exception] = await payments.exceptions({ transferId: transfer.id })
  await expect(payments.resolve(exception?.id ?? '', 'apply')).rejects.toMatchObject({ code: 'conflict' })
  expect(await payments.balance()).toBe(before)
  await expectSoundLedger(context)
})
