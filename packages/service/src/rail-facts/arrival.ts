import { Amount } from '@outlay/core'
import type { RailFact } from '../rails/port.ts'

/** An earlier fact that says `accepted` or `settled` of a transfer. */
export interface EarlierProgress {
  readonly fact: RailFact
  /** True for money that is credited, or was sent, by its transfer. */
  readonly isApplied: boolean
  /** True for money that is not applied and not in the settlement account: it never was, or a person has dismissed it. */
  readonly isUnbooked?: boolean | undefined
  /** True for one that is not applied because it is about another payment, or one of a transfer that has ended. */
  readonly isOther?: boolean | undefined
  /** True for a payment that was made again after its money came back, as a person has decided, and that is booked. */
  readonly isAgain?: boolean | undefined
  /** True for a settlement of another amount than its transfer had, which a person has accepted. */
  readonly isPart?: boolean | undefined
  /** True for one that was applied before a failure that is tried again: what comes behind that may have marks of its own. */
  readonly isEnded?: boolean | undefined
}

/** A report of a wire that names its transfer, and has the reference of another one. Its money is in the settlement account. */
export interface StrayArrival {
  readonly id: string
  readonly fact: RailFact
}

/** An IMAD without white space, in upper case: banks write one in several ways. */
export const imadOf = (side: RailFact['source'] | RailFact['destination']): string | undefined =>
  side?.paymentDetails?.imad?.replace(/\s/g, '').toUpperCase() || undefined

/** What names one payment and no other, in the words of its rail and in any case. */
const marks = {
  source: ({ source }: RailFact) => source?.transactionId?.toUpperCase(),
  imad: ({ source }: RailFact) => imadOf(source),
  destination: ({ destination }: RailFact) => destination?.transactionId?.toUpperCase(),
  destinationImad: ({ destination }: RailFact) => imadOf(destination),
} as const

type MarkName = keyof typeof marks

const markNames = Object.keys(marks) as readonly MarkName[]

/** What names money that arrives. */
const arrivalMarks = [marks.source, marks.imad] as const

/** True where a mark of a fact is none of those that earlier ones have, and they have some. */
export function isNewMark(fact: RailFact, earlier: readonly RailFact[], mark: MarkName): boolean {
  const read = marks[mark]
  const own = read(fact)
  const known = earlier.map(read).filter((value) => value !== undefined)
  return own !== undefined && known.length > 0 && !known.includes(own)
}

/** True where any mark of a fact is new as {@link isNewMark} says. */
export function hasNewMark(fact: RailFact, earlier: readonly RailFact[]): boolean {
  return markNames.some((mark) => isNewMark(fact, earlier, mark))
}

/** True where a mark says that a fact is about another payment than an earlier one. */
export function isMarkedOtherwise(fact: RailFact, earlier: RailFact): boolean {
  return hasNewMark(fact, [earlier])
}

/** True where an earlier fact has a mark of this one, and none of the others has that mark. */
export function hasKnownMark(fact: RailFact, earlier: readonly RailFact[], others: readonly RailFact[] = []): boolean {
  return Object.values(marks).some((read) => {
    const own = read(fact)
    const hasIt = (one: RailFact) => read(one) === own
    return own !== undefined && earlier.some(hasIt) && !others.some(hasIt)
  })
}

/** True for a report of incoming money that says which one it is. */
export function isMarked(fact: RailFact): boolean {
  return arrivalMarks.some((read) => read(fact) !== undefined)
}

/** True for two reports of incoming money that a mark of their sources says are about the same. */
export function isMarkedAlike(one: RailFact, other: RailFact): boolean {
  return arrivalMarks.some((read) => read(one) !== undefined && read(one) === read(other))
}

/**
 * True unless the marks of their sources distinguish two reports of incoming money. Two of one kind are about the same where they share a
 * mark, or have the same amount and not both a mark.
 */
export function mayBeSameArrival(one: RailFact, other: RailFact): boolean {
  if (isNewMark(one, [other], 'source') || isNewMark(one, [other], 'imad')) return false
  if (isMarkedAlike(one, other) || one.kind !== other.kind) return true
  return !(isMarked(one) && isMarked(other)) && Amount.equals(one.amount, other.amount)
}

/** True for a fact that says that a payment goes on or has come to its end. */
export function isProgress({ kind }: RailFact): boolean {
  return kind === 'accepted' || kind === 'settled'
}
