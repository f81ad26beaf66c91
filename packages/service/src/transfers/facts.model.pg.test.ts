import { testDatabase } from '@outlay/testing/vitest'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { modelRuns } from '../../test/model.ts'
import { sanctions, type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import type { ServiceContext } from '../context.ts'
import type { RailFact } from '../rails/port.ts'
import { applyFacts } from './facts.ts'
import type { TransferResource } from './view.ts'

const { parameters, timeoutMs } = modelRuns(6)
const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let payments: TestPayments
let context: ServiceContext
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '100000000' }])
  payments = testPayments(api)
  context = api.sandbox.service.context
})
afterAll(() => api.stop())

/** What a rail says of one of three payouts; `flaw` is what is wrong with it. */
const saying = fc.record({
  payout: fc.integer({ min: 0, max: 2 }),
  kind: fc.constantFrom('accepted' as const, 'settled' as const, 'rejected' as const, 'returned' as const),
  flaw: fc.constantFrom(
    ...(['none', 'none', 'none', 'account', 'reference', 'amount', 'transfer', 'unreadable'] as const),
  ),
})
type Saying = typeof saying extends fc.Arbitrary<infer T> ? T : never

const flaws: Readonly<Record<Saying['flaw'], (fact: RailFact) => RailFact>> = {
  none: (fact) => fact,
  account: (fact) => ({ ...fact, accountId: api.otherAccountId }),
  reference: (fact) => ({ ...fact, reference: `other-${fact.reference}` }),
  amount: (fact) => ({ ...fact, amount: { ...fact.amount, value: '7000' } }),
  transfer: (fact) => ({ ...fact, transferId: '0'.repeat(26) }),
  unreadable: (fact) => ({ ...fact, amount: { ...fact.amount, value: '-1' } }),
}

interface StoredFact {
  readonly kind: string
  readonly transfer_id: string | null
  readonly applied: boolean
  readonly reason: string | null
}

const factsSince = async (time: Date): Promise<readonly StoredFact[]> => {
  const { rows } = await inspect(context.pool).query(
    `select kind, transfer_id, applied_at is not null as applied, exception_reason as reason
       from ${context.schema}.rail_fact where received_at >= $1 order by id`,
    [time],
  )
  return rows
}

/** Reports a batch as a rail does: again, until all of it is accepted. */
async function report(batch: readonly RailFact[]): Promise<void> {
  const listen = applyFacts(context)
  for (let left = batch; left.length > 0; ) {
    const accepted = await listen(left)
    left = left.filter(({ reference }) => !accepted.has(reference))
  }
}

/** What a payout moved for good, in cents. */
async function movedBy({ id }: TransferResource, facts: readonly StoredFact[]): Promise<number> {
  const applied = facts.filter((fact) => fact.transfer_id === id && fact.applied).map(({ kind }) => kind)
  const [end] = applied.filter((kind) => kind !== 'accepted')
  if (end === undefined) {
    expect((await payments.read(id)).status).toBe('processing')
    return 0
  }
  const { returns = [] } = await payments.reaches(id, end === 'settled' ? 'complete' : 'failed')
  expect(returns).toHaveLength(end === 'settled' && applied.includes('returned') ? 1 : 0)
  return end === 'settled' && returns.length === 0 ? 666_004 : 0
}

const cents = async () => Math.round((await payments.balance()) * 100)

it(
  'whatever rails say, in whatever order and however often, each fact is stored once, has an outcome, and no money appears or vanishes',
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(saying, { minLength: 1, maxLength: 4 }), { maxLength: 8 }),
        async (batches) => {
          const payouts = [await payments.payout(), await payments.payout(), await payments.payout()]
          const [before, since] = [await cents(), new Date()]
          const batchOf = (said: readonly Saying[]) =>
            Promise.all(
              said.map(async ({ payout, kind, flaw }) => {
                const fact = await payments.factOf(payouts[payout] as TransferResource, kind)
                return flaws[flaw](
                  fact.failure === null ? fact : { ...fact, failure: { ...sanctions, type: 'returned' } },
                )
              }),
            )
          const facts = await Promise.all(batches.map(batchOf))
          for (const [index, batch] of facts.entries()) {
            // Another process reports the batch before it once more meanwhile.
            await Promise.all([report(batch), report(facts[index - 1] ?? [])])
          }
          const stored = await factsSince(since)
          expect(stored).toHaveLength(new Set(facts.flat().map((fact) => JSON.stringify(fact))).size)
          expect(stored.filter(({ applied, reason }) => applied === (reason !== null))).toEqual([])
          let moved = 0
          for (const payout of payouts) moved += await movedBy(payout, stored)
          expect(await cents()).toBe(before - moved)
          await expectSoundLedger(context)
        },
      ),
      parameters,
    ),
  timeoutMs,
)
