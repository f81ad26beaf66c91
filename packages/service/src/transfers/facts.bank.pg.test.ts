import { testDatabase } from '@outlay/testing/vitest'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { changeOf, readBooks } from '../../test/books.ts'
import { inspect } from '../../test/inspection.ts'
import { modelRuns } from '../../test/model.ts'
import { sanctions, type TestPayments, testPayments } from '../../test/payments.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import type { ServiceContext } from '../context.ts'
import type { RailException } from '../rail-exceptions/rail-exceptions.ts'
import type { RailFact, RailFactListener } from '../rails/port.ts'
import { applyFacts } from './facts.ts'
import type { TransferResource } from './view.ts'

// A bank gets wires for one transfer: of any amount, with marks of any kind, several of them, in any order with their returns and with what persons
// decide. It reports some of them for another transfer as well, and settles several as their sum. In the end the settlement account has what the bank has, and the client has the tokens of what its transfer was credited.

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

const markings = ['transaction', 'imad', 'both', 'none'] as const
const amounts = ['100.00', '100.00', '90.00', '110.00'] as const
const parts = ['60.00', '40.00'] as const

/** A payment at the bank. */
interface BankPayment {
  readonly at: number
  readonly amount: string
  readonly source?: RailFact['source']
  readonly marking: (typeof markings)[number]
  isBack: boolean
}

const arrival = fc.record({
  do: fc.constant('arrive' as const),
  amount: fc.constantFrom(...amounts),
  marking: fc.constantFrom(...markings),
})
const arrivalInParts = fc.record({
  do: fc.constant('arrive in parts' as const),
  markings: fc.tuple(fc.constantFrom(...markings), fc.constantFrom(...markings)),
})
const decision = { which: fc.nat(3), action: fc.constantFrom('apply' as const, 'dismiss' as const) }
const state = fc.constantFrom('accepted' as const, 'settled' as const, 'returned' as const)
const step = fc.oneof(
  { weight: 5, arbitrary: arrival },
  { weight: 1, arbitrary: arrivalInParts },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('repeat' as const), which: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('report elsewhere' as const), which: fc.nat(3) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('settle' as const), isAwaited: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('sum up' as const), which: fc.nat(1), isMarked: fc.boolean() }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('return' as const), which: fc.nat(3), isMarked: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('decide' as const), ...decision }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('reject' as const, 'cancel' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('poll' as const), state }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** A bank with one transfer, and the persons who know what it has. */
class Bank {
  readonly transfer: TransferResource
  /** The transfer that the bank confuses with it. */
  readonly elsewhere: TransferResource
  readonly all: BankPayment[] = []
  private words = 0

  constructor(transfer: TransferResource, elsewhere: TransferResource) {
    this.transfer = transfer
    this.elsewhere = elsewhere
  }

  arrived(which: number): BankPayment | undefined {
    return this.all.length === 0 ? undefined : this.all[which % this.all.length]
  }

  async say(
    kind: RailFact['kind'],
    one: BankPayment,
    fields: Partial<RailFact> = {},
    transfer = this.transfer,
  ): Promise<void> {
    const details = { ...one.source?.paymentDetails, senderName: `words ${this.words++} of ${one.at}` }
    const source = { ...one.source, paymentDetails: details }
    const fact = await payments.factOf(transfer, kind, { amount: usd(one.amount), source, ...fields })
    await vi.waitFor(async () => expect(await report([fact])).toEqual(new Set([fact.reference])), { timeout: 60_000 })
  }

  /** The payment that the transfer was funded by; `undefined` for none. */
  async funding(): Promise<BankPayment | undefined> {
    const { rows } = await inspect(context.pool).query(
      `select payload #>> '{source,paymentDetails,senderName}' as words from ${context.schema}.rail_fact
        where transfer_id = $1 and kind in ('accepted', 'settled') and applied_at is not null order by id limit 1`,
      [this.transfer.id],
    )
    return rows[0] && this.all[Number(rows[0].words.split(' of ')[1])]
  }

  /** How many ledger entries the reports of a payment have. */
  async bookedOf(at: number): Promise<number> {
    const { schema } = context
    const { rowCount } = await inspect(context.pool).query(
      `select from ${schema}.rail_fact f join ${schema}.ledger_entry e on e.posting_id = f.id
        where f.transfer_id = $1 and f.payload #>> '{source,paymentDetails,senderName}' like $2`,
      [this.transfer.id, `% of ${at}`],
    )
    return rowCount ?? 0
  }

  paymentOf({ payload }: RailException): BankPayment | undefined {
    const { source } = payload as Pick<RailFact, 'source'>
    return this.all[Number(source?.paymentDetails?.senderName?.split(' of ')[1])]
  }
}

const usd = (value: string) => ({ value, currency: 'USD' })
const sumOf = (payments: readonly BankPayment[]) => payments.reduce((sum, { amount }) => sum + Number(amount), 0)
const hasEndedWithout = async (bank: Bank) => ['failed', 'canceled'].includes(await status(bank))
const status = async ({ transfer }: Bank) => (await payments.read(transfer.id)).status

/** A bank gives each payment marks of its own, or none; without one, it is known by its amount alone. */
function arrive(bank: Bank, amount: string, marking: (typeof markings)[number]): BankPayment | undefined {
  const at = bank.all.length
  const isNamed = marking !== 'none'
  // Nothing distinguishes money without a mark from other money of its amount.
  if (bank.all.some((one) => (one.marking === 'none' || !isNamed) && one.amount === amount)) return undefined
  const transactionId = marking === 'transaction' || marking === 'both' ? `T${bank.transfer.id}${at}` : undefined
  const imad = marking === 'imad' || marking === 'both' ? `M${bank.transfer.id}${at}` : undefined
  const one = { at, amount, marking, source: { transactionId, paymentDetails: { imad } }, isBack: false }
  bank.all.push(one)
  return one
}

/** Who knows whose return it is accepts it, though it may be that of another payment. */
const acceptsOf = ({ kind, reason }: RailException, action: 'apply' | 'dismiss') => {
  const more = reason === 'amount_mismatch' || reason === 'possible_repeat' ? [reason] : []
  return kind === 'returned' && action === 'apply'
    ? { accepts: ['disputed', 'other_transaction', ...more] as const }
    : {}
}

async function decide(bank: Bank, which: number, action: 'apply' | 'dismiss'): Promise<void> {
  const open = await payments.exceptions({ transferId: bank.transfer.id })
  const one = open[which % Math.max(open.length, 1)]
  const paid = one && bank.paymentOf(one)
  if (one === undefined || paid === undefined) return
  const funding = await bank.funding()
  // Who applies a return knows whose it is, and who credits money knows that the bank still has it.
  if (action === 'apply' && (one.kind === 'returned' ? paid !== funding : paid.isBack)) return
  // Who dismisses a return has seen that it is not that of the transfer.
  if (action === 'dismiss' && one.kind === 'returned' && paid === funding) return
  const isDone = await payments.resolve(one.id, action, acceptsOf(one, action)).then(
    () => true,
    (error) => {
      expect(error).toMatchObject({ code: 'conflict' })
      return false
    },
  )
  if (!isDone || action === 'apply' || one.kind === 'returned') return
  if (paid !== funding || (await hasEndedWithout(bank))) await sendBack(bank, paid)
}

/** What a person dismisses goes back, without a word or with one. */
async function sendBack(bank: Bank, one: BankPayment): Promise<void> {
  if (one.isBack) return
  one.isBack = true
  if (one.at % 2 === 0) await bank.say('returned', one, { returnReference: `sent back ${one.at}` })
}

const doing: { readonly [K in Step['do']]: (bank: Bank, given: Extract<Step, { do: K }>) => Promise<void> } = {
  async arrive(bank, { amount, marking }) {
    const one = arrive(bank, amount, marking)
    if (one !== undefined) await bank.say('accepted', one)
  },
  async 'arrive in parts'(bank, given) {
    for (const [at, amount] of parts.entries()) {
      const one = arrive(bank, amount, given.markings[at] ?? 'none')
      if (one !== undefined) await bank.say('accepted', one)
    }
  },
  async repeat(bank, { which }) {
    const one = bank.arrived(which)
    if (one !== undefined && !one.isBack) await bank.say('accepted', one)
  },
  async 'report elsewhere'(bank, { which }) {
    const one = bank.arrived(which)
    // Nothing says of money without a mark that another transfer has it.
    if (one === undefined || one.marking === 'none') return
    await bank.say('accepted', one, {}, bank.elsewhere)
    const open = await payments.exceptions({ transferId: bank.elsewhere.id })
    expect(open.map(({ reason, payload }) => [reason, payload['markOwner']])).toEqual([
      ['reused_mark', bank.transfer.id],
    ])
    await payments.resolve(open[0]?.id ?? '', 'dismiss')
  },
  async settle(bank, { isAwaited }) {
    const one = await bank.funding()
    if (one === undefined || one.isBack || (await hasEndedWithout(bank))) return
    await bank.say('settled', one)
    if (isAwaited && (await bank.funding()) === one)
      await vi.waitFor(async () => expect(await status(bank)).not.toBe('pending'), { timeout: 60_000 })
  },
  async 'sum up'(bank, { which, isMarked }) {
    const [first, second] = parts.map((part) => bank.all.findLast(({ amount, isBack }) => amount === part && !isBack))
    if (first === undefined || second === undefined) return
    const amount = sumOf([first, second]).toFixed(2)
    // Nothing distinguishes money without a mark from other money of its amount.
    if (bank.all.some((one) => one.marking === 'none' && one.amount === amount)) return
    const { source } = which === 0 ? first : second
    // No payment is the sum of others, so persons find none that it is about.
    await bank.say('settled', { ...first, at: -1, amount, source: isMarked ? source : undefined })
    expect(await bank.bookedOf(-1)).toBe(0)
  },
  async return(bank, { which, isMarked }) {
    const one = bank.arrived(which)
    if (one === undefined || one.isBack) return
    one.isBack = true
    const words = { paymentDetails: { senderName: `unnamed of ${one.at}` } }
    await bank.say('returned', one, { returnReference: `back ${one.at}`, ...(isMarked ? {} : { source: words }) })
  },
  decide: (bank, { which, action }) => decide(bank, which, action),
  async reject(bank) {
    const one = bank.arrived(0)
    if (one !== undefined) await bank.say('rejected', one, { failure: sanctions })
  },
  async cancel(bank) {
    await api.call('POST', `/accounts/${api.accountId}/transfers/${bank.transfer.id}/cancel`, { body: {} })
  },
  async poll(bank, { state }) {
    // A state has no marks: it says what became of one of them.
    const back = bank.all.findLast(({ isBack }) => isBack)
    if (state === 'returned' && back !== undefined) {
      const failure = { ...sanctions, type: 'returned' } as const
      await payments.poll(bank.transfer.id, { state, failure, amount: usd(back.amount) })
    }
    if (state === 'returned') return
    const one = await bank.funding()
    if (one !== undefined && !one.isBack)
      await payments.poll(bank.transfer.id, { state, failure: null, amount: usd(one.amount) })
  },
}

/** The engine has delivered the end that a fact says. */
async function endsAsSaid(bank: Bank): Promise<void> {
  const { rowCount } = await inspect(context.pool).query(
    `select from ${context.schema}.rail_fact
      where transfer_id = $1 and kind in ('settled', 'rejected', 'returned') and applied_at is not null`,
    [bank.transfer.id],
  )
  const isUnderWay = async () => ['pending', 'processing'].includes(await status(bank))
  if (rowCount !== 0) await vi.waitFor(async () => expect(await isUnderWay()).toBe(false), { timeout: 60_000 })
}

/** Persons send back what was not credited, and decide about all that is open; then the transfer ends. */
async function finish(bank: Bank): Promise<void> {
  await endsAsSaid(bank)
  for (let rounds = 0; rounds < 40; rounds += 1) {
    const [one] = await payments.exceptions({ transferId: bank.transfer.id })
    if (one === undefined) break
    const [paid, funding] = [bank.paymentOf(one), await bank.funding()]
    // A report of the payment that was credited waits only since there was another one.
    const isOwnReport = one.reason === 'disputed' && paid === funding && paid?.isBack === false
    const isOwnReturn = one.kind === 'returned' && paid === funding
    const isOwn = isOwnReturn || isOwnReport
    const applied = isOwn
      ? await payments.resolve(one.id, 'apply', acceptsOf(one, 'apply')).catch(() => undefined)
      : undefined
    if (applied !== undefined) {
      await endsAsSaid(bank)
      continue
    }
    await payments.resolve(one.id, 'dismiss')
    if (paid === undefined || one.kind === 'returned') continue
    if (paid !== funding || (await hasEndedWithout(bank))) paid.isBack = true
  }
  const funding = await bank.funding()
  const now = await status(bank)
  if (funding !== undefined && !funding.isBack && ['pending', 'processing'].includes(now)) {
    await bank.say('settled', funding)
    for (const one of await payments.exceptions({ transferId: bank.transfer.id }))
      await payments.resolve(one.id, one.reason === 'disputed' ? 'apply' : 'dismiss')
    await payments.reaches(bank.transfer.id, 'complete')
  }
}

it(
  'whatever arrives at a bank, goes back and is decided, the ledger has in the end what the bank has',
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.tuple(arrival, arrival), fc.tuple(arrivalInParts)),
        fc.array(step, { minLength: 3, maxLength: 9, size: 'max' }),
        async (first, then) => {
          const before = await readBooks(api)
          const bank = new Bank(await payments.wireOnramp('100.00'), await payments.wireOnramp('100.00'))
          for (const one of [...first, ...then])
            await (doing[one.do] as (bank: Bank, given: Step) => Promise<void>)(bank, one)
          await finish(bank)
          const kept = sumOf(bank.all.filter(({ isBack }) => !isBack))
          const open = await payments.exceptions({ transferId: bank.transfer.id })
          const tokens = kept === 0 ? {} : { 'custodial USDC': kept, 'issuer USDC': -kept, 'settlement USD': kept }
          expect([open, changeOf(before, await readBooks(api))]).toEqual([[], tokens])
          await expectSoundLedger(context)
        },
      ),
      parameters,
    ),
  timeoutMs,
)
