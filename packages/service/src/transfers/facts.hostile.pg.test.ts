import { recordingLogger, recordingTelemetry } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { sanctions, type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import type { ServiceContext } from '../context.ts'
import type { RailFact, RailFactListener } from '../rails/port.ts'
import { applyFacts } from './facts.ts'

// What a rail says is not ours: a fact that Postgres or the engine refuses must not keep the facts beside it from being applied.

const database = await testDatabase({ role: 'ordinary' })
const logger = recordingLogger()
const telemetry = recordingTelemetry()
let api: TestSandbox
let payments: TestPayments
let context: ServiceContext
let report: RailFactListener
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '1000000' }])
  payments = testPayments(api)
  context = { ...api.sandbox.service.context, logger, telemetry }
  report = applyFacts(context)
})
afterAll(() => api.stop())

const storedOf = async (reference: string) => {
  const { rows } = await inspect(context.pool).query(
    `select kind, payload, applied_at is not null as applied, exception_reason as reason
       from ${context.schema}.rail_fact where reference = $1 order by id`,
    [reference],
  )
  return rows
}
const counted = (reason: string) =>
  telemetry.values.filter(
    ({ instrument, attributes }) => instrument === 'outlay.rail.exceptions' && attributes?.['outlay.reason'] === reason,
  ).length
const failedWith = (fields: object) => ({ failure: { ...sanctions, ...fields } })

/** A fact about a payout, beside one that settles another payout. */
const reportBeside = async (kind: RailFact['kind'], change: (fact: RailFact) => unknown) => {
  const [transfer, other] = [await payments.payout(), await payments.payout()]
  const fact = change(await payments.factOf(transfer, kind)) as RailFact
  const beside = await payments.factOf(other, 'settled')
  const accepted = await report([fact, beside])
  expect(accepted).toEqual(new Set([fact?.reference, beside.reference]))
  await payments.reaches(other.id, 'complete')
  return { transfer, fact }
}

describe('a fact with what Postgres cannot store is applied without it, as it was stored', () => {
  const halves = 'a\u0000b\ud800c'
  const clean = 'a\ufffdb\ufffdc'

  it('in its words', async () => {
    const achReturn = { code: halves, reason: halves, category: halves }
    const change = (fact: RailFact) => ({ ...fact, ...failedWith({ code: halves, detail: halves, achReturn }) })
    const { transfer, fact } = await reportBeside('rejected', change)
    const { failure } = await payments.reaches(transfer.id, 'failed')
    const cleaned = { code: clean, detail: clean, ach_return: { code: clean, reason: clean, category: clean } }
    expect(failure).toMatchObject(cleaned)
    expect(await storedOf(fact.reference)).toMatchObject([
      { applied: true, reason: null, payload: { failure: { code: clean, detail: clean } } },
    ])
  })

  it('in the details of its legs', async () => {
    const leg = { paymentDetails: { senderName: halves, traceNumber: halves } }
    const { transfer } = await reportBeside('settled', (fact) => ({ ...fact, source: leg, destination: leg }))
    const complete = await payments.reaches(transfer.id, 'complete')
    const details = { payment_details: { sender_name: clean, trace_number: clean } }
    expect(complete).toMatchObject({ source: details, destination: details })
  })

  it('in the code of what came back', async () => {
    const transfer = await payments.payout()
    await report([await payments.factOf(transfer, 'settled')])
    await payments.reaches(transfer.id, 'complete')
    const fact = await payments.factOf(transfer, 'returned', failedWith({ code: halves, type: 'returned' }))
    expect(await report([fact])).toEqual(new Set([fact.reference]))
    expect((await payments.read(transfer.id)).returns).toMatchObject([{ code: clean }])
  })

  it.each([
    ['2026-01-05T16:30:00+16:30', '2026-01-05T00:00:00.000Z'],
    ['2026-01-04T00:01:00-23:59', '2026-01-05T00:00:00.000Z'],
    ['2026-01-05T00:00:00.1234560Z', '2026-01-05T00:00:00.123456Z'],
  ])('in a time such as %s', async (occurredAt, written) => {
    const { transfer } = await reportBeside('rejected', (fact) => ({ ...fact, ...failedWith({ occurredAt }) }))
    expect((await payments.reaches(transfer.id, 'failed')).failure).toMatchObject({ occurred_at: written })
  })
})

describe('a fact that nobody can read is an exception that is counted, whatever it is', () => {
  const deep = Array.from({ length: 20_000 }).reduce<unknown>((inner) => [inner], 'x')
  const throwing = (name: string) => (fact: RailFact) =>
    Object.defineProperty({ ...fact }, name, {
      enumerable: true,
      get() {
        throw new Error('Not readable.')
      },
    })
  const cases: readonly [string, (fact: RailFact) => unknown][] = [
    ['a control character in the reference', (fact) => ({ ...fact, reference: `${fact.reference}\u0007` })],
    ['NUL in the reference', (fact) => ({ ...fact, reference: `${fact.reference}\0` })],
    ['half a surrogate in the reference', (fact) => ({ ...fact, reference: `${fact.reference}\udc00` })],
    ['NUL in a transaction id', (fact) => ({ ...fact, source: { transactionId: '0x\0' } })],
    ['half a surrogate in a transaction id', (fact) => ({ ...fact, destination: { transactionId: '\ud800' } })],
    ['NUL in the currency', (fact) => ({ ...fact, amount: { value: '1', currency: 'US\0DC' } })],
    ['the year 0', (fact) => ({ ...fact, ...failedWith({ occurredAt: '0000-01-01T00:00:00Z' }) })],
    ['a year before 1', (fact) => ({ ...fact, reachedAt: '0001-01-01T00:00:00+10:00' })],
    ['a year behind 9999', (fact) => ({ ...fact, reachedAt: '9999-12-31T23:59:59-10:00' })],
    ['a member that throws', throwing('amount')],
    ['JSON that is too deep', (fact) => ({ ...fact, amount: deep })],
    ['a number of another kind', (fact) => ({ ...fact, amount: 5n })],
    ['nothing', () => null],
  ]

  it.each(cases)('with %s', async (_, change) => {
    const before = counted('unreadable')
    const { transfer } = await reportBeside('rejected', change)
    expect(counted('unreadable')).toBe(before + 1)
    expect((await payments.read(transfer.id)).status).toBe('processing')
  })

  it('with its transfer, its account and its amount, where those can be read', async () => {
    const { transfer, fact } = await reportBeside('settled', (one) => ({ ...one, source: { transactionId: ' 0xa' } }))
    const { accountId, amount } = fact
    const found = { kind: 'unreadable', reason: 'unreadable', transferId: transfer.id, accountId, amount }
    expect(await payments.exceptions({ transferId: transfer.id })).toMatchObject([found])
    await report([{ ...fact, amount: 5n } as unknown as RailFact])
    const other = { ...found, amount: null }
    expect(await payments.exceptions({ transferId: transfer.id })).toMatchObject([found, other])
    const [exception] = await payments.exceptions({ transferId: transfer.id })
    await expect(payments.resolve(exception?.id ?? '', 'apply')).rejects.toMatchObject({ code: 'conflict' })
    await payments.resolve(exception?.id ?? '', 'dismiss')
  })
})

it('null, nothing and a Date are read where the port has an optional member, no failure, and a time', async () => {
  const leg = { transactionId: null, paymentDetails: null }
  const said = { source: null, destination: leg, returnReference: null, failure: undefined, reachedAt: new Date() }
  const settled = await reportBeside('settled', (fact) => ({ ...fact, ...said }))
  await payments.reaches(settled.transfer.id, 'complete')
  const failure = { ...sanctions, achReturn: null, occurredAt: new Date(sanctions.occurredAt) }
  const rejected = await reportBeside('rejected', (fact) => ({ ...fact, failure, reachedAt: null }))
  const failed = await payments.reaches(rejected.transfer.id, 'failed')
  expect(failed.failure).toMatchObject({ code: 'sanctions', occurred_at: sanctions.occurredAt })
})

describe('facts that fail together are applied one by one', () => {
  /** The engine refuses one transfer's observation. */
  const refusing = (reference: string, error: Error) => {
    const { engine } = context
    const observeMany: typeof engine.transfers.observeMany = async (tx, given) => {
      if (given.some(({ observations }) => observations.some(({ remoteId }) => remoteId === reference))) throw error
      return await engine.transfers.observeMany(tx, given)
    }
    return applyFacts({ ...context, engine: { ...engine, transfers: { ...engine.transfers, observeMany } } })
  }

  it('and the one that cannot be is an exception, which a person can apply later', async () => {
    const [poisoned, other] = [await payments.payout(), await payments.payout()]
    const [fact, beside] = [await payments.factOf(poisoned, 'settled'), await payments.factOf(other, 'settled')]
    const before = counted('apply_failed')
    const error = Object.assign(new Error('with a name: Ada'), { code: '22P05' })
    const accepted = await refusing(fact.reference, error)([fact, beside])
    expect(accepted).toEqual(new Set([fact.reference, beside.reference]))
    await payments.reaches(other.id, 'complete')
    const [exception] = await payments.exceptions({ transferId: poisoned.id })
    expect(exception).toMatchObject({ reason: 'apply_failed', kind: 'settled' })
    expect(counted('apply_failed')).toBe(before + 1)
    expect(JSON.stringify(logger.entries)).not.toContain('Ada')
    expect(logger.entries.map(({ fields }) => fields)).toContainEqual({ factId: exception?.id, error: '22P05' })
    await payments.resolve(exception?.id ?? '', 'apply')
    await payments.reaches(poisoned.id, 'complete')
    await expectSoundLedger(context)
  })

  it.each([
    ['of the system', Object.assign(new Error('Too many files.'), { code: 'EMFILE' })],
    ['of Postgres', Object.assign(new Error('Not so.'), { code: 'XX000' })],
    ['that nobody knows', new Error('Something else.')],
  ])('and the one that an error %s keeps from it is reported again', async (_, error) => {
    const [poisoned, other] = [await payments.payout(), await payments.payout()]
    const [fact, beside] = [await payments.factOf(poisoned, 'settled'), await payments.factOf(other, 'settled')]
    expect(await refusing(fact.reference, error)([fact, beside])).toEqual(new Set([beside.reference]))
    await payments.reaches(other.id, 'complete')
    expect(await payments.exceptions({ transferId: poisoned.id })).toEqual([])
    expect(await report([fact, beside])).toEqual(new Set([fact.reference, beside.reference]))
    await payments.reaches(poisoned.id, 'complete')
    await expectSoundLedger(context)
  })

  it('but are all reported again when the database is in the way', async () => {
    const [one, other] = [await payments.payout(), await payments.payout()]
    const facts = [await payments.factOf(one, 'settled'), await payments.factOf(other, 'settled')]
    const error = Object.assign(new Error('The database ends.'), { code: '57P01' })
    await expect(refusing(facts[0]?.reference ?? '', error)(facts)).rejects.toThrow('ends')
    for (const { id } of [one, other]) expect(await payments.exceptions({ transferId: id })).toEqual([])
    expect(await report(facts)).toEqual(new Set(facts.map(({ reference }) => reference)))
    for (const { id } of [one, other]) await payments.reaches(id, 'complete')
  })
})

it('a failure at the end of time is overcome, and shown as a time all the same', async () => {
  const occurredAt = '9999-12-31T23:59:59.999Z'
  const transfer = await payments.payout()
  await report([await payments.factOf(transfer, 'rejected', failedWith({ occurredAt, retriable: true }))])
  await payments.reaches(transfer.id, 'failed')
  await report([await payments.factOf(transfer, 'settled')])
  expect((await payments.reaches(transfer.id, 'complete')).updated_at).toBe(occurredAt)
  await report([await payments.factOf(transfer, 'returned', { returnReference: 'R', ...failedWith({}) })])
  expect((await payments.read(transfer.id)).updated_at).toBe(occurredAt)
})
