import { Amount, OutlayError } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'
import { book, planReceipt, planReverse } from '../ledger/ledger.ts'
import { isMarkedAlike, isProgress, mayBeSameArrival } from '../rail-facts/arrival.ts'
import { isPayment, paymentFactOf } from '../rail-facts/payment-fact.ts'
import { amountOf, markOwnerOf, type StoredRailFact } from '../rail-facts/rail-facts.ts'
import type { RailFact } from '../rails/port.ts'

/** The fact of a report that money arrives, or goes on to be credited; `undefined` for every other one. */
export function progressOf(stored: StoredRailFact): RailFact | undefined {
  const fact = isPayment(stored) ? paymentFactOf(stored) : undefined
  return fact !== undefined && isProgress(fact) ? fact : undefined
}

/** True for two reports that may be about the same incoming money. Only a mark joins one of a wire that another transfer has with another one. */
export function isSameArrival(one: StoredRailFact, other: StoredRailFact): boolean {
  const isReused = [one, other].some((each) => markOwnerOf(each) !== undefined)
  return compare(one, other, isReused ? isMarkedAlike : mayBeSameArrival)
}

function compare(one: StoredRailFact, other: StoredRailFact, relation: typeof mayBeSameArrival): boolean {
  const [fact, otherFact] = [progressOf(one), progressOf(other)]
  return fact !== undefined && otherFact !== undefined && relation(fact, otherFact)
}

/**
 * What is credited now is not held any more, whichever of its reports has the receipt: the fact itself, or the one of the others that it
 * is about. A report without marks may be about any of them, and takes the one of its amount; once an arrival was applied, it is about that one.
 * @returns that other one, which is applied with the fact; `undefined` for none.
 * @throws OutlayError `conflict` where several are held, and nothing says which of them it is.
 */
export async function reverseArrival(
  tx: Tx,
  context: ServiceContext,
  fact: StoredRailFact,
  sameArrival: readonly StoredRailFact[],
): Promise<StoredRailFact | undefined> {
  if ((await reverseReceipt(tx, context, fact)) !== undefined) return undefined
  const held: StoredRailFact[] = []
  const isFunded = (await run(tx, context, selectApplied, [fact.transferId])).length > 0
  const candidates = isFunded ? sameArrival.filter((one) => compare(one, fact, isMarkedAlike)) : sameArrival
  for (const one of candidates) if ((await findReceipt(tx, context, one)) !== undefined) held.push(one)
  const found = chooseArrival(fact, held)
  if (found !== undefined) await reverseReceipt(tx, context, found)
  return found
}

function chooseArrival(fact: StoredRailFact, held: readonly StoredRailFact[]): StoredRailFact | undefined {
  const alike = held.filter((one) => compare(one, fact, isMarkedAlike))
  const ofAmount = held.filter((one) => isOfSameAmount(one, fact))
  const [first, ...others] = [alike, ofAmount].find(({ length }) => length > 0) ?? held
  if (first === undefined || others.every((one) => isSameArrival(first, one))) return first
  const ids = [first, ...others].map(({ id }) => id).join(', ')
  throw new OutlayError(
    'conflict',
    `The fact does not say which of several held payments it is about. Apply the exception that names the payment: ${ids}. Then dismiss this one.`,
    { field: 'action' },
  )
}

/** Money stays in the settlement account until the last report of it is dismissed, since a person may dismiss the others as repeats. */
export async function passReceipt(
  tx: Tx,
  context: ServiceContext,
  fact: StoredRailFact,
  sameArrival: readonly StoredRailFact[],
): Promise<void> {
  const booked = await reverseReceipt(tx, context, fact)
  if (booked === undefined || fact.rail === null) return
  const next = sameArrival.find((one) => one.rail === fact.rail && isOfSameAmount(one, fact))
  if (next === undefined) return
  const receipt = planReceipt({ valueType: booked.currency, transferType: fact.rail }, booked.value)
  await book(tx, context, next.id, 'deposit', receipt)
}

function isOfSameAmount(one: StoredRailFact, other: StoredRailFact): boolean {
  const [amount, otherAmount] = [amountOf(one), amountOf(other)]
  return amount !== undefined && otherAmount !== undefined && Amount.equals(amount, otherAmount)
}

/** Held money leaves the settlement account: it is credited by its transfer now, or was sent back. Resolves with what there was. */
export async function reverseReceipt(
  tx: Tx,
  context: ServiceContext,
  fact: StoredRailFact,
): Promise<Amount | undefined> {
  const booked = await findReceipt(tx, context, fact)
  if (booked === undefined || fact.rail === null) return undefined
  const receipt = planReceipt({ valueType: booked.currency, transferType: fact.rail }, booked.value)
  await book(tx, context, fact.id, 'reverse', planReverse(receipt))
  return booked
}

/** The money of a report that is in the settlement account; `undefined` for none. */
export async function findReceipt(
  tx: Tx,
  context: ServiceContext,
  { id }: Pick<StoredRailFact, 'id'>,
): Promise<Amount | undefined> {
  const [booked] = await run(tx, context, selectReceipt, [id])
  return booked
}

const selectApplied = statement(
  'rail_fact_select_arrived',
  `select from {{schema}}.rail_fact
    where transfer_id = $1 and kind in ('accepted', 'settled') and applied_at is not null limit 1`,
)

const selectReceipt = statement(
  'rail_fact_select_receipt',
  `select value_type as currency, abs(amount)::text as value
     from {{schema}}.ledger_entry where posting_id = $1 and step = 'deposit' and line = 1
     and not exists (select from {{schema}}.ledger_entry r where r.posting_id = $1 and r.step = 'reverse')`,
  rowDecoder('receipt', { currency: Column.text, value: Column.text }),
)
