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
// returned or canceled, with a mark or without, and polls say so late. What is credited of the wire, or held for it, is never more than the wire.

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

/** Two transfers, and the bank that has one wire for them. */
interface Bank {
  readonly both: readonly [TransferResource, TransferResource]
  readonly mark: Partial<RailFact>
  /** Which of them it was reported for by its mark. Without one nothing says which wire it is. */
  readonly isNamed: [boolean, boolean]
  /** What a poll has said of each, and was admitted. */
  readonly polled: [RailPayment['state'] | undefined, RailPayment['state'] | undefined]
  said: number
}

const say = async (bank: Bank, index: 0 | 1, kind: RailFact['kind'], hasMark: boolean) => {
  bank.said += 1
  const named = hasMark ? bank.mark : {}
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
    await say(bank, given.who, given.kind, hasMark)
  },
  end: (bank, given) => say(bank, given.who, given.kind, given.isMarked),
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

/** The service has what the engine says, but of a transfer that has lost its wire. */
async function settle(bank: Bank): Promise<void> {
  const isFinal = (status: string | undefined) => status !== undefined && !['pending', 'processing'].includes(status)
  for (const { id } of bank.both) {
    if (!isFinal((await context.engine.transfers.get(id))?.status)) continue
    await vi.waitFor(
      async () => {
        const { rows } = await inspect(context.pool).query(
          `select status, ${context.schema}.transfer_lost_wire(id) as is_lost from ${context.schema}.transfer where id = $1`,
          [id],
        )
        expect(rows[0]?.is_lost === true || isFinal(rows[0]?.status)).toBe(true)
      },
      { timeout: 60_000 },
    )
  }
}

it(
  'whoever a wire is given to, and whatever is said of the others, it is credited once',
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom(drawn, imad),
        fc.constantFrom(...([[], gift(0), gift(1), giftBack(true), giftBack(false)] as const)),
        fc.array(step, { minLength: 3, maxLength: 10, size: 'max' }),
        async (named, first, then) => {
          const before = await readBooks(api)
          const both = [await payments.wireOnramp('100.00'), await payments.wireOnramp('100.00')] as const
          const mark = named(`W${both[0].id}`)
          const bank: Bank = { both, mark, isNamed: [false, false], polled: [undefined, undefined], said: 0 }
          for (const one of [...first, ...then]) {
            await (doing[one.do] as (bank: Bank, given: Step) => Promise<void>)(bank, one)
            await settle(bank)
            const change = changeOf(before, await readBooks(api))
            expect(change['settlement USD'] ?? 0).toBeLessThanOrEqual(wire)
            expect(change['custodial USDC'] ?? 0).toBeLessThanOrEqual(wire)
          }
          for (const { id: transferId } of both)
            for (const { id } of await payments.exceptions({ transferId })) await payments.resolve(id, 'dismiss')
          const { 'settlement USD': held = 0, 'custodial USDC': credited = 0 } = changeOf(before, await readBooks(api))
          expect([held, [0, wire].includes(credited)]).toEqual([credited, true])
          await expectSoundLedger(context)
        },
      ),
      parameters,
    ),
  timeoutMs,
)
