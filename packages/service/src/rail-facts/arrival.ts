import type { RailFact } from '../rails/port.ts'

/** An earlier fact that says `accepted` or `settled` of a transfer. */
export interface EarlierProgress {
  readonly fact: RailFact
  /** False for money that has arrived and waits for a person in the settlement account. */
  readonly isApplied: boolean
}

/** What names one payment and no other, in the words of its rail. */
const marks = {
  source: ({ source }: RailFact) => source?.transactionId,
  imad: ({ source }: RailFact) => source?.paymentDetails?.imad ?? undefined,
  destination: ({ destination }: RailFact) => destination?.transactionId,
} as const

/** True where a mark of a fact is none of those that earlier ones have, and they have some. */
export function isNewMark(fact: RailFact, earlier: readonly RailFact[], mark: keyof typeof marks): boolean {
  const read = marks[mark]
  const own = read(fact)
  const known = earlier.map(read).filter((value) => value !== undefined)
  return own !== undefined && known.length > 0 && !known.includes(own)
}

/** True unless the marks of their sources distinguish two reports of incoming money. */
export function mayBeSameArrival(one: RailFact, other: RailFact): boolean {
  return !isNewMark(one, [other], 'source') && !isNewMark(one, [other], 'imad')
}

/** True for a fact that says that a payment goes on or has come to its end. */
export function isProgress({ kind }: RailFact): boolean {
  return kind === 'accepted' || kind === 'settled'
}
