import { testDatabase } from '@outlay/testing/vitest'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { changeOf, readBooks } from '../../test/books.ts'
import { inspect } from '../../test/inspection.ts'
import { modelRuns } from '../../test/model.ts'
import { sanctions, type TestPayments, testPayments } from '../../test/payments.ts'
import { observeComplete } from '../../test/reported-transfers.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { sampleBankAddress } from '../../test/service.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import { inTransaction, type ServiceContext } from '../context.ts'
import type { RailException } from '../rail-exceptions/rail-exceptions.ts'
import type { RailFact, RailFactListener } from '../rails/port.ts'
import { applyFacts } from './facts.ts'
import type { TransferResource } from './view.ts'

// A rail pays a payout, or draws a debit, several times, tries it again, or moves it in two parts and says the sum with the second one. It reports each of
// that in several words, by its id or by its IMAD, and what comes back with marks or without, retriable or not. A person compares the ledger with the bank. At each moment both agree, or something is open.

const { parameters, timeoutMs } = modelRuns(6)
const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let payments: TestPayments
let context: ServiceContext
let report: RailFactListener
let bankId: string
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '10000000' }])
  payments = testPayments(api)
  context = api.sandbox.service.context
  const options = context as { receivablePolicy?: string }
  options.receivablePolicy = 'allow'
  report = applyFacts(context)
  const body = { ...sampleBankAddress, transfer_types: ['ach_credit', 'ach_debit'] }
  bankId = (await api.call<{ id: string }>('POST', `/accounts/${api.accountId}/addresses/external`, { body })).body.id
})
afterAll(() => api.stop())

const which = fc.nat(2)
const inParts = fc.record({ do: fc.constant('settle a part' as const), isPolled: fc.boolean() })
const deciding = fc.record({ do: fc.constant('decide' as const), which })
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('send' as const) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('settle' as const), which }) },
  { weight: 1, arbitrary: inParts },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('settle the sum' as const), isMarked: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('repeat' as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reject' as const), which, retriable: fc.boolean() }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('return' as const),
      which,
      isMarked: fc.boolean(),
      isNamed: fc.boolean(),
      isPart: fc.boolean(),
      isRetriable: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('say again' as const), which, isLater: fc.boolean() }) },
  { weight: 4, arbitrary: deciding },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('poll' as const), hasAmount: fc.boolean() }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** A payment at the bank: on its way, paid with what of it came back, or gone without having moved. */
interface BankPayment {
  readonly at: number
  state: 'sent' | 'paid' | 'gone'
  paid: number
  back: number
}

const whole = 100
const part = 60

const again = 'in other words'
const usd = (value: number) => ({ value: String(value), currency: 'USD' })

/** A bank with one transfer, and the person who compares it with the ledger. */
class Bank {
  readonly flow: 'payout' | 'debit'
  readonly transfer: TransferResource
  readonly before: Awaited<ReturnType<typeof readBooks>>
  readonly all: BankPayment[] = []
  readonly returns: RailFact[] = []
  private readonly marking: 'id' | 'IMAD'
  private clock = 0
  isDivided = false

  constructor(
    [flow, marking]: readonly ['payout' | 'debit', 'id' | 'IMAD'],
    transfer: TransferResource,
    before: Awaited<ReturnType<typeof readBooks>>,
  ) {
    this.flow = flow
    this.marking = marking
    this.transfer = transfer
    this.before = before
  }

  /** What has moved and not come back, in dollars. */
  get net(): number {
    return this.all.reduce((sum, one) => sum + one.paid - one.back, 0)
  }

  time(): string {
    this.clock += 1
    return new Date(Date.UTC(2026, 1, 1) + this.clock * 3_600_000).toISOString()
  }

  mark({ at }: BankPayment): Partial<RailFact> {
    const name = `P${this.transfer.id}${at}`
    const leg = this.marking === 'id' ? { transactionId: name } : { paymentDetails: { imad: name } }
    return this.flow === 'payout' ? { destination: leg } : { source: leg }
  }

  async say(kind: RailFact['kind'], fields: Partial<RailFact>): Promise<RailFact> {
    const fact = await payments.factOf(this.transfer, kind, { amount: usd(100), ...fields })
    await vi.waitFor(async () => expect(await report([fact])).toEqual(new Set([fact.reference])), { timeout: 60_000 })
    return fact
  }

  /** The payment that has moved in part, or in two parts; `undefined` for none. It is the only one then. */
  get divided(): BankPayment | undefined {
    return this.isDivided ? this.all[0] : undefined
  }

  open = () => payments.exceptions({ transferId: this.transfer.id })

  /** What the ledger has, once the engine has delivered what was said. */
  async booked(): Promise<number> {
    const { id } = this.transfer
    const { rows } = await inspect(context.pool).query(
      `select kind, coalesce(payload #>> '{failure,retriable}', 'false') = 'true' as retriable from ${context.schema}.rail_fact
        where transfer_id = $1 and applied_at is not null order by id`,
      [id],
    )
    const said = rows.filter(({ kind }) => kind === 'settled' || kind === 'rejected' || kind === 'returned')
    if (said.some(({ retriable }) => !retriable))
      await vi.waitFor(
        async () => {
          const { status, failure } = await payments.read(id)
          expect(status === 'complete' || (status === 'failed' && failure?.retriable === false)).toBe(true)
        },
        { timeout: 60_000 },
      )
    const change = changeOf(this.before, await readBooks(api))['custodial USDC'] ?? 0
    const { status } = await payments.read(id)
    // What is held by a payout that is under way has not left.
    const isUnderWay = status === 'processing' || status === 'pending'
    if (this.flow === 'payout') return isUnderWay || change === 0 ? 0 : -change
    return change
  }
}

function pick(bank: Bank, index: number, states: readonly BankPayment['state'][]): BankPayment | undefined {
  const some = bank.all.filter(({ state }) => states.includes(state))
  return some.length === 0 ? undefined : some[index % some.length]
}

/** Who compares the bank with the ledger knows whose return it is, and asks whether it is a repeat. */
const returnReasons = ['disputed', 'other_transaction'] as const
const reasonsOf = ({ reason }: RailException) =>
  reason === 'possible_repeat' || reason === 'amount_mismatch' ? [reason] : []

/** Applies what brings the ledger nearer to the bank. True where something was applied. */
async function tryApply(bank: Bank, one: RailException): Promise<boolean> {
  // It is a repeat, and the report that it repeats is known.
  const { source } = one.payload as Pick<RailFact, 'source'>
  if (source?.paymentDetails?.senderName === again) return false
  const [booked, value] = [await bank.booked(), Number(one.amount?.value ?? 0)]
  const gap = bank.net - booked
  // Of what was settled in two parts, each comes back by itself.
  const isBack = bank.divided === undefined ? -gap >= value : -gap === value || -gap === bank.divided.paid
  const isPart = bank.divided?.paid === part && value === part && booked === whole
  const fits = one.kind === 'returned' ? isBack : one.kind === 'settled' && (gap >= value || isPart)
  if (!fits) return false
  try {
    await payments.resolve(
      one.id,
      'apply',
      one.kind === 'returned' ? { accepts: [...returnReasons, ...reasonsOf(one)] } : {},
    )
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: 'conflict' })
    return false
  }
}

const doing: { readonly [K in Step['do']]: (bank: Bank, given: Extract<Step, { do: K }>) => Promise<void> } = {
  async send(bank) {
    if (bank.all.length > 2 || bank.isDivided) return
    const one: BankPayment = { at: bank.all.length, state: 'sent', paid: 0, back: 0 }
    bank.all.push(one)
    await bank.say('accepted', { ...bank.mark(one), reachedAt: bank.time() })
  },
  async settle(bank, given) {
    const one = pick(bank, given.which, ['sent'])
    if (one === undefined) return
    Object.assign(one, { state: 'paid', paid: whole })
    await bank.say('settled', { ...bank.mark(one), reachedAt: bank.time() })
  },
  async 'settle a part'(bank, { isPolled }) {
    const [one, ...others] = bank.all
    if (one?.state !== 'sent' || others.length > 0) return
    bank.isDivided = true
    Object.assign(one, { state: 'paid', paid: part })
    // A poll that was admitted before had not seen that it is a part.
    if (isPolled) await inTransaction(context, (tx) => observeComplete(tx, api, bank.transfer.id))
    if (isPolled) await payments.reaches(bank.transfer.id, 'complete')
    await bank.say('settled', { amount: usd(part), ...bank.mark(one), reachedAt: bank.time() })
  },
  async 'settle the sum'(bank, { isMarked }) {
    const one = bank.divided
    if (one?.paid !== part || one.back > 0) return
    one.paid = whole
    await bank.say('settled', { ...(isMarked ? bank.mark(one) : {}), reachedAt: bank.time() })
  },
  async repeat(bank, given) {
    const one = pick(bank, given.which, ['sent', 'paid'])
    const kind = one?.state === 'sent' ? 'accepted' : 'settled'
    const amount = usd(kind === 'settled' ? (one?.paid ?? 0) : whole)
    if (one !== undefined) await bank.say(kind, { amount, ...bank.mark(one), reachedAt: bank.time() })
  },
  async reject(bank, given) {
    const one = pick(bank, given.which, ['sent'])
    if (one === undefined) return
    one.state = 'gone'
    const failure = { ...sanctions, retriable: given.retriable, occurredAt: bank.time() }
    await bank.say('rejected', { ...bank.mark(one), failure })
  },
  async return(bank, given) {
    const one = pick(bank, given.which, ['paid'])
    if (one === undefined || one.back === one.paid) return
    const isPart = one === bank.divided ? one.paid === whole : given.isPart
    const value = isPart && one.back === 0 ? whole - part : one.paid - one.back
    one.back += value
    // Before the end it would be tried again.
    const retriable = given.isRetriable && (await payments.read(bank.transfer.id)).status === 'complete'
    const failure = { ...sanctions, type: 'returned', occurredAt: bank.time(), retriable } as const
    const named = given.isNamed ? { returnReference: `R${bank.transfer.id}${bank.returns.length}` } : {}
    const marked = given.isMarked ? bank.mark(one) : {}
    bank.returns.push(await bank.say('returned', { amount: usd(value), failure, ...named, ...marked }))
  },
  async 'say again'(bank, given) {
    const one = bank.returns[given.which % Math.max(bank.returns.length, 1)]
    if (one === undefined || one.failure === null) return
    const failure = { ...one.failure, occurredAt: given.isLater ? bank.time() : one.failure.occurredAt }
    const paymentDetails = { ...one.source?.paymentDetails, senderName: again, traceNumber: '123456789012345' }
    const details = { paymentDetails }
    await bank.say('returned', { ...one, failure, source: { ...one.source, ...details } })
  },
  async decide(bank, given) {
    const open = await bank.open()
    const one = open[given.which % Math.max(open.length, 1)]
    if (one === undefined || (await tryApply(bank, one))) return
    // Who dismisses one has seen that the ledger has what the bank has.
    if (one.kind !== 'settled' && (await bank.booked()) === bank.net) await payments.resolve(one.id, 'dismiss')
  },
  async poll(bank, { hasAmount }) {
    const [paid, left] = [
      bank.all.some(({ state }) => state === 'paid'),
      bank.all.some(({ state }) => state === 'sent'),
    ]
    const isPart = bank.divided?.paid === part
    const moved = isPart ? part : whole
    const state = paid ? ('settled' as const) : ('accepted' as const)
    if (paid || left)
      await payments.poll(bank.transfer.id, {
        state,
        failure: null,
        amount: hasAmount || isPart ? usd(moved) : undefined,
      })
    // The engine ends it by an event of its own.
    if (paid && (await bank.open()).length === 0)
      await vi.waitFor(async () => expect((await payments.read(bank.transfer.id)).status).not.toBe('processing'), {
        timeout: 60_000,
      })
  },
}

/** The ledger has what the bank has, or a person has something to decide. */
async function agree(bank: Bank): Promise<void> {
  const open = await bank.open()
  if (open.length === 0) expect(await bank.booked()).toBe(bank.net)
}

/** The person decides about all that is open; what was paid beside the transfer goes back. */
async function finish(bank: Bank): Promise<void> {
  for (let rounds = 0; rounds < 30 && (await bank.booked()) !== bank.net; rounds += 1) {
    let isApplied = false
    for (const one of await bank.open()) isApplied = isApplied || (await tryApply(bank, one))
    if (isApplied) continue
    // What has begun to go back goes first: the ledger has the whole of another one.
    const left = bank.all.filter((one) => one.back < one.paid)
    const surplus = left.find(({ back }) => back > 0) ?? left[0]
    if (surplus === undefined || bank.net <= (await bank.booked())) break
    await doing.return(bank, {
      ...{ do: 'return', which: bank.all.filter(({ state }) => state === 'paid').indexOf(surplus) },
      ...{ isMarked: true, isNamed: true, isPart: false, isRetriable: false },
    })
  }
  expect(await bank.booked()).toBe(bank.net)
  for (const one of await bank.open()) await payments.resolve(one.id, 'dismiss')
  expect(await bank.booked()).toBe(bank.net)
}

it(
  'however often a rail pays, and whatever it says of that, the ledger has what the bank has, or something is open',
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.tuple(fc.constantFrom('payout' as const, 'debit' as const), fc.constantFrom('id' as const, 'IMAD' as const)),
        fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.tuple(inParts, deciding) }),
        fc.array(step, { minLength: 3, maxLength: 10, size: 'max' }),
        async ([flow, marking], first, then) => {
          const before = await readBooks(api)
          const ends = {
            payout: { source: wallet(), destination: bankLeg('ach_credit') },
            debit: { source: bankLeg('ach_debit'), destination: wallet() },
          }
          const body = { amount: usd(100), ...ends[flow] }
          const path = `/accounts/${api.accountId}/transfers`
          const { body: created } = await api.call<TransferResource>('POST', path, { body })
          const bank = new Bank([flow, marking], await payments.reaches(created.id, 'processing'), before)
          await doing.send(bank, { do: 'send' })
          for (const one of [...first, ...then]) {
            await (doing[one.do] as (bank: Bank, given: Step) => Promise<void>)(bank, one)
            await agree(bank)
          }
          await finish(bank)
          await expectSoundLedger(context)
        },
      ),
      parameters,
    ),
  timeoutMs,
)

const wallet = () => ({ address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' })
const bankLeg = (rail: string) => ({ address_id: bankId, value_type: 'USD', transfer_type: rail })
