import { drain } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { changeOf, readBooks } from '../../test/books.ts'
import { inspect } from '../../test/inspection.ts'
import { modelRuns } from '../../test/model.ts'
import { sanctions, type TestPayments, testPayments } from '../../test/payments.ts'
import { at, back, drawn, imad, words } from '../../test/reported-transfers.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { inTransaction, type ServiceContext } from '../context.ts'
import { createPolledTransfers } from '../rail-facts/polled-transfers.ts'
import type { RailFact, RailFactListener, RailPayment } from '../rails/port.ts'
import { cancelTransferWithoutWire } from './cancellation.ts'
import { applyFacts } from './facts.ts'
import type { TransferResource } from './view.ts'

// A bank has one wire, and reports it for two transfers. Persons give it to one, to the other, and back, while their rails say that they are paid, rejected,
// returned or canceled, with a mark or without, and polls say so late. Either transfer may get a wire of its own. What is credited of the wires, or held for them, is never more than they are,
// and what has settled completes its transfer.

const { parameters, timeoutMs } = modelRuns(10)
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

const wire = 100
const who = fc.constantFrom(0 as const, 1 as const)
const isMarked = fc.boolean()
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('arrive' as const),
      who,
      isMarked,
      kind: fc.constantFrom('accepted' as const, 'settled' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('arrive alone' as const),
      who,
      kind: fc.constantFrom('accepted' as const, 'settled' as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      who,
      isMarked,
      kind: fc.constantFrom('rejected' as const, 'returned' as const, 'canceled' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('poll' as const),
      who,
      state: fc.constantFrom('settled' as const, 'returned' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('deliver the poll' as const), who }) },
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constant('decide' as const),
      who,
      which: fc.nat(3),
      action: fc.constantFrom('apply' as const, 'apply' as const, 'apply' as const, 'dismiss' as const),
      acceptsAll: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), who }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const gift = (to: 0 | 1): readonly Step[] => [
  { do: 'arrive', who: to === 0 ? 1 : 0, isMarked: true, kind: 'accepted' },
  { do: 'arrive', who: to, isMarked: true, kind: 'accepted' },
  { do: 'decide', who: to, which: 0, action: 'apply', acceptsAll: false },
]

/** Given back by a settlement. */
const giftBack = (marked: boolean): readonly Step[] => [
  ...gift(1),
  { do: 'arrive', who: 0, isMarked: marked, kind: 'settled' },
  { do: 'decide', who: 0, which: 1, action: 'apply', acceptsAll: false },
]

/** A poll that was admitted before completes the first transfer in the engine, and it has no wire here. */
const completedBefore: readonly Step[] = [
  { do: 'arrive', who: 0, isMarked: true, kind: 'accepted' },
  { do: 'poll', who: 0, state: 'settled' },
  ...gift(1).slice(1),
  { do: 'deliver the poll', who: 0 },
  { do: 'arrive alone', who: 0, kind: 'settled' },
]

/** Two transfers, and the bank that has one wire for them, and maybe one more for each. */
interface Bank {
  readonly both: readonly [TransferResource, TransferResource]
  readonly mark: Partial<RailFact>
  /** The marks of the wires that are reported for one of them alone. */
  readonly own: readonly [Partial<RailFact>, Partial<RailFact>]
  /** Which of those have arrived. */
  readonly isOwn: [boolean, boolean]
  /** Which of them it was reported for by its mark. Without one nothing says which wire it is. */
  readonly isNamed: [boolean, boolean]
  /** What a poll has said of each, and was admitted. */
  readonly polled: [RailPayment['state'] | undefined, RailPayment['state'] | undefined]
  said: number
}

const say = async (bank: Bank, index: 0 | 1, kind: RailFact['kind'], named: Partial<RailFact>) => {
  bank.said += 1
  const source = {
    ...named.source,
    paymentDetails: { ...named.source?.paymentDetails, ...words(`${bank.said}`).source?.paymentDetails },
  }
  const times =
    kind === 'returned' || kind === 'rejected' ? back(1 + (bank.said % 8), { type: kind }) : at(1 + (bank.said % 8))
  const fact = await payments.factOf(bank.both[index], kind, {
    amount: { value: String(wire), currency: 'USD' },
    ...times,
    source,
  })
  await vi.waitFor(async () => expect(await report([fact])).toEqual(new Set([fact.reference])), { timeout: 60_000 })
}

const accepts = [
  'amount_mismatch',
  'other_transaction',
  'possible_repeat',
  'reference_reused',
  'disputed',
  'reused_mark',
] as const
const isConflict = (error: unknown) =>
  expect(error).toMatchObject({ code: expect.stringMatching('conflict|transfer_not_cancelable') })

const doing: { readonly [K in Step['do']]: (bank: Bank, given: Extract<Step, { do: K }>) => Promise<void> } = {
  async arrive(bank, given) {
    const hasMark = given.isMarked || !bank.isNamed[given.who]
    bank.isNamed[given.who] = true
    await say(bank, given.who, given.kind, hasMark ? bank.mark : {})
  },
  async 'arrive alone'(bank, given) {
    bank.isOwn[given.who] = true
    await say(bank, given.who, given.kind, bank.own[given.who])
  },
  end: (bank, given) => say(bank, given.who, given.kind, given.isMarked ? bank.mark : {}),
  async poll(bank, { who: index, state }) {
    const { id } = bank.both[index]
    const reference = (await context.engine.transfers.get(id))?.remoteId ?? ''
    const failure = state === 'returned' ? ({ ...sanctions, type: 'returned' } as const) : null
    const said = { reference, state, failure, amount: { value: String(wire), currency: 'USD' } }
    const admitted = await createPolledTransfers(context).admit(id, said)
    bank.polled[index] = admitted.state === state ? state : undefined
  },
  async 'deliver the poll'(bank, { who: index }) {
    const state = bank.polled[index]
    if (state === undefined) return
    bank.polled[index] = undefined
    const remoteId = (await context.engine.transfers.get(bank.both[index].id))?.remoteId ?? ''
    const failure = { ...sanctions, type: 'returned' } as const
    const observed =
      state === 'settled' ? ({ status: 'complete', failure: null } as const) : ({ status: 'failed', failure } as const)
    await inTransaction(context, (tx) =>
      context.engine.transfers.observe(tx, api.accountId, [{ remoteId, ...observed }]),
    )
  },
  async decide(bank, { who: index, which, action, acceptsAll }) {
    const open = await payments.exceptions({ transferId: bank.both[index].id })
    const one = open[which % Math.max(open.length, 1)]
    const markOwners = bank.both.map(({ id }) => id)
    const more = acceptsAll && action === 'apply' ? { accepts, markOwners } : {}
    if (one !== undefined) await payments.resolve(one.id, action, more).catch(isConflict)
  },
  async cancel(bank, { who: index }) {
    const { id } = bank.both[index]
    await inTransaction(context, (tx) => cancelTransferWithoutWire(tx, context, id)).catch(isConflict)
  },
}

/** The service has what the engine says, but of a transfer that has lost its wire, and for which none has settled since. */
async function settle(bank: Bank): Promise<void> {
  const isFinal = (status: string | undefined) => status !== undefined && !['pending', 'processing'].includes(status)
  await drain(context.engine, { until: ({ undelivered }) => undelivered === 0 })
  for (const { id } of bank.both) {
    if (!isFinal((await context.engine.transfers.get(id))?.status)) continue
    const { rows } = await inspect(context.pool).query(
      `select t.status, exists (
         select from ${context.schema}.rail_fact f where f.transfer_id = t.id and f.payload ? 'lostAt'
       ) and not exists (
         select from ${context.schema}.rail_fact f where f.transfer_id = t.id and f.kind = 'settled' and f.applied_at is not null
       ) as is_lost from ${context.schema}.transfer t where t.id = $1`,
      [id],
    )
    expect(rows[0]?.is_lost === true || isFinal(rows[0]?.status)).toBe(true)
  }
}

it(
  'whoever a wire is given to, and whatever is said of the others, it is credited once',
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom(drawn, imad),
        fc.constantFrom(...([[], gift(0), gift(1), giftBack(true), giftBack(false), completedBefore] as const)),
        fc.array(step, { minLength: 3, maxLength: 10, size: 'max' }),
        async (named, first, then) => {
          const before = await readBooks(api)
          const both = [await payments.wireOnramp('100.00'), await payments.wireOnramp('100.00')] as const
          const mark = named(`W${both[0].id}`)
          const own = [named(`B${both[0].id}`), named(`B${both[1].id}`)] as const
          const isOwn: [boolean, boolean] = [false, false]
          const polled: Bank['polled'] = [undefined, undefined]
          const bank: Bank = { both, mark, own, isOwn, isNamed: [false, false], polled, said: 0 }
          const most = () => wire * (1 + isOwn.filter((has) => has).length)
          for (const one of [...first, ...then]) {
            await (doing[one.do] as (bank: Bank, given: Step) => Promise<void>)(bank, one)
            await settle(bank)
            const change = changeOf(before, await readBooks(api))
            expect(change['settlement USD'] ?? 0).toBeLessThanOrEqual(most())
            expect(change['custodial USDC'] ?? 0).toBeLessThanOrEqual(most())
          }
          for (const { id: transferId } of both)
            for (const { id } of await payments.exceptions({ transferId })) await payments.resolve(id, 'dismiss')
          const { 'settlement USD': held = 0, 'custodial USDC': credited = 0 } = changeOf(before, await readBooks(api))
          expect([held, credited % wire, credited <= most()]).toEqual([credited, 0, true])
          await expectSoundLedger(context)
        },
      ),
      parameters,
    ),
  timeoutMs,
)
