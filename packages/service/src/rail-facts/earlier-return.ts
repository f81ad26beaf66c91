import { Amount } from '@outlay/core'
import type { RailFact, RailLegDetails } from '../rails/port.ts'
import { imadOf } from './arrival.ts'

/**
 * How a return stands to one that was booked before.
 *
 * - `other`: it came back in addition
 * - `same`: it is the same one, reported again
 * - `reused`: it has the reference of the other and another amount
 * - `doubtful`: it may be the same one in other words
 */
export type ReturnRelation = 'other' | 'same' | 'reused' | 'doubtful'

/**
 * Compares two returns of one payment. Only a reference or a transaction id distinguishes two of the same amount: a time may be rounded, a day of the
 * bank's own zone, or that of the report.
 */
export function compareReturns(one: RailFact, booked: RailFact): ReturnRelation {
  const isSameAmount = Amount.equals(one.amount, booked.amount)
  const [reference, bookedReference] = [one.returnReference, booked.returnReference]
  if (reference !== undefined && bookedReference !== undefined) {
    if (areOther(reference, bookedReference)) return 'other'
    if (!isSameAmount) return 'reused'
    return reference === bookedReference ? 'same' : 'doubtful'
  }
  if (!isSameAmount || haveOtherTransactions(one, booked)) return 'other'
  return marksText(one) === marksText(booked) ? 'same' : 'doubtful'
}

/** The same for a return before the payment was tried again: each attempt has a trace number of its own. */
export function compareAttempts(one: RailFact, earlier: RailFact): ReturnRelation {
  const relation = compareReturns(one, earlier)
  return relation === 'doubtful' && haveOtherTraces(one, earlier) ? 'other' : relation
}

function haveOtherTraces(one: RailFact, earlier: RailFact): boolean {
  return (['source', 'destination'] as const).some((end) => {
    const [trace, earlierTrace] = [one[end], earlier[end]].map((leg) => leg?.paymentDetails?.traceNumber ?? undefined)
    return trace !== undefined && earlierTrace !== undefined && areOther(trace, earlierTrace)
  })
}

function haveOtherTransactions(one: RailFact, booked: RailFact): boolean {
  return (['source', 'destination'] as const).some((end) => {
    const [id, bookedId] = [one[end]?.transactionId, booked[end]?.transactionId]
    return id !== undefined && bookedId !== undefined && areOther(id, bookedId)
  })
}

/** Ids that are equal apart from case may be one id in two spellings; an earlier release kept white space at their ends. */
function areOther(id: string, other: string): boolean {
  return id.trim().toLowerCase() !== other.trim().toLowerCase()
}

/** A bank may write an IMAD in another spelling the next time. */
function marksText({ source, destination, ...fact }: RailFact): string {
  return JSON.stringify(marksOf({ ...fact, source: inOneSpelling(source), destination: inOneSpelling(destination) }))
}

function inOneSpelling(leg: RailLegDetails | undefined): RailLegDetails | undefined {
  return leg && { ...leg, paymentDetails: { ...leg.paymentDetails, imad: imadOf(leg) } }
}

/** What distinguishes one return of a payment from another, as it is stored: the rail's reference of it, otherwise everything but words. */
export function marksOf(fact: RailFact): readonly unknown[] {
  const { failure, reachedAt, source, destination, returnReference } = fact
  if (returnReference !== undefined) return [returnReference]
  return [failure?.code, failure?.occurredAt, failure?.retriable, reachedAt, ...legOf(source), ...legOf(destination)]
}

function legOf({ transactionId, paymentDetails = {} }: RailLegDetails = {}): readonly unknown[] {
  const { imad, traceNumber, paymentReference } = paymentDetails
  return [transactionId, imad, traceNumber, paymentReference]
}
