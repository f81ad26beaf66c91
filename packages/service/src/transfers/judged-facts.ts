import { Amount, type Catalog } from '@outlay/core'
import { type PostedStep, planReceipt, planReverse } from '../ledger/ledger.ts'
import { isMarked, isMarkedAlike, isProgress } from '../rail-facts/arrival.ts'
import { isOfTransfer, type RailExceptionReason } from '../rail-facts/fact-kind.ts'
import type { Judgement } from '../rail-facts/judgement.ts'
import { scaleOf } from '../rail-facts/moved-amount.ts'
import { receiptOf } from '../rail-facts/receipt.ts'
import type { RailFact } from '../rails/port.ts'
import type { KnownTransfer } from './known-transfer.ts'

/** A fact, the transfer that it found, and what becomes of it. */
export interface JudgedFact {
  readonly id: string
  readonly fact: RailFact | undefined
  readonly transfer: KnownTransfer | undefined
  readonly judgement: Judgement
}

/**
 * What fits, and cannot be given to the engine. A wire has arrived all the same. With the reference of another transfer it is held where a mark says which one
 * it is, unless its own report comes with it.
 */
export function refusedFor(
  catalog: Catalog,
  one: JudgedFact,
  reason: RailExceptionReason,
  credited: readonly RailFact[],
): JudgedFact {
  const { fact, transfer } = one
  if (fact === undefined || transfer === undefined) return one
  const isCredited = credited.some((own) => own.transferId === fact.transferId && isMarkedAlike(own, fact))
  const isBooked = isOfTransfer(reason) || (isMarked(fact) && !isCredited)
  const rules = { scale: scaleOf(catalog, transfer.amount.currency) }
  const receipt = isBooked ? receiptOf(fact, transfer, rules) : undefined
  return { ...one, judgement: { outcome: 'exception', reason, receipt } }
}

/** What facts book beside their returns: held money, what a payment has not sent, and parts of deposits that went back. */
export function postingsOf(judged: readonly JudgedFact[]): readonly PostedStep[] {
  const strays = new Map(judged.flatMap(creditedStraysOf).map((one) => [one.posting, one] as const))
  return [...judged.flatMap(receiptsOf), ...strays.values(), ...judged.flatMap(releasesOf), ...judged.flatMap(partsOf)]
}

/** Incoming money that is held is in the settlement account until a person has resolved its fact. */
function receiptsOf({ id, transfer, judgement }: JudgedFact): readonly PostedStep[] {
  if (transfer === undefined || judgement.outcome !== 'exception' || judgement.receipt === undefined) return []
  const { value, currency } = judgement.receipt
  const lines = planReceipt({ valueType: currency, transferType: transfer.rail }, value)
  return [{ posting: id, step: 'deposit', lines }]
}

/** What a report with the reference of another transfer has of a wire that is credited now. */
function creditedStraysOf({ fact, transfer, judgement }: JudgedFact): readonly PostedStep[] {
  if (fact === undefined || judgement.outcome !== 'applied' || !isProgress(fact)) return []
  const strays = transfer?.strays?.filter((one) => isMarkedAlike(fact, one.fact)) ?? []
  return strays.map(({ id, fact: { amount } }) => {
    const receipt = planReceipt({ valueType: amount.currency, transferType: transfer?.rail ?? '' }, amount.value)
    return { posting: id, step: 'reverse', lines: planReverse(receipt) }
  })
}

/** Of a payment of which a part was sent, the rest is available again. Its end books the part. */
function releasesOf({ id, transfer, judgement }: JudgedFact): readonly PostedStep[] {
  const held = transfer?.post.find(({ bucket }) => bucket === 'held')
  if (transfer === undefined || held === undefined || judgement.outcome !== 'applied') return []
  if (judgement.received === undefined) return []
  const { value } = Amount.subtract(transfer.amount, judgement.received)
  const lines = [
    { ...held, amount: `-${value}` },
    { ...held, bucket: 'available', amount: value },
  ] as const
  return [{ posting: id, step: 'void', lines }]
}

/** Parts of deposits that go back after their mint has failed. */
function partsOf({ id, transfer, judgement }: JudgedFact): readonly PostedStep[] {
  if (judgement.outcome !== 'applied' || judgement.takenBack === undefined || transfer?.depositRail == null) return []
  const { value, currency } = judgement.takenBack
  const lines = planReverse(planReceipt({ valueType: currency, transferType: transfer.depositRail }, value))
  return [{ posting: id, step: 'reverse', lines }]
}
