import { testDatabase } from '@outlay/testing/vitest'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { changeOf, readBooks } from '../../test/books.ts'
import { modelRuns } from '../../test/model.ts'
import { sanctions, type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { sampleBankAddress } from '../../test/service.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { inTransaction } from '../context.ts'
import type { RailException } from '../rail-exceptions/rail-exceptions.ts'
import type { RailFact, RailFactListener } from '../rails/port.ts'
import { applyFacts } from './facts.ts'
import type { TransferResource } from './view.ts'

// A bank sends a payout, or collects a debit, as a whole or in part; parts come back and are paid again. It reports each of that several times, in other
// words, with a mark or without one, and persons apply each report that is held. In the end the ledger has what the bank has moved.

const { parameters, timeoutMs } = modelRuns(10)
const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let payments: TestPayments
let report: RailFactListener
let bankId: string
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '100000000' }])
  payments = testPayments(api)
  report = applyFacts(api.sandbox.service.context)
  const body = { ...sampleBankAddress, transfer_types: ['ach_credit', 'ach_debit'] }
  bankId = (await api.call<{ id: string }>('POST', `/accounts/${api.accountId}/addresses/external`, { body })).body.id
})
afterAll(() => api.stop())

const usd = (value: number) => ({ value: String(value), currency: 'USD' })
const day = (number: number) => new Date(Date.UTC(2026, 1, 1 + number, 12)).toISOString()
const flows = ['payout', 'debit'] as const
type Flow = (typeof flows)[number]

/** What happened at the bank: money moved, came back, or moved again. */
interface BankEvent {
  readonly at: number
  readonly kind: 'settled' | 'returned'
  readonly amount: number
  readonly mark: string
  /** True for a payment that is made again, which has the mark of the first one and says when. */
  readonly isTimed: boolean
  isBooked: boolean
}

const wording = fc.record({ isMarked: fc.boolean() })
const reports = fc.array(wording, { minLength: 1, maxLength: 3 })
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('return' as const), isPart: fc.boolean(), reports }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('pay again' as const),
      isPart: fc.boolean(),
      isTimed: fc.boolean(),
      reports,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('say again' as const), which: fc.nat(5), wording }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('decide' as const), which: fc.nat(3) }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** A bank with one payment. */
class Bank {
  readonly transfer: TransferResource
  readonly events: BankEvent[] = []
  private words = 0

  constructor(transfer: TransferResource) {
    this.transfer = transfer
  }

  get moved(): number {
    return this.events.reduce((sum, { kind, amount }) => sum + (kind === 'settled' ? amount : -amount), 0)
  }

  /** What came back and was not paid again. */
  get back(): number {
    return (this.events[0]?.amount ?? 0) - this.moved
  }

  happen(kind: BankEvent['kind'], amount: number, isTimed = false): BankEvent {
    const at = this.events.length
    const event = {
      at,
      kind,
      amount,
      mark: isTimed ? `${this.transfer.id} 0` : `${this.transfer.id} ${at}`,
      isTimed,
      isBooked: false,
    }
    this.events.push(event)
    return event
  }

  async say({ at, kind, amount, mark, isTimed }: BankEvent, { isMarked }: { isMarked: boolean }): Promise<void> {
    const paymentDetails = { senderName: `words ${this.words++} of ${at}` }
    const fact = await payments.factOf(this.transfer, kind, {
      amount: usd(amount),
      source: { paymentDetails },
      // One that has the mark of the first one is known by its time alone.
      ...(isMarked && kind === 'settled' ? { destination: { transactionId: mark } } : {}),
      ...(isTimed ? { reachedAt: day(at) } : {}),
      ...(kind === 'returned'
        ? { returnReference: mark, failure: { ...sanctions, type: 'returned', occurredAt: day(at) } }
        : {}),
    } as Partial<RailFact>)
    expect(await report([fact])).toEqual(new Set([fact.reference]))
  }

  eventOf({ payload }: RailException): BankEvent {
    const { source } = payload as Pick<RailFact, 'source'>
    return this.events[Number(source?.paymentDetails?.senderName?.split(' of ')[1])] as BankEvent
  }
}

async function create(flow: Flow): Promise<TransferResource> {
  const bank = (rail: string) => ({ address_id: bankId, value_type: 'USD', transfer_type: rail })
  const wallet = { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' }
  const ends =
    flow === 'payout'
      ? { source: wallet, destination: bank('ach_credit') }
      : { source: bank('ach_debit'), destination: wallet }
  const body = { amount: usd(100), ...ends }
  const { body: created } = await api.call<TransferResource>('POST', `/accounts/${api.accountId}/transfers`, { body })
  return await payments.reaches(created.id, 'processing')
}

/** A poll that was admitted before the facts came. */
async function complete({ transfer }: Bank): Promise<void> {
  const { context } = api.sandbox.service
  const reference = (await context.engine.transfers.get(transfer.id))?.remoteId ?? ''
  const observed = { remoteId: reference, status: 'complete', failure: null } as const
  await inTransaction(context, (tx) => context.engine.transfers.observe(tx, api.accountId, [observed]))
}

/** A person applies what is held, also another report of what is booked. What is refused, or a report of the first payment that is held for another, goes. */
async function decide(bank: Bank, which: number): Promise<void> {
  const open = await payments.exceptions({ transferId: bank.transfer.id })
  const one = open[which % Math.max(open.length, 1)]
  if (one === undefined) return
  const event = bank.eventOf(one)
  const isOfFirst = event.at === 0 && one.reason !== 'amount_mismatch'
  const accepts = event.isBooked ? [one.reason] : (['other_transaction', 'possible_repeat', 'amount_mismatch'] as const)
  const isApplied =
    !(isOfFirst && event.isBooked) &&
    (await payments.resolve(one.id, 'apply', { accepts }).then(
      () => true,
      (error) => {
        expect(error).toMatchObject({ code: 'conflict' })
        return false
      },
    ))
  if (isApplied) event.isBooked = true
  else {
    expect([event, one.reason]).toMatchObject([{ isBooked: true }, expect.any(String)])
    await payments.resolve(one.id, 'dismiss')
  }
}

/** Decides until what has happened is booked, and then about all that is open where that is asked for. */
async function settle(bank: Bank, isAll: boolean): Promise<void> {
  for (let rounds = 0; rounds < 40; rounds += 1) {
    const open = await payments.exceptions({ transferId: bank.transfer.id })
    const next = open.findIndex((one) => isAll || !bank.eventOf(one).isBooked)
    if (next < 0) break
    await decide(bank, next)
  }
  for (const event of bank.events) event.isBooked = true
}

const doing: { readonly [K in Step['do']]: (bank: Bank, given: Extract<Step, { do: K }>) => Promise<void> } = {
  async return(bank, { isPart, reports: said }) {
    await settle(bank, false)
    const amount = isPart ? Math.floor(bank.moved / 2) : bank.moved
    if (amount === 0) return
    const event = bank.happen('returned', amount)
    for (const one of said) await bank.say(event, one)
  },
  async 'pay again'(bank, { isPart, isTimed, reports: said }) {
    await settle(bank, false)
    const amount = isPart ? Math.floor(bank.back / 2) : bank.back
    if (amount === 0) return
    const event = bank.happen('settled', amount, isTimed)
    for (const one of said) await bank.say(event, one)
  },
  async 'say again'(bank, { which, wording: words }) {
    await settle(bank, false)
    const event = bank.events[which % bank.events.length]
    if (event !== undefined) await bank.say(event, words)
  },
  decide: (bank, { which }) => decide(bank, which),
}

it(
  'however often a bank reports what it has moved, and whichever reports persons apply, it is booked once',
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...flows),
        fc.record({ amount: fc.constantFrom(100, 60, 30), isPolled: fc.boolean(), reports }),
        fc.array(step, { minLength: 2, maxLength: 8, size: 'max' }),
        async (flow, first, then) => {
          const before = await readBooks(api)
          const bank = new Bank(await create(flow))
          const event = bank.happen('settled', first.amount)
          for (const one of first.reports) await bank.say(event, one)
          if (first.isPolled) await complete(bank)
          if (first.isPolled) await payments.reaches(bank.transfer.id, 'complete')
          await settle(bank, false)
          await payments.reaches(bank.transfer.id, 'complete')
          for (const one of then) await (doing[one.do] as (bank: Bank, given: Step) => Promise<void>)(bank, one)
          await settle(bank, true)
          const value = flow === 'payout' ? -bank.moved : bank.moved
          const books = { 'custodial USDC': value, 'issuer USDC': -value, 'settlement USD': value }
          const open = await payments.exceptions({ transferId: bank.transfer.id })
          expect([open, changeOf(before, await readBooks(api))]).toEqual([[], value === 0 ? {} : books])
          await expectSoundLedger(api.sandbox.service.context)
        },
      ),
      parameters,
    ),
  timeoutMs,
)
