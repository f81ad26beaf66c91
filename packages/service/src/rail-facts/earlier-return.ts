import { Amount } from '@outlay/core'
import type { RailFact, RailLegDetails } from '../rails/port.ts'

/**
 * How a return stands to one that was booked before.
 *
 * - `other`: it came back in addition
 * - `same`: it is the same one, reported again
 * - `reused`: it has the reference of the other and another amount
 * - `doubtful`: it may be the same one in other words
 */
export type ReturnRelation = 'other' | 'same' | 'reused' | 'doubtful'

/** Compares two returns of one payment. Only a reference, a transaction id or a time distinguishes two of the same amount. */
export function compareReturns(one: RailFact, booked: RailFact): ReturnRelation {
  const isSameAmount = Amount.equals(one.amount, booked.amount)
  if (one.returnReference !== undefined && booked.returnReference !== undefined) {
    if (one.returnReference !== booked.returnReference) return 'other'
    return isSameAmount ? 'same' : 'reused'
  }
  if (!isSameAmount || haveOtherTransactions(one, booked)) return 'other'
  const [time, bookedTime] = [one.failure?.occurredAt, booked.failure?.occurredAt]
  if (time !== undefined && bookedTime !== undefined && !mayBeSameTime(time, bookedTime)) return 'other'
  return JSON.stringify(marksOf(one)) === JSON.stringify(marksOf(booked)) ? 'same' : 'doubtful'
}

function haveOtherTransactions(one: RailFact, booked: RailFact): boolean {
  return (['source', 'destination'] as const).some((end) => {
    const [id, bookedId] = [one[end]?.transactionId, booked[end]?.transactionId]
    return id !== undefined && bookedId !== undefined && id !== bookedId
  })
}

/** Ends of a moment that a coarser report of it leaves out, with what stands there instead. */
const leftOut = [
  [/\.\d+Z$/, '.000Z'],
  [/:\d{2}\.\d+Z$/, ':00.000Z'],
  [/T.*$/, 'T00:00:00.000Z'],
] as const

/** True for the same moment, and where one of the two is the other reported less exactly. */
function mayBeSameTime(one: string, other: string): boolean {
  const isCoarser = (coarse: string, fine: string) => leftOut.some(([end, rest]) => fine.replace(end, rest) === coarse)
  return one === other || toMillisecond(one) === toMillisecond(other) || isCoarser(one, other) || isCoarser(other, one)
}

function toMillisecond(time: string): string {
  return time.replace(/(\.\d{3})\d+Z$/, '$1Z')
}

/** What distinguishes one return of a payment from another: the rail's reference of it, otherwise everything but words. */
export function marksOf(fact: RailFact): readonly unknown[] {
  const { failure, reachedAt, source, destination, returnReference } = fact
  if (returnReference !== undefined) return [returnReference]
  return [failure?.code, failure?.occurredAt, failure?.retriable, reachedAt, ...legOf(source), ...legOf(destination)]
}

function legOf({ transactionId, paymentDetails = {} }: RailLegDetails = {}): readonly unknown[] {
  const { imad, traceNumber, paymentReference } = paymentDetails
  return [transactionId, imad, traceNumber, paymentReference]
}
