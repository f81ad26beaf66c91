import type { TransferFailure } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import type { RailFact } from '../rails/port.ts'
import { afterFact, type JudgedTransfer, judgeFact } from './judgement.ts'

const failure: TransferFailure = {
  type: 'returned',
  code: 'R01',
  detail: '',
  occurredAt: '2026-01-02T00:00:00Z',
  retriable: false,
}
const usd = (value: string) => ({ value, currency: 'USD' })
const transferOf = (fields: Partial<JudgedTransfer> = {}): JudgedTransfer => ({
  accountId: 'A',
  status: 'processing',
  failure: null,
  flow: 'offramp',
  amount: usd('100'),
  awaitsWire: false,
  reference: 'R',
  appliedKinds: [],
  heldKinds: [],
  returnedValue: '0',
  returns: [],
  ...fields,
})
const factOf = (kind: RailFact['kind'], fields: Partial<RailFact> = {}): RailFact => ({
  ...{ kind, reference: 'R', transferId: 'T', accountId: 'A', amount: usd('100.00'), failure: null },
  ...fields,
})
const wire = transferOf({ flow: 'onramp', status: 'pending', awaitsWire: true })
const judge = (fact: RailFact, transfer: JudgedTransfer | undefined, rules = {}) =>
  judgeFact(fact, transfer, { policy: 'hold', scale: 2, ...rules })
const applied = { outcome: 'applied' }
const exception = (reason: string) => ({ outcome: 'exception', reason })

it('names the first contradiction', () => {
  const wrong = factOf('settled', { accountId: 'B', reference: 'S', amount: usd('1') })
  const failed = { status: 'failed', failure } as const
  expect(judge(wrong, undefined)).toEqual(exception('unknown_transfer'))
  expect(judge(wrong, transferOf(failed))).toEqual(exception('other_account'))
  expect(judge({ ...wrong, accountId: 'A' }, transferOf(failed))).toEqual(exception('other_reference'))
  expect(judge(factOf('settled', { amount: usd('1') }), transferOf(failed))).toEqual(exception('status_contradicted'))
  expect(judge(factOf('settled', { amount: usd('1') }), transferOf())).toEqual(exception('amount_mismatch'))
})

it('accepts any reference while none is known', () => {
  expect(judge(factOf('settled', { reference: 'S' }), transferOf({ reference: null }))).toEqual(applied)
})

describe('of a transfer that has ended', () => {
  const ends = {
    complete: transferOf({ status: 'complete' }),
    settled: transferOf({ appliedKinds: ['accepted', 'settled'] }),
    failed: transferOf({ status: 'failed', failure }),
    rejected: transferOf({ appliedKinds: ['rejected'] }),
    canceled: transferOf({ status: 'canceled' }),
    'a canceled payment': transferOf({ appliedKinds: ['canceled'] }),
  }
  const contradicted = exception('status_contradicted')

  it.each([
    ['complete', 'accepted', applied],
    ['complete', 'settled', applied],
    ['complete', 'rejected', contradicted],
    ['settled', 'rejected', contradicted],
    ['settled', 'settled', applied],
    ['failed', 'accepted', applied],
    ['failed', 'rejected', applied],
    ['failed', 'returned', applied],
    ['failed', 'settled', contradicted],
    ['rejected', 'settled', contradicted],
    ['canceled', 'accepted', contradicted],
    ['canceled', 'rejected', applied],
    ['canceled', 'returned', contradicted],
    ['canceled', 'settled', contradicted],
    ['canceled', 'canceled', applied],
    ['complete', 'canceled', contradicted],
    ['settled', 'canceled', contradicted],
    ['failed', 'canceled', applied],
    ['a canceled payment', 'settled', contradicted],
    ['a canceled payment', 'canceled', applied],
  ] as const)('by %s, a fact of the kind %s', (end, kind, judgement) => {
    expect(judge(factOf(kind), ends[end])).toEqual(judgement)
  })

  it('progress after a final failure contradicts it, and progress before it does not', () => {
    const at = (reachedAt: string) => judge(factOf('accepted', { reachedAt }), ends.failed)
    expect(at('2026-01-01T00:00:00Z')).toEqual(applied)
    expect(at('2026-01-03T00:00:00Z')).toEqual(contradicted)
  })

  it('a failure that may be retried is no end', () => {
    const retried = transferOf({ status: 'failed', failure: { ...failure, retriable: true } })
    expect(judge(factOf('settled'), retried)).toEqual(applied)
    const fact = factOf('returned', { failure: { ...failure, retriable: true } })
    expect(afterFact(transferOf(), fact, { outcome: 'applied' }).appliedKinds).toEqual([])
  })
})

describe('of money that comes back after completion', () => {
  const complete = transferOf({ status: 'complete' })
  const back = (value: string) => factOf('returned', { amount: usd(value) })

  it('is reversed in parts, up to the whole', () => {
    expect(judge(back('100'), complete)).toEqual({ outcome: 'returned_late' })
    const rest = afterFact(complete, back('60'), { outcome: 'returned_late' })
    expect(judge(back('40.00'), rest)).toEqual({ outcome: 'returned_late' })
    expect(judge(back('40.01'), rest)).toEqual(exception('amount_mismatch'))
    expect(judge(back('0'), complete)).toEqual(exception('amount_mismatch'))
  })

  it('waits until the completion is booked', () => {
    expect(judge(back('100'), transferOf({ appliedKinds: ['settled'] }))).toEqual({ outcome: 'too_early' })
  })
})

describe('of another amount', () => {
  const less = usd('90')

  it('moves no transfer but one that waits for a wire, by a policy or a person', () => {
    const fact = factOf('settled', { amount: less })
    expect(judge(fact, transferOf(), { policy: 'credit_received' })).toEqual(exception('amount_mismatch'))
    expect(judge(fact, transferOf(), { acceptsAmount: true })).toEqual(applied)
    const credited = { outcome: 'applied', received: less }
    expect(judge(fact, wire, { policy: 'credit_received' })).toEqual(credited)
    expect(judge(fact, wire, { acceptsAmount: true })).toEqual(credited)
  })

  it('is held as well where an earlier release has begun the transfer without a fact that has the amount', () => {
    const begun = transferOf({ flow: 'onramp', status: 'processing', awaitsWire: true })
    const fact = factOf('settled', { amount: less })
    expect(judge(fact, begun)).toEqual({ ...exception('amount_mismatch'), receipt: less })
    expect(judge(fact, begun, { acceptsAmount: true })).toEqual({ outcome: 'applied', received: less })
    expect(judge(factOf('settled'), begun)).toEqual(applied)
  })

  it('is a receipt once while it is held', () => {
    const arrival = factOf('accepted', { amount: less })
    const held = judge(arrival, wire)
    expect(held).toEqual({ ...exception('amount_mismatch'), receipt: less })
    const later = judge(factOf('settled', { amount: less }), afterFact(wire, arrival, held))
    expect(later).toEqual(exception('amount_mismatch'))
  })

  it.each([
    ['in another currency', { value: '90', currency: 'EUR' }],
    ['of nothing', usd('0')],
    ['finer than the currency', usd('90.001')],
  ])('%s is never credited', (_, amount) => {
    const judged = judge(factOf('accepted', { amount }), wire, { policy: 'credit_received', acceptsAmount: true })
    expect(judged).toEqual(exception('amount_mismatch'))
  })

  it('matters not where nothing moved', () => {
    expect(judge(factOf('rejected', { amount: less }), transferOf())).toEqual(applied)
    expect(judge(factOf('canceled', { amount: less }), wire)).toEqual(applied)
    expect(judge(factOf('returned', { amount: less }), wire)).toEqual(applied)
  })
})
