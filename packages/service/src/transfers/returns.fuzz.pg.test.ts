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

const { parameters, timeoutMs } = modelRuns(8)
const database = await testDatabase({ role: 'ordinary' })
const funds = [{ valueType: 'USDC', transferType: 'base', amount: '100000000' }]
let a: TestSandbox
let b: TestSandbox
let payments: TestPayments
let others: TestPayments
let context: ServiceContext
beforeAll(async () => {
  a = await testSandbox(database.url, funds)
  b = await testSandbox(database.url, funds)
  payments = testPayments(a)
  others = testPayments(b)
  context = a.sandbox.service.context
})
afterAll(() => Promise.all([a.stop(), b.stop()]))

/** A part that came back: its amount, and the second in which it did. */
const part = fc.record({ amount: fc.constantFrom('1', '1', '2.5'), second: fc.integer({ min: 0, max: 59 }) })
type Part = typeof part extends fc.Arbitrary<infer T> ? T : never

/** Ways to report the same part. All but the last five say the same; those are of a rail that is out of order. */
const wordings = {
  plain: (fact) => fact,
  detail: (fact) => failing(fact, { detail: 'Other\0 words\ud800' }),
  spelling: (fact) => ({ ...fact, amount: { ...fact.amount, value: `${Number(fact.amount.value).toFixed(4)}` } }),
  zone: (fact) => failing(fact, { occurredAt: inZone(fact.failure?.occurredAt ?? '') }),
  sender: (fact) => ({ ...fact, source: { ...fact.source, paymentDetails: { senderName: '\udc00\0' } } }),
  day: (fact) => failing(fact, { occurredAt: '2026-01-05T00:00:00Z' }),
  minute: (fact) => failing(fact, { occurredAt: '2026-01-05T14:30:00Z' }),
  code: (fact) => failing(fact, { code: 'R\0' }),
  trace: (fact) => ({ ...fact, source: { ...fact.source, paymentDetails: { traceNumber: '1' } } }),
  unnamed: (fact) => ({ ...fact, source: null }) as unknown as RailFact,
} satisfies Record<string, (fact: RailFact) => RailFact>

const failing = (fact: RailFact, fields: object): RailFact => ({
  ...fact,
  failure: fact.failure && { ...fact.failure, ...fields },
})
const inZone = (time: string) => new Date(Date.parse(time) + 16.5 * 3_600_000).toISOString().replace('Z', '+16:30')

/** What no port describes. */
const nonsense = fc.constantFrom<((fact: RailFact) => unknown)[]>(
  () => null,
  () => 'a fact',
  (fact) => ({ ...fact, reference: `${fact.reference}\0` }),
  (fact) => ({ ...fact, amount: { ...fact.amount, value: '-1' } }),
  (fact) => failing(fact, { occurredAt: '0000-01-01T00:00:00Z' }),
  (fact) => ({ ...fact, amount: 1n }),
)

const saying = fc.record({
  part: fc.nat({ max: 4 }),
  wording: fc.constantFrom(...(Object.keys(wordings) as (keyof typeof wordings)[])),
  nonsense: fc.option(nonsense, { freq: 3 }),
})

/** Reports a batch as a rail does: again, until all of it is accepted. */
async function report(batch: readonly RailFact[]): Promise<void> {
  const listen = applyFacts(context)
  for (let left = batch; left.length > 0; ) {
    const accepted = await listen(left)
    left = left.filter((fact) => !accepted.has(fact?.reference))
  }
}

async function completed(): Promise<TransferResource> {
  const transfer = await payments.payout()
  await report([await payments.factOf(transfer, 'settled')])
  return await payments.reaches(transfer.id, 'complete')
}

const factOf = (transfer: TransferResource, { amount, second }: Part) =>
  payments.factOf(transfer, 'returned', {
    amount: { value: amount, currency: 'USDC' },
    failure: { ...sanctions, type: 'returned', occurredAt: `2026-01-05T14:30:${String(second).padStart(2, '0')}.500Z` },
    source: { transactionId: `0x${second}` },
  })

const unfinished = async () => {
  const { rows } = await inspect(context.pool).query(
    `select kind, reference from ${context.schema}.rail_fact where (applied_at is null) = (exception_reason is null)`,
  )
  return rows
}

it(
  'parts that came back are credited at most once each, whatever is said of them, and nobody else waits',
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(part, { minLength: 1, maxLength: 5, selector: ({ second }) => second }),
        fc.array(fc.array(saying, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 6 }),
        async (parts, batches) => {
          const [transfer, other] = [await completed(), await others.payout()]
          const before = await payments.balance()
          const beside = await others.factOf(other, 'settled')
          const [reported, exact] = [new Set<Part>(), new Set<Part>()]
          const facts: RailFact[][] = []
          for (const batch of batches) {
            const said: RailFact[] = [beside]
            for (const { part: at, wording, nonsense: change } of batch) {
              const one = parts[at % parts.length] as Part
              const fact = await factOf(transfer, one)
              if (change === null) reported.add(one)
              if (change === null && wording === 'plain') exact.add(one)
              said.push(change === null ? wordings[wording](fact) : (change(fact) as RailFact))
            }
            facts.push(said)
          }
          // Another process reports the batch before it once more meanwhile.
          for (const [at, batch] of facts.entries()) await Promise.all([report(batch), report(facts[at - 1] ?? [])])

          await others.reaches(other.id, 'complete')
          expect(await unfinished()).toEqual([])
          const credited = Math.round(((await payments.balance()) - before) * 100)
          const dueFor = (some: ReadonlySet<Part>) =>
            [...some].reduce((sum, { amount }) => sum + Number(amount) * 100, 0)
          const open = await payments.exceptions({ transferId: transfer.id })
          expect(credited).toBeLessThanOrEqual(dueFor(reported))
          // Parts that are reported without their transaction may seem the same; those with it never do.
          expect(credited >= dueFor(exact) || open.length > 0).toBe(true)
          const { returns = [] } = await payments.read(transfer.id)
          expect(returns.reduce((sum, { amount }) => sum + Number(amount.value) * 100, 0)).toBe(credited)
          await expectSoundLedger(context)
        },
      ),
      parameters,
    ),
  timeoutMs,
)
