import { Amount } from '@outlay/core'
import { type PostedStep, planReceipt, planReverse } from '../ledger/ledger.ts'
import type { Judgement } from '../rail-facts/judgement.ts'
import type { RailFact } from '../rails/port.ts'
import type { KnownTransfer } from './known-transfer.ts'

/** A fact, the transfer that it found, and what becomes of it. */
export interface JudgedFact {
  readonly id: string
  readonly fact: RailFact | undefined
  readonly transfer: KnownTransfer | undefined
  readonly judgement: Judgement
}

/** What facts book beside their returns: held money, what a payment has not sent, and parts of deposits that went back. */
export function postingsOf(judged: readonly JudgedFact[]): readonly PostedStep[] {
  return [...judged.flatMap(receiptsOf), ...judged.flatMap(releasesOf), ...judged.flatMap(partsOf)]
}

/** Incoming money that is held is in the settlement account until a person has resolved its fact. */
function receiptsOf({ id, transfer, judgement }: JudgedFact): readonly PostedStep[] {
  if (transfer === undefined || judgement.outcome !== 'exception' || judgement.receipt === undefined) return []
  const { value, currency } = judgement.receipt
  const lines = planReceipt({ valueType: currency, transferType: transfer.rail }, value)
  return [{ posting: id, step: 'deposit', lines }]
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
