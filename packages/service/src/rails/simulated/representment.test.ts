import { describe, expect, it } from 'vitest'
import type { RailInstruction } from '../port.ts'
import { achReturns, retriableReturns } from './magic.ts'
import { planPayment } from './payment-plan.ts'
import type { NewRailPayment, StoredRailPayment } from './rail-payments.ts'
import { isRepresented, nextStep } from './representment.ts'

/** A Wednesday, 10:00 Eastern. */
const now = new Date('2026-11-18T15:00:00Z')
const debit = (accountNumber: string): RailInstruction => ({
  transferId: '01KA0000000000000000000000',
  accountId: '01KA0000000000000000000001',
  flow: 'onramp',
  amount: { value: '1.00', currency: 'USD' },
  source: {
    addressId: '01KA0000000000000000000002',
    valueType: 'USD',
    transferType: 'ach_debit',
    custodial: false,
    address: '',
    bank: { owner: 'Jane', accountNumber, routingNumber: '021000021', accountType: 'checking' },
  },
  destination: { valueType: 'USDC', transferType: 'base', custodial: true, address: '0x1' },
  statementName: 'Acme Payments LLC',
})

const stored = (payment: NewRailPayment): StoredRailPayment => ({
  ...payment,
  next_at: payment.next_at === null ? null : new Date(payment.next_at),
  represented_at: payment.represented_at === null ? null : new Date(payment.represented_at),
})

/** Every step of a debit until the last one, reported long after all of them were due. */
async function stepsOf(accountNumber: string): Promise<readonly NewRailPayment[]> {
  let sequence = 1
  const reportedAt = new Date('2027-01-01T00:00:00Z')
  const steps = [planPayment(debit(accountNumber), now, sequence)]
  for (let last = steps[0]; last !== undefined && last.next_state !== null; ) {
    const step = await nextStep(stored(last), reportedAt, async () => ++sequence)
    last = { ...last, ...step, state: last.next_state }
    steps.push(last)
  }
  return steps
}
const statesOf = async (accountNumber: string) => (await stepsOf(accountNumber)).map(({ state }) => state)

describe('an ACH debit', () => {
  it.each([
    ['1', ['accepted', 'settled']],
    ['5550101', ['accepted', 'returned', 'accepted', 'settled']],
    ['5550209', ['accepted', 'returned', 'accepted', 'returned', 'accepted', 'settled']],
    ['5550001', ['accepted', 'returned', 'accepted', 'returned', 'accepted', 'returned']],
    ['5550002', ['accepted', 'returned']],
  ])('to the account %s goes %j', async (accountNumber, states) => {
    expect(await statesOf(accountNumber)).toEqual(states)
  })

  it('has each step after the previous one, whenever it is reported', async () => {
    const times = (await stepsOf('5550201')).flatMap(({ next_at }) => (next_at === null ? [] : [next_at]))
    expect(times).toEqual(times.toSorted())
    expect(new Set(times).size).toBe(times.length)
    expect(times.at(-1)).toMatch(/^2026-12-/)
  })

  it('keeps its reference, and has a trace number and the description of a retry for every presentment after the first', async () => {
    const presented = (await stepsOf('5550201')).filter(({ state }) => state === 'accepted')
    expect(new Set(presented.map(({ reference }) => reference)).size).toBe(1)
    expect(new Set(presented.map(({ source }) => source?.paymentDetails?.traceNumber)).size).toBe(3)
    expect(presented.map(({ presentment }) => presentment)).toEqual([1, 2, 3])
    expect(presented.map(({ statement_line }) => statement_line?.entryDescription)).toEqual([
      'PAYMENT',
      'RETRY PYMT',
      'RETRY PYMT',
    ])
  })

  it('is presented again only for a lack of funds, at most twice, and a credit never is', () => {
    const codes = Object.keys(achReturns)
    const route = { flow: 'onramp', source: 'ach_debit' } as const
    expect(codes.filter((code) => isRepresented(code, route, 1))).toEqual(retriableReturns)
    expect([1, 2, 3].map((presentment) => isRepresented('R01', route, presentment))).toEqual([true, true, false])
    expect(codes.filter((code) => isRepresented(code, { flow: 'offramp', source: 'base' }, 1))).toEqual([])
  })
})
