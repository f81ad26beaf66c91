import type { TransferFailure } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import type { RailFact } from '../rails/port.ts'
import { afterFact } from './after-fact.ts'
import { type JudgedTransfer, judgeFact, withoutOutdated } from './judgement.ts'

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
  isIncoming: false,
  awaitsWire: false,
  hasQuote: false,
  reference: 'R',
  appliedKinds: [],
  progress: [],
  returnedValue: '0',
  returns: [],
  ...fields,
})
const factOf = (kind: RailFact['kind'], fields: Partial<RailFact> = {}): RailFact => ({
  ...{ kind, reference: 'R', transferId: 'T', accountId: 'A', amount: usd('100.00'), failure: null },
  ...fields,
})
const wire = transferOf({ flow: 'onramp', status: 'pending', isIncoming: true, awaitsWire: true })
const judge = (fact: RailFact, transfer: JudgedTransfer | undefined, rules = {}) =>
  judgeFact(fact, transfer, { policy: 'hold', scale: 2, ...rules })
const applied = { outcome: 'applied' }
/** A person who accepts whatever can be accepted. */
const accepting = { accepts: ['amount_mismatch', 'other_transaction', 'possible_repeat', 'reference_reused'] }
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

describe('of another payment than the one that was applied', () => {
  const paid = (kind: 'accepted' | 'settled', from: string, to?: string, fields: Partial<RailFact> = {}) =>
    factOf(kind, {
      source: { transactionId: from },
      ...(to === undefined ? {} : { destination: { transactionId: to } }),
      ...fields,
    })
  const behind = (transfer: JudgedTransfer, ...facts: readonly RailFact[]) =>
    facts.reduce((known, fact) => afterFact(known, fact, judge(fact, known)), transfer)
  const other = exception('other_transaction')
  const received = { ...other, receipt: usd('100.00') }

  it('a second wire is held wherever its transfer stands, once', () => {
    const arrived = behind(wire, paid('accepted', 'I1'))
    const minted = behind(arrived, paid('settled', 'I1', '0xa'))
    for (const transfer of [arrived, minted, { ...minted, status: 'complete' } as const]) {
      expect(judge(paid('accepted', 'I2'), transfer)).toEqual(received)
      expect(judge(paid('settled', 'I2'), behind(transfer, paid('accepted', 'I2')))).toEqual(other)
      expect(judge(paid('accepted', 'I3'), behind(transfer, paid('accepted', 'I2')))).toEqual(received)
      expect(judge(paid('accepted', 'I2'), transfer, accepting)).toEqual(received)
    }
  })

  it('a second wire is known by its IMAD, too', () => {
    const imad = (value: string) => factOf('accepted', { source: { paymentDetails: { imad: value } } })
    expect(judge(imad('B'), behind(wire, imad('A')))).toEqual(received)
    expect(judge(imad('A'), behind(wire, imad('A')))).toEqual(applied)
  })

  it('the same wire, reported otherwise, is the same', () => {
    const minted = behind(wire, paid('accepted', 'I1'), paid('settled', 'I1', '0xa'))
    expect(judge(paid('accepted', 'I1'), minted)).toEqual(applied)
    expect(judge(factOf('accepted'), minted)).toEqual(applied)
  })

  it('a payment settles once, and may be replaced before', () => {
    const sent = behind(transferOf(), paid('accepted', 'S', '0xa'))
    expect(judge(paid('accepted', 'S', '0xb'), sent)).toEqual(applied)
    const settled = behind(sent, paid('settled', 'S', '0xb'))
    expect(judge(paid('settled', 'S', '0xc'), settled)).toEqual(other)
    expect(judge(paid('settled', 'S', '0xa'), settled)).toEqual(other)
    expect(judge(paid('accepted', 'S', '0xc'), settled)).toEqual(other)
    expect(judge(paid('accepted', 'S', '0xa'), settled)).toEqual(applied)
  })

  it('what is reported first after a poll has ended the transfer fills it', () => {
    const complete = behind(transferOf(), paid('accepted', 'S', '0xa'))
    expect(judge(paid('settled', 'S', '0xb'), { ...complete, status: 'complete' })).toEqual(applied)
  })

  it('a late report of an earlier step says nothing of legs that are described', () => {
    const settled = behind(transferOf(), paid('settled', 'S', '0xb'))
    expect(withoutOutdated(paid('accepted', 'S', '0xb'), settled)).not.toHaveProperty('source.transactionId')
    const polled = transferOf({ status: 'complete' })
    expect(withoutOutdated(paid('accepted', 'S'), polled)).toHaveProperty('source.transactionId', 'S')
  })
})

describe('of a wire whose transfer has failed or was canceled', () => {
  const contradicted = exception('status_contradicted')
  const arrival = (id: string) => factOf('accepted', { source: { transactionId: id } })

  it.each([{ status: 'failed', failure } as const, { status: 'canceled' } as const])('%o, it is held', (ended) => {
    const transfer = { ...wire, ...ended }
    const held = { ...contradicted, receipt: usd('100.00') }
    expect(judge(arrival('I1'), transfer)).toEqual(held)
    const next = afterFact(transfer, arrival('I1'), held as never)
    expect(judge({ ...arrival('I1'), kind: 'settled' }, next)).toEqual(contradicted)
    expect(judge(arrival('I2'), next)).toEqual(held)
  })

  it('is no news when it was applied before it failed', () => {
    const progress = [{ fact: arrival('I1'), isApplied: true }]
    expect(judge(arrival('I1'), { ...wire, status: 'failed', failure, progress })).toEqual(applied)
  })
})

describe('of another amount', () => {
  const less = usd('90')

  it('moves no transfer but one that waits for a wire, by a policy or a person', () => {
    const fact = factOf('settled', { amount: less })
    const credited = { outcome: 'applied', received: less }
    expect(judge(fact, transferOf(), { policy: 'credit_received' })).toEqual(exception('amount_mismatch'))
    expect(judge(fact, transferOf(), accepting)).toEqual(credited)
    const more = factOf('settled', { amount: usd('110') })
    expect(judge(more, transferOf(), accepting)).toEqual(exception('amount_mismatch'))
    expect(judge(fact, wire, { policy: 'credit_received' })).toEqual(credited)
    expect(judge(fact, wire, accepting)).toEqual(credited)
  })

  it('is held as well where an earlier release has begun the transfer without a fact that has the amount', () => {
    const begun = transferOf({ ...wire, status: 'processing' })
    const fact = factOf('settled', { amount: less })
    expect(judge(fact, begun)).toEqual({ ...exception('amount_mismatch'), receipt: less })
    expect(judge(fact, begun, accepting)).toEqual({ outcome: 'applied', received: less })
    expect(judge(factOf('settled'), begun)).toEqual(applied)
  })

  it('is credited to a debit as it is only by a person', () => {
    const debit = transferOf({ flow: 'onramp', isIncoming: true })
    const fact = factOf('settled', { amount: less })
    expect(judge(fact, debit, { policy: 'credit_received' })).toEqual(exception('amount_mismatch'))
    expect(judge(fact, debit, accepting)).toEqual({ outcome: 'applied', received: less })
    const quoted = { ...debit, hasQuote: true }
    expect(judge(fact, quoted, accepting)).toEqual(exception('amount_mismatch'))
  })

  it('is never released or sent as the whole, whoever says so', () => {
    const back = factOf('returned', { amount: less })
    for (const transfer of [transferOf(), transferOf({ flow: 'onramp', isIncoming: true })])
      expect(judge(back, transfer, accepting)).toEqual(exception('amount_mismatch'))
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
    const judged = judge(factOf('accepted', { amount }), wire, { policy: 'credit_received', ...accepting })
    expect(judged).toEqual(exception('amount_mismatch'))
  })

  it('matters not where nothing moved', () => {
    expect(judge(factOf('rejected', { amount: less }), transferOf())).toEqual(applied)
    expect(judge(factOf('canceled', { amount: less }), wire)).toEqual(applied)
    expect(judge(factOf('returned', { amount: less }), wire)).toEqual(applied)
  })
})

describe('a payment that is made again after its money came back', () => {
  const at = (day: number) => `2026-02-0${day}T00:00:00Z`
  const first = factOf('settled', { source: { transactionId: 'one' }, reachedAt: at(1) })
  const back = (day: number, value = '40') =>
    factOf('returned', { amount: usd(value), failure: { ...failure, occurredAt: at(day) } })
  const returned = afterFact(
    transferOf({ status: 'complete', progress: [{ fact: first, isApplied: true }], appliedKinds: ['settled'] }),
    back(2),
    { outcome: 'returned_late' },
  )
  const again = factOf('settled', { amount: usd('40'), reachedAt: at(3) })

  it.each([
    ['a later time', { reachedAt: at(3), source: { transactionId: 'one' } }, true],
    ['another transaction', { source: { transactionId: 'two' } }, true],
    ['nothing that names it', {}, true],
    ['the transaction of the first', { source: { transactionId: 'one' } }, false],
    ['the transaction of the first, and its time', { source: { transactionId: 'one' }, reachedAt: at(1) }, false],
  ])('with %s', (_, fields, isHeld) => {
    for (const kind of ['accepted', 'settled'] as const)
      expect(judge(factOf(kind, fields), returned)).toEqual(isHeld ? exception('other_transaction') : applied)
  })

  it('is booked by a person, for no more than came back', () => {
    expect(judge(again, returned, accepting)).toEqual({ outcome: 'moved_again' })
    expect(judge({ ...again, kind: 'accepted' }, returned, accepting)).toEqual(exception('books_nothing'))
    expect(judge({ ...again, amount: usd('40.01') }, returned, accepting)).toEqual(exception('amount_mismatch'))
    expect(judge(again, { ...returned, hasQuote: true }, accepting)).toEqual(exception('other_transaction'))
  })

  it('may come back again, which is another return where its time is behind it', () => {
    const moved = afterFact(returned, again, { outcome: 'moved_again' })
    expect(moved.returnedValue).toBe('0')
    expect(judge(back(4), moved)).toEqual(exception('disputed'))
    expect(judge(back(4), moved, accepting)).toEqual({ outcome: 'returned_late' })
    expect(judge(back(2), moved)).toEqual({ outcome: 'repeated' })
    expect(judge({ ...back(2), reachedAt: at(2) }, moved)).toEqual(exception('possible_repeat'))
    expect(judge(back(4), returned)).toEqual(exception('possible_repeat'))
  })
})
