import { testDatabase } from '@outlay/testing/vitest'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { modelRuns } from '../../test/model.ts'
import { sanctions, type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import type { ServiceContext } from '../context.ts'
import type { RailFact, RailFactListener } from '../rails/port.ts'
import { applyFacts } from '../transfers/facts.ts'
import type { TransferResource } from '../transfers/view.ts'

// The bank has what has arrived and was not sent back. The ledger says the same, in whatever order a person decides.

const { parameters, timeoutMs } = modelRuns(12)
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

/** Dollars in the settlement account and, below zero, outside. */
const dollars = async () => {
  const { rows } = await inspect(context.pool).query(
    `select kind, coalesce(sum(entries_available), 0)::float as usd from ${context.schema}.ledger_balance
      where value_type = 'USD' and transfer_type = 'wire' group by kind`,
  )
  const of = (kind: string) => Number(rows.find((row) => row.kind === kind)?.usd ?? 0)
  expect(of('outside') + of('settlement')).toBe(0)
  return of('settlement')
}
const factsOf = async (id: string) => {
  const { rows } = await inspect(context.pool).query(
    `select payload #>> '{source,transactionId}' as imad, applied_at is not null as applied,
            exception_reason is not null as exception, resolution
       from ${context.schema}.rail_fact where transfer_id = $1 and kind <> 'expected' order by id`,
    [id],
  )
  for (const { applied, exception } of rows)
    expect([applied, exception], 'it is applied, open or dismissed').not.toEqual([false, false])
  return rows as readonly { imad: string; applied: boolean; resolution: string | null }[]
}
const usd = (value: string) => ({ value, currency: 'USD' })
const arrivals = { I1: '90.00', I2: '80.00' } as const
const factFrom = async (transfer: TransferResource, { imad, kind, words }: Report) =>
  await payments.factOf(transfer, kind, {
    amount: usd(arrivals[imad]),
    source: { transactionId: imad, paymentDetails: { senderName: words } },
  })
const reports = fc.record({
  imad: fc.constantFrom('I1' as const, 'I2' as const),
  kind: fc.constantFrom('accepted' as const, 'settled' as const),
  words: fc.constantFrom<string>('Ada', 'Grace'),
})
type Report = typeof reports extends fc.Arbitrary<infer T> ? T : never

/** Decides about all exceptions of a transfer, one after the other; what cannot be applied is dismissed. */
async function decideAll(transferId: string, decisions: readonly { at: number; apply: boolean }[]): Promise<void> {
  for (const step of [...decisions, ...Array.from({ length: 8 }, () => ({ at: 0, apply: false }))]) {
    const open = await payments.exceptions({ transferId })
    const one = open[step.at % Math.max(open.length, 1)]
    if (one === undefined) return
    const applied = step.apply
      ? await payments.resolve(one.id, 'apply').catch((error) => expect(error).toMatchObject({ code: 'conflict' }))
      : undefined
    if (applied === undefined) await payments.resolve(one.id, 'dismiss')
    await factsOf(transferId)
  }
}

it(
  'whatever of held wires is applied or dismissed first, the ledger has what is at the bank, and no exception is lost',
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(reports, { minLength: 1, maxLength: 5 }),
        fc.array(fc.record({ at: fc.nat(4), apply: fc.boolean() }), { maxLength: 5 }),
        async (said, decisions) => {
          const [before, tokens] = [await dollars(), await payments.balance()]
          const transfer = await payments.wireOnramp('100.00')
          for (const one of said) await report([await factFrom(transfer, one)])
          const arrived = new Set(said.map(({ imad }) => imad))
          expect(await dollars()).toBe(before + [...arrived].reduce((sum, imad) => sum + Number(arrivals[imad]), 0))
          await decideAll(transfer.id, decisions)
          const credited = new Set((await factsOf(transfer.id)).flatMap((fact) => (fact.applied ? [fact.imad] : [])))
          expect(credited.size).toBeLessThanOrEqual(1)
          const [imad] = credited as ReadonlySet<keyof typeof arrivals>
          if (imad === undefined) {
            expect(await dollars()).toBe(before)
            return
          }
          await report([await factFrom(transfer, { imad, kind: 'settled', words: 'at last' })])
          expect((await payments.reaches(transfer.id, 'complete')).amount).toEqual(usd(arrivals[imad]))
          expect(await payments.exceptions({ transferId: transfer.id })).toEqual([])
          expect(await dollars()).toBe(before + Number(arrivals[imad]))
          expect(await payments.balance()).toBe(tokens + Number(arrivals[imad]))
          await expectSoundLedger(context)
        },
      ),
      parameters,
    ),
  timeoutMs,
)

describe('a held wire of which two reports wait', () => {
  it.each([0, 1])('is credited once when number %i is applied', async (which) => {
    const before = await dollars()
    const transfer = await payments.wireOnramp('100.00')
    await report([await factFrom(transfer, { imad: 'I1', kind: 'accepted', words: 'Ada' })])
    await report([await factFrom(transfer, { imad: 'I1', kind: 'settled', words: 'Ada' })])
    const open = await payments.exceptions({ transferId: transfer.id })
    expect(open).toMatchObject([{ kind: 'accepted' }, { kind: 'settled' }])
    await payments.resolve(open[which]?.id ?? '', 'apply')
    expect(await payments.exceptions({ transferId: transfer.id })).toEqual([])
    expect(await factsOf(transfer.id)).toMatchObject([{ resolution: 'applied' }, { resolution: 'applied' }])
    await payments.reaches(transfer.id, 'complete')
    expect(await dollars()).toBe(before + 90)
  })
})

/** A wire that is complete, or has failed. */
async function endedWire(end: 'settled' | 'rejected'): Promise<TransferResource> {
  const transfer = await payments.wireOnramp('100.00')
  const source = { transactionId: 'I1' }
  if (end === 'settled') await report([await payments.factOf(transfer, 'accepted', { source })])
  await report([await payments.factOf(transfer, end, { source, failure: end === 'settled' ? null : sanctions })])
  return await payments.reaches(transfer.id, end === 'settled' ? 'complete' : 'failed')
}

describe.each([
  ['complete', 'settled', 'other_transaction'],
  ['failed', 'rejected', 'status_contradicted'],
] as const)('a wire that arrives for a transfer that is %s', (_, end, reason) => {
  it('is in the settlement account, once, until a person has sent it back', async () => {
    const transfer = await endedWire(end)
    const [before, tokens] = [await dollars(), await payments.balance()]
    const second = { source: { transactionId: 'I2' } }
    const facts: RailFact[] = [
      await payments.factOf(transfer, 'accepted', second),
      await payments.factOf(transfer, 'settled', second),
    ]
    for (const fact of facts) expect(await report([fact])).toEqual(new Set([fact.reference]))
    const open = await payments.exceptions({ transferId: transfer.id })
    expect(open).toMatchObject([
      { kind: 'accepted', reason },
      { kind: 'settled', reason },
    ])
    expect(await dollars()).toBe(before + 100)
    expect((await payments.read(transfer.id)).source.transaction_id).toBe(transfer.source.transaction_id)
    const [first, last] = open.map(({ id }) => id)
    await expect(payments.resolve(first ?? '', 'apply')).rejects.toMatchObject({ code: 'conflict' })
    expect(await dollars()).toBe(before + 100)
    await payments.resolve(first ?? '', 'dismiss')
    expect(await dollars()).toBe(before + 100)
    await payments.resolve(last ?? '', 'dismiss')
    expect([await dollars(), await payments.balance()]).toEqual([before, tokens])
    await expectSoundLedger(context)
  })
})
