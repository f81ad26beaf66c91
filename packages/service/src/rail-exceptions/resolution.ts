import { Amount, OutlayError } from '@outlay/core'
import { creditHeldDeposit, isAutomationDeposit } from '../automations/held-deposit.ts'
import type { ServiceContext, Tx } from '../context.ts'
import { listOf, run, statement } from '../database/statement.ts'
import { creditDeposit } from '../ledger/deposits.ts'
import { book, planReceipt, planReverse } from '../ledger/ledger.ts'
import { isProgress, mayBeSameArrival } from '../rail-facts/arrival.ts'
import type { RailExceptionReason } from '../rail-facts/fact-kind.ts'
import { isPayment, paymentFactOf } from '../rail-facts/payment-fact.ts'
import { amountOf, finishFacts, readFact, type StoredRailFact } from '../rail-facts/rail-facts.ts'
import type { RailFact } from '../rails/port.ts'
import { applyStored, type OpenFact } from '../transfers/facts.ts'
import { exceptionOf, lockExceptions, type RailException } from './rail-exceptions.ts'

/** What a person decides about an exception. */
export interface RailResolution {
  /**
   * `apply`: the fact is applied now. Its amount is accepted as it is: incoming money is credited as received, of a payment that was settled in
   * part the rest is available again, a deposit at a wallet is credited in addition to the earlier one of its reference, and one at a virtual account where no deposit of its reference took effect. `dismiss`: nothing is applied, because it was dealt with elsewhere.
   */
  readonly action: 'apply' | 'dismiss'
  /** Who decides. 1 to 255 characters. */
  readonly by: string
  /** Why. At most 1,000 characters. */
  readonly note?: string | undefined
}

/**
 * Resolves an exception in the caller's transaction, one of `inTransaction`. When the arrival of a wire is applied, the facts that were
 * reported after it and fit now are applied with it.
 *
 * @returns the exception with its resolution.
 * @throws OutlayError `invalid_request` with the field; `not_found` for an unknown id; `conflict` when it is resolved already, or with
 *   `apply` when the fact still contradicts what is known. The transaction must be rolled back then.
 */
export async function resolveRailException(
  tx: Tx,
  context: ServiceContext,
  id: string,
  resolution: RailResolution,
): Promise<RailException> {
  checkResolution(resolution)
  const locked = await lockExceptions(tx, context, id)
  const fact = locked.find((one) => one.id === id)
  if (fact === undefined) throw new OutlayError('not_found', 'There is no such exception.', { field: 'id' })
  if (fact.resolvedAt !== null) throw new OutlayError('conflict', 'The exception is resolved already.', { field: 'id' })
  const others = locked.filter((one) => one.id !== id && one.resolvedAt === null)
  const sameArrival = others.filter((one) => isSameArrival(fact, one))
  if (resolution.action === 'dismiss') {
    await passReceipt(tx, context, fact, sameArrival)
    return await writeResolution(tx, context, fact, resolution)
  }
  // What is credited now is not held any more, whichever of its reports has the receipt.
  for (const one of [fact, ...sameArrival]) await reverseReceipt(tx, context, one)
  await applyNow(tx, context, fact)
  const resolved = await writeResolution(tx, context, fact, resolution)
  await applyRest(tx, context, fact, others, resolution)
  return resolved
}

/** True for two reports that may be about the same incoming money. */
function isSameArrival(one: StoredRailFact, other: StoredRailFact): boolean {
  const [fact, otherFact] = [progressOf(one), progressOf(other)]
  return fact !== undefined && otherFact !== undefined && mayBeSameArrival(fact, otherFact)
}

function progressOf(stored: StoredRailFact): RailFact | undefined {
  const fact = isPayment(stored) ? paymentFactOf(stored) : undefined
  return fact !== undefined && isProgress(fact) ? fact : undefined
}

function checkResolution({ action, by, note = '' }: RailResolution): void {
  const refuse = (field: string, message: string) => new OutlayError('invalid_request', message, { field })
  if (action !== 'apply' && action !== 'dismiss') throw refuse('action', 'The action is apply or dismiss.')
  if (typeof by !== 'string' || by === '' || by.length > 255)
    throw refuse('by', 'Name who decides, in 1 to 255 characters.')
  if (typeof note !== 'string' || note.length > 1_000) throw refuse('note', 'A note has at most 1000 characters.')
}

/** Held money leaves the settlement account: it is credited by its transfer now, or was sent back. Says whether there was any. */
async function reverseReceipt(tx: Tx, context: ServiceContext, fact: StoredRailFact): Promise<boolean> {
  const amount = amountOf(fact)
  const [row] = await run(tx, context, selectReceipt, [fact.id])
  if (row === undefined || amount === undefined || fact.rail === null) return false
  const receipt = planReceipt({ valueType: amount.currency, transferType: fact.rail }, amount.value)
  await book(tx, context, fact.id, 'reverse', planReverse(receipt))
  return true
}

/** Money stays in the settlement account until the last report of it is dismissed, since a person may dismiss the others as repeats. */
async function passReceipt(
  tx: Tx,
  context: ServiceContext,
  fact: StoredRailFact,
  sameArrival: readonly StoredRailFact[],
): Promise<void> {
  const amount = amountOf(fact)
  if (!(await reverseReceipt(tx, context, fact)) || amount === undefined || fact.rail === null) return
  const next = sameArrival.find((one) => {
    const other = amountOf(one)
    return other !== undefined && one.rail === fact.rail && Amount.equals(other, amount)
  })
  if (next === undefined) return
  const receipt = planReceipt({ valueType: amount.currency, transferType: fact.rail }, amount.value)
  await book(tx, context, next.id, 'deposit', receipt)
}

async function applyNow(tx: Tx, context: ServiceContext, fact: StoredRailFact): Promise<void> {
  if (fact.kind === 'deposit' && 'addressId' in fact.payload) return await creditDeposit(tx, context, fact)
  if (isAutomationDeposit(fact)) return await creditHeldDeposit(tx, context, fact)
  if (!isPayment(fact) || paymentFactOf(fact) === undefined)
    throw new OutlayError('conflict', 'Such a fact cannot be applied; dismiss it.', { field: 'action' })
  const reason = await judgeAgain(tx, context, fact, { acceptsAmount: true })
  if (reason === undefined) return
  const next = whatNext[reason] ?? 'Dismiss it when it is dealt with elsewhere.'
  throw new OutlayError('conflict', `The fact cannot be applied: ${reason}. ${next}`, { field: 'action' })
}

/** What to do about a fact that cannot be applied, where that is not only to dismiss it. */
const whatNext: Partial<Record<RailExceptionReason | 'payment_not_known', string>> = {
  amount_mismatch:
    'Only incoming money is credited as it is, and only a settlement books a part of what leaves. Let the rail report the settlement, then apply what came back; or dismiss it.',
  other_transaction: 'Its transfer has had its payment. Let the rail send it back, and dismiss it.',
  payment_not_known:
    'The rail has not confirmed the payment yet, or its completion is not booked. Apply it again later.',
}

/** Applies what waited behind a fact that is applied now, in order. What does not fit stays an exception. */
async function applyRest(
  tx: Tx,
  context: ServiceContext,
  applied: StoredRailFact,
  others: readonly StoredRailFact[],
  resolution: RailResolution,
): Promise<void> {
  const waiting = others.filter((one) => one.exceptionReason === 'amount_mismatch')
  for (const one of waiting.filter((each) => progressOf(each) === undefined || isSameArrival(applied, each))) {
    // The engine has just accepted the payment under it, and says nothing of an observation that changes nothing.
    const { reference } = applied
    if ((await judgeAgain(tx, context, one, { acceptsAmount: false, reference })) !== undefined) continue
    await writeResolution(tx, context, one, resolution)
  }
}

/** Applies a stored fact as if it were new. Returns why it cannot be; then it is an exception as before, or for another reason. */
async function judgeAgain(
  tx: Tx,
  context: ServiceContext,
  stored: StoredRailFact,
  known: Pick<OpenFact, 'acceptsAmount' | 'reference'>,
): Promise<RailExceptionReason | 'payment_not_known' | undefined> {
  await run(tx, context, reopen, [stored.id])
  const { outcomes, left } = await applyStored(tx, context, [{ id: stored.id, fact: paymentFactOf(stored), ...known }])
  if (left.size === 0) return outcomes[0]?.reason
  const { id, exceptionReason } = stored
  await finishFacts(tx, context, [{ id, reason: exceptionReason ?? undefined }])
  return 'payment_not_known'
}

async function writeResolution(
  tx: Tx,
  context: ServiceContext,
  { id, exceptionReason }: StoredRailFact,
  { action, by, note }: RailResolution,
): Promise<RailException> {
  const values = [
    id,
    exceptionReason,
    context.clock.now(),
    by,
    action === 'apply' ? 'applied' : 'dismissed',
    note ?? null,
  ]
  const [row] = await run(tx, context, resolve, values)
  if (row === undefined) throw new Error('The exception was not written.')
  return exceptionOf(row)
}

const selectReceipt = statement(
  'rail_fact_select_receipt',
  `select 1 from {{schema}}.ledger_entry where posting_id = $1 and step = 'deposit' and line = 1
     and not exists (select from {{schema}}.ledger_entry r where r.posting_id = $1 and r.step = 'reverse')`,
)

const reopen = statement(
  'rail_fact_reopen',
  'update {{schema}}.rail_fact set exception_reason = null where id = $1 and applied_at is null',
)

const resolve = statement(
  'rail_exception_resolve',
  `update {{schema}}.rail_fact
      set exception_reason = $2, resolved_at = $3, resolved_by = $4, resolution = $5, resolution_note = $6,
          applied_at = case when $5 = 'applied' then coalesce(applied_at, $3) end
    where id = $1
   returning ${listOf(readFact)}`,
  readFact,
)
