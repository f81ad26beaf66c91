import type { StoredRailFact } from '../rail-facts/rail-facts.ts'
import { foreignDetails } from '../rails/foreign-value.ts'
import type { DepositFact } from '../rails/port.ts'

const storedDetails = foreignDetails.catch({})

/** The day on which a bank received a deposit, `2026-01-05`, in UTC; `undefined` where it does not say. */
export function dayOf({ receivedAt }: DepositFact['details']): string | undefined {
  const time = Date.parse(receivedAt ?? '')
  return Number.isNaN(time) ? undefined : new Date(time).toISOString().slice(0, 10)
}

/** True where both say when they were received, and not on the same day. A trace number comes again in the file of another day. */
export function isOfOtherDay({ details }: DepositFact, { payload }: StoredRailFact): boolean {
  const [day, first] = [dayOf(details), dayOf(storedDetails.parse(payload['details']))]
  return day !== undefined && first !== undefined && day !== first
}

/** The day of a stored deposit: the one under which it is held, or the one on which it was received. */
export function storedDayOf({ payload }: StoredRailFact): string | undefined {
  const { receivedOn } = payload
  return typeof receivedOn === 'string' ? receivedOn : dayOf(storedDetails.parse(payload['details']))
}

/** The same as {@link isOfOtherDay}, of two stored deposits. */
export function isOfOtherStoredDay(one: StoredRailFact, other: StoredRailFact): boolean {
  const [day, otherDay] = [storedDayOf(one), storedDayOf(other)]
  return day !== undefined && otherDay !== undefined && day !== otherDay
}

/** The reference under which a deposit takes effect once: one that a person has accepted for another day has one of its own. */
export function claimedReference({ reference, payload }: StoredRailFact): string {
  const { receivedOn } = payload
  return typeof receivedOn === 'string' ? `${reference} ${receivedOn}` : reference
}
