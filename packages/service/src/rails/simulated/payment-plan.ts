import type { TransferFailure } from '@outlay/core'
import { isInboundWire } from '../inbound-wire.ts'
import type { RailInstruction, RailLegDetails } from '../port.ts'
import { achReturnFailure } from './ach-return.ts'
import { toEastern } from './banking-day.ts'
import { findSpell, maxPresentments } from './magic.ts'
import type { NewRailPayment, Route } from './rail-payments.ts'
import { chainHash, paymentReference } from './reference.ts'
import { isRepresented } from './representment.ts'
import { statementLine } from './statement-line.ts'
import { cantonOfferMs, isAch, returnsAt, settlesAt, transferSettlesAt } from './timing.ts'

/** The failure of a payment that the receiving side rejected. */
export function rejectionFailure(code: string, detail: string, at: Date): TransferFailure {
  return { type: 'rejected', code, detail, occurredAt: at.toISOString(), retriable: false }
}

/**
 * The rail whose reference identifies the payment: the incoming rail of an onramp, otherwise the outgoing rail.
 */
function leadingRail({ flow, deposit, source, destination }: RailInstruction): string {
  return flow === 'onramp' && deposit === undefined ? source.transferType : destination.transferType
}

/** Everything that will happen to a payment automatically. `sequence` is unique over all payments. */
export function planPayment(instruction: RailInstruction, now: Date, sequence: number): NewRailPayment {
  const { transferId, accountId, source, destination, flow } = instruction
  const base = {
    transfer_id: transferId,
    account_id: accountId,
    route: {
      flow,
      source: source.transferType,
      destination: destination.transferType,
      settleMs: settlesAt(destination.transferType, now).getTime() - now.getTime(),
      amount: instruction.amount.value,
      currency: instruction.amount.currency,
      ...bouncesOf(instruction),
    },
    destination: destinationDetails(instruction),
    failure: null,
    source: null,
    presentment: 1,
    represented_at: null,
    statement_line: isAch(leadingRail(instruction)) ? statementLine(instruction.statementName) : null,
  }
  if (isInboundWire(instruction)) {
    return { ...base, reference: `EXPECTED-${transferId}`, state: 'expected', next_state: null, next_at: null }
  }
  const seed = instruction.deposit === undefined ? transferId : mintSeed(transferId)
  const reference = paymentReference(leadingRail(instruction), seed, sequence, toEastern(now).date)
  return {
    ...base,
    reference,
    state: 'accepted',
    ...planEnd(instruction, now),
    source: sourceDetails(instruction, reference),
    destination:
      flow === 'offramp' && destination.transferType === 'wire'
        ? { paymentDetails: { imad: reference } }
        : base.destination,
  }
}

/** How often the payment is returned, and with which code: the part of its magic input that later presentments need. */
function bouncesOf(instruction: RailInstruction): Pick<Route, 'bounces'> {
  const spell = findSpell(instruction)
  if (spell?.effect !== 'return') return {}
  return { bounces: { code: spell.code, times: spell.times ?? maxPresentments } }
}

/** Information about the destination at the end. The mint of an onramp is a separate transaction. */
function destinationDetails({ flow, transferId, destination }: RailInstruction): RailLegDetails | null {
  if (flow !== 'onramp') return null
  return { transactionId: chainHash(destination.transferType, mintSeed(transferId)) }
}

function mintSeed(transferId: string): string {
  return `${transferId}/mint`
}

/** Information about the source at the end: the burn of an offramp or of a move to another chain, the trace of a debit. */
function sourceDetails(instruction: RailInstruction, reference: string): RailLegDetails | null {
  const { flow, deposit, transferId, source, destination } = instruction
  if (deposit !== undefined) return null
  const isMove = flow === 'swap' && source.transferType !== destination.transferType
  if (flow === 'offramp' || isMove) return { transactionId: chainHash(source.transferType, `${transferId}/burn`) }
  if (flow === 'onramp')
    return { paymentDetails: { traceNumber: reference, senderBankRoutingNumber: source.bank?.routingNumber } }
  return null
}

function planEnd(instruction: RailInstruction, now: Date): Pick<NewRailPayment, 'next_state' | 'next_at' | 'failure'> {
  const { destination } = instruction
  const spell = findSpell(instruction)
  const settles = transferSettlesAt(instruction, now)
  if (spell?.effect === 'stall') return { next_state: null, next_at: null, failure: null }
  if (spell?.effect === 'return') {
    const at = returnsAt(now)
    const retriable = isRepresented(spell.code, { flow: instruction.flow, source: instruction.source.transferType }, 1)
    const failure = achReturnFailure(spell.code, at, retriable) ?? null
    return { next_state: 'returned', next_at: at.toISOString(), failure }
  }
  if (spell?.effect === 'reject') {
    const at = isAch(leadingRail(instruction)) ? returnsAt(now) : settles
    const failure = rejectionFailure(spell.code, spell.detail, at)
    return { next_state: 'rejected', next_at: at.toISOString(), failure }
  }
  if (destination.transferType.startsWith('canton') && !destination.custodial) {
    const at = new Date(now.getTime() + cantonOfferMs)
    const detail = 'The party did not accept the transfer within 72 hours'
    const failure: TransferFailure = { ...rejectionFailure('offer_expired', detail, at), type: 'expired' }
    return { next_state: 'rejected', next_at: at.toISOString(), failure }
  }
  return { next_state: 'settled', next_at: settles.toISOString(), failure: null }
}
