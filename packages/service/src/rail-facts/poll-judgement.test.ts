import type { TransferFailure } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import type { RailPayment } from '../rails/port.ts'
import { judgePoll, type PolledTransfer } from './poll-judgement.ts'

const usd = (value: string) => ({ value, currency: 'USD' })
const failure: TransferFailure = {
  ...{ type: 'returned', code: 'R01', detail: '', occurredAt: '2026-01-02T00:00:00Z' },
  retriable: false,
}
const payout: PolledTransfer = {
  accountId: 'A',
  status: 'processing',
  failure: null,
  flow: 'payout',
  amount: usd('100'),
  isIncoming: false,
  awaitsWire: false,
  hasQuote: false,
  reference: null,
  appliedKinds: [],
  progress: [],
  returnedValue: '0',
  returns: [],
  isDisputed: false,
}
const debit: PolledTransfer = { ...payout, flow: 'onramp', isIncoming: true }
const wire: PolledTransfer = { ...debit, status: 'pending', awaitsWire: true }
const fundedWire: PolledTransfer = { ...wire, status: 'processing', appliedKinds: ['accepted'] }
const state = (payment: Partial<RailPayment>, transfer: PolledTransfer | undefined) =>
  judgePoll({ reference: 'R', state: 'settled', failure: null, ...payment }, transfer, 2).state

const whole = usd('100.00')
const part = usd('60')

describe('a poll', () => {
  it.each([
    ['of a payout that left', payout, { state: 'settled' }, 'settled'],
    ['of a payout of which a part left', payout, { state: 'settled', amount: part }, 'accepted'],
    ['of a payout that came back whole', payout, { state: 'returned', failure, amount: whole }, 'returned'],
    ['of a payout of which a part came back', payout, { state: 'returned', failure, amount: part }, 'accepted'],
    ['of a payout of which nobody says how much came back', payout, { state: 'returned', failure }, 'accepted'],
    ['of a refused payout', payout, { state: 'rejected', failure }, 'rejected'],
    ['of a canceled payout', payout, { state: 'canceled' }, 'canceled'],
    ['of a debit of which nobody says how much came', debit, { state: 'settled' }, 'accepted'],
    ['of a debit that came whole', debit, { state: 'settled', amount: whole }, 'settled'],
    ['of a debit of which a part came', debit, { state: 'settled', amount: part }, 'accepted'],
    ['of a debit of which more came', debit, { state: 'settled', amount: usd('110') }, 'accepted'],
    ['of a debit in another currency', debit, { state: 'settled', amount: { ...whole, currency: 'EUR' } }, 'accepted'],
    ['of a wire that has arrived without a fact', wire, { state: 'accepted', amount: whole }, 'expected'],
    ['of a wire that was minted without a fact', wire, { state: 'settled', amount: whole }, 'expected'],
    ['of a wire that went back without a fact', wire, { state: 'returned', failure }, 'returned'],
    ['of a wire that was minted, without an amount', fundedWire, { state: 'settled' }, 'accepted'],
    ['of a wire that was minted', fundedWire, { state: 'settled', amount: whole }, 'settled'],
    ['of a wire that was minted in part', fundedWire, { state: 'settled', amount: part }, 'accepted'],
  ] as const)('%s', (_, transfer, payment, admitted) => {
    expect(state(payment, transfer)).toBe(admitted)
  })

  it.each(['settled', 'rejected', 'returned', 'canceled'] as const)(
    'that says %s ends nothing while a fact about the transfer waits for a person',
    (kind) => {
      const said = { state: kind, failure, amount: whole }
      expect(state(said, { ...payout, isDisputed: true })).toBe('accepted')
      expect(state(said, { ...wire, isDisputed: true })).toBe('expected')
    },
  )

  it('that says returned ends no wire of which another one was reported, whatever became of that', () => {
    const said = { state: 'returned', failure, amount: whole } as const
    expect(state(said, fundedWire)).toBe('returned')
    expect(state(said, { ...fundedWire, hasOthers: true })).toBe('accepted')
    expect(state(said, { ...fundedWire, hasOthers: true, appliedKinds: ['accepted', 'returned'] })).toBe('returned')
    expect(state(said, { ...wire, hasOthers: true })).toBe('returned')
  })

  it.each(['rejected', 'returned'] as const)('that says %s ends no transfer in dispute', (kind) => {
    const said = { state: kind, failure, amount: whole }
    expect(state(said, payout)).toBe(kind)
    expect(state(said, { ...payout, wasHeld: true })).toBe('accepted')
  })

  it('that says canceled ends a transfer in dispute of which nothing was applied', () => {
    const said = { state: 'canceled', amount: whole } as const
    expect(state(said, { ...wire, wasHeld: true })).toBe('canceled')
    expect(state(said, { ...fundedWire, wasHeld: true })).toBe('accepted')
  })

  it('says what a fact has said', () => {
    expect(state({ state: 'settled' }, { ...debit, appliedKinds: ['settled'] })).toBe('settled')
    expect(state({ state: 'rejected', failure }, { ...debit, appliedKinds: ['settled'] })).toBe('accepted')
  })

  it('says of a transfer that has ended what it likes', () => {
    expect(state({ state: 'settled' }, { ...debit, status: 'complete', isDisputed: true })).toBe('settled')
  })

  it('says that a failure may be retried, since nothing ends with it', () => {
    expect(state({ state: 'returned', failure: { ...failure, retriable: true } }, debit)).toBe('returned')
  })

  it('moves no transfer that nobody knows', () => {
    expect(state({ state: 'settled', amount: whole }, undefined)).toBe('expected')
  })
})
