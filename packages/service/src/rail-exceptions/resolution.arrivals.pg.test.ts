import { recordingLogger } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { modelRuns } from '../../test/model.ts'
import { sanctions, type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { inTransaction, type ServiceContext } from '../context.ts'
import { asSystem } from '../database/tenant.ts'
import { readPaymentFact } from '../rail-facts/payment-fact.ts'
import { recordFacts } from '../rail-facts/rail-facts.ts'
import type { RailFact, RailFactListener } from '../rails/port.ts'
import { applyFacts, applyStored } from '../transfers/facts.ts'
import { advanceTransfers } from '../transfers/progress.ts'
import type { TransferResource } from '../transfers/view.ts'
import { resolveRailException } from './resolution.ts'

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
    `select case amount_value when 90 then 'I1' when 80 then 'I2' end as imad, applied_at is not null as applied,
            exception_reason is not null as exception, resolution, payload #> '{source,transactionId}' is not null as marked
       from ${context.schema}.rail_fact where transfer_id = $1 and kind <> 'expected' order by id`,
    [id],
  )
  for (const { applied, exception } of rows)
    expect([applied, exception], 'it is applied, open or dismissed').not.toEqual([false, false])
  return rows as readonly {
    imad: keyof typeof arrivals
    applied: boolean
    resolution: string | null
    marked: boolean
  }[]
}
const usd = (value: string) => ({ value, currency: 'USD' })
const arrivals = { I1: '90.00', I2: '80.00' } as const
const factFrom = async (transfer: TransferResource, { imad, kind, words, isMarked = true }: Report) =>
  await payments.factOf(transfer, kind, {
    amount: usd(arrivals[imad]),
    source: { transactionId: isMarked ? `${imad} ${transfer.id}` : undefined, paymentDetails: { senderName: words } },
  })
const reports = fc.record({
  imad: fc.constantFrom('I1' as const, 'I2' as const),
  kind: fc.constantFrom('accepted' as const, 'settled' as const),
  words: fc.constantFrom<string>('Ada', 'Grace'),
})
type Report = (typeof reports extends fc.Arbitrary<infer T> ? T : never) & { readonly isMarked?: boolean }
/** Dollars of the arrivals that were credited, or of which a report waits. */
const held = async (id: string) => {
  const known = (await factsOf(id)).flatMap(({ imad, resolution }) => (resolution === 'dismissed' ? [] : [imad]))
  return [...new Set(known)].reduce((sum, imad) => sum + Number(arrivals[imad]), 0)
}

/** Applies an exception. False where it is refused, as it has to be. */
async function applies(id: string, refused: object): Promise<boolean> {
  try {
    await payments.resolve(id, 'apply')
    return true
  } catch (error) {
    expect(error).toMatchObject(refused)
    return false
  }
}

/** Decides about all exceptions of a transfer, one after the other; what cannot be applied is dismissed. */
async function decideAll(
  transferId: string,
  before: number,
  decisions: readonly { at: number; apply: boolean }[],
): Promise<void> {
  for (const step of [...decisions, ...Array.from({ length: 8 }, () => ({ at: 0, apply: false }))]) {
    const open = await payments.exceptions({ transferId })
    const one = open[step.at % Math.max(open.length, 1)]
    if (one === undefined) return
    const isApplied = step.apply && (await applies(one.id, { code: 'conflict' }))
    if (!isApplied) await payments.resolve(one.id, 'dismiss')
    // What is credited is in the account once its transfer is complete.
    const stored = await factsOf(transferId)
    if (stored.some(({ applied }) => applied)) continue
    expect(await dollars()).toBe(before + (await held(transferId)))
  }
}

it(
  'whatever of held wires is applied or dismissed first, the ledger has what is at the bank, and no exception is lost',
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(reports, { minLength: 1, maxLength: 5 }),
        fc.array(reports, { maxLength: 2 }),
        fc.array(fc.record({ at: fc.nat(4), apply: fc.boolean() }), { maxLength: 5 }),
        async (said, later, decisions) => {
          const [before, tokens] = [await dollars(), await payments.balance()]
          const transfer = await payments.wireOnramp('100.00')
          for (const one of said) await report([await factFrom(transfer, one)])
          // Others say nothing of the source of what has arrived.
          const unmarked = later.filter(({ imad }) => said.some((one) => one.imad === imad))
          for (const one of unmarked) await report([await factFrom(transfer, { ...one, isMarked: false })])
          const arrived = new Set(said.map(({ imad }) => imad))
          expect(await dollars()).toBe(before + [...arrived].reduce((sum, imad) => sum + Number(arrivals[imad]), 0))
          await decideAll(transfer.id, before, decisions)
          const credited = new Set((await factsOf(transfer.id)).flatMap((fact) => (fact.applied ? [fact.imad] : [])))
          expect(credited.size).toBeLessThanOrEqual(1)
          const [imad] = credited
          if (imad === undefined) {
            expect(await dollars()).toBe(before)
            return
          }
          // With a mark that nothing has which was applied, it would be another wire.
          const isMarked = (await factsOf(transfer.id)).some((fact) => fact.applied && fact.marked)
          const last = await factFrom(transfer, { imad, kind: 'settled', words: 'at last', isMarked })
          // Its rail reports it again while the transfer is being completed.
          await vi.waitFor(async () => expect(await report([last])).toEqual(new Set([last.reference])), {
            timeout: 60_000,
          })
          // Where others were dismissed, a person says that this one is that of the wire.
          for (const { id, reason } of await payments.exceptions({ transferId: transfer.id })) {
            expect(reason).toBe('disputed')
            // A settlement may have been applied already.
            const refused = { code: 'conflict', message: expect.stringContaining('books_nothing') }
            if (!(await applies(id, refused))) await payments.resolve(id, 'dismiss')
          }
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

/** Two wires for one transfer that are held, and a later report of one of them without its source. */
async function heldTwice(amounts: readonly [string, string]) {
  const before = await dollars()
  const transfer = await payments.wireOnramp('100.00')
  const arrive = async (kind: RailFact['kind'], amount: string, transactionId?: string) =>
    await report([
      await payments.factOf(transfer, kind, {
        amount: usd(amount),
        source: { transactionId: transactionId && `${transactionId} ${transfer.id}` },
      }),
    ])
  await arrive('accepted', amounts[0], 'I1')
  await arrive('accepted', amounts[1], 'I2')
  await arrive('settled', amounts[0])
  const open = await payments.exceptions({ transferId: transfer.id })
  expect(open).toHaveLength(3)
  return { transfer, before, ids: open.map(({ id }) => id) as [string, string, string] }
}

describe('a report that does not say which of two held wires it is about', () => {
  it('credits the one of its amount; the other one stays in the settlement account', async () => {
    const { transfer, before, ids } = await heldTwice(['90.00', '80.00'])
    await payments.resolve(ids[2], 'apply')
    expect((await payments.reaches(transfer.id, 'complete')).amount).toEqual(usd('90.00'))
    expect(await dollars()).toBe(before + 170)
    expect(await payments.exceptions({ transferId: transfer.id })).toMatchObject([{ id: ids[1] }])
    await payments.resolve(ids[1], 'dismiss')
    expect(await dollars()).toBe(before + 90)
    await expectSoundLedger(context)
  })

  it('is not applied where both have its amount, and a person applies the one that names its wire', async () => {
    const { transfer, before, ids } = await heldTwice(['90.00', '90.00'])
    const message = expect.stringContaining(ids[0])
    await expect(payments.resolve(ids[2], 'apply')).rejects.toMatchObject({ code: 'conflict', message })
    expect(await dollars()).toBe(before + 180)
    await payments.resolve(ids[0], 'apply')
    // Its settlement names neither of them, so a person applies that, too.
    expect(await payments.exceptions({ transferId: transfer.id })).toMatchObject([
      { id: ids[1] },
      { id: ids[2], reason: 'disputed' },
    ])
    await payments.resolve(ids[2], 'apply')
    await payments.reaches(transfer.id, 'complete')
    expect(await dollars()).toBe(before + 180)
    expect(await payments.exceptions({ transferId: transfer.id })).toMatchObject([{ id: ids[1] }])
    await payments.resolve(ids[1], 'dismiss')
    expect(await dollars()).toBe(before + 90)
    await expectSoundLedger(context)
  })
})

/** A wire that is complete, or has failed. */
async function endedWire(end: 'settled' | 'rejected'): Promise<TransferResource> {
  const transfer = await payments.wireOnramp('100.00')
  const source = { transactionId: `I1 ${transfer.id}` }
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
    const second = { source: { transactionId: `I2 ${transfer.id}` } }
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

it('a refused decision that is caught leaves what the bank has in the settlement account', async () => {
  const transfer = await endedWire('settled')
  const before = await dollars()
  await report([await payments.factOf(transfer, 'accepted', { source: { transactionId: `I2 ${transfer.id}` } })])
  const [held] = await payments.exceptions({ transferId: transfer.id })
  const decision = { action: 'apply', by: 'ops@example.com' } as const
  await inTransaction(context, async (tx) => {
    const refused = resolveRailException(tx, context, held?.id ?? '', decision)
    await expect(refused).rejects.toMatchObject({ code: 'conflict' })
  })
  expect(await dollars()).toBe(before + 100)
  expect(await payments.exceptions({ transferId: transfer.id })).toEqual([held])
  await payments.resolve(held?.id ?? '', 'dismiss')
  expect(await dollars()).toBe(before)
  await expectSoundLedger(context)
})

it('a report that is being applied is seen by whoever dismisses another one of the same wire', async () => {
  const before = await dollars()
  const transfer = await payments.wireOnramp('100.00')
  await report([await factFrom(transfer, { imad: 'I1', kind: 'accepted', words: 'Ada' })])
  const [held] = await payments.exceptions({ transferId: transfer.id })
  const second = await factFrom(transfer, { imad: 'I1', kind: 'settled', words: 'Ada' })
  const [stored] = await recordFacts(asSystem(context), context, [readPaymentFact(second).row])
  let dismissed: Promise<unknown> = Promise.resolve()
  await inTransaction(context, async (tx) => {
    await applyStored(tx, context, [{ id: stored?.id ?? '', fact: second }])
    let isOver = false
    dismissed = payments.resolve(held?.id ?? '', 'dismiss').finally(() => {
      isOver = true
    })
    await vi.waitFor(
      async () => {
        const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
        expect(isOver || (await inspect(context.pool).query(waiting)).rowCount).toBeTruthy()
      },
      { timeout: 60_000 },
    )
  })
  await dismissed
  expect(await payments.exceptions({ transferId: transfer.id })).toMatchObject([{ kind: 'settled' }])
  expect(await dollars()).toBe(before + 90)
  for (const { id } of await payments.exceptions({ transferId: transfer.id })) await payments.resolve(id, 'dismiss')
  expect(await dollars()).toBe(before)
  await expectSoundLedger(context)
})

it('a wire that has settled unseen before its transfer is canceled is in the settlement account, and counted', async () => {
  const logger = recordingLogger()
  const before = await dollars()
  const transfer = await payments.wireOnramp('100.00')
  const engine = { ...context.engine, transfers: { ...context.engine.transfers, observeMany: async () => 1 } }
  await applyFacts({ ...context, engine })([await payments.factOf(transfer, 'settled')])
  await inTransaction(context, (tx) =>
    advanceTransfers(tx, { ...context, logger }, [
      { id: transfer.id, type: 'transfer.canceled', failure: null, reference: null },
    ]),
  )
  const [exception] = await payments.exceptions({ transferId: transfer.id })
  expect(exception).toMatchObject({ kind: 'settled', reason: 'status_contradicted' })
  expect(logger.entries.map(({ fields }) => fields)).toContainEqual(
    expect.objectContaining({ factId: exception?.id, reason: 'status_contradicted' }),
  )
  expect(await dollars()).toBe(before + 100)
  await payments.resolve(exception?.id ?? '', 'dismiss')
  expect(await dollars()).toBe(before)
  await expectSoundLedger(context)
})
