import { OutlayError } from '@outlay/core'
import type { ServiceContext, Tx } from '../context.ts'
import { listOf, run, statement } from '../database/statement.ts'
import { creditDeposit } from '../ledger/deposits.ts'
import { book, planReceipt, planReverse } from '../ledger/ledger.ts'
import type { RailExceptionReason } from '../rail-facts/fact-kind.ts'
import { isPayment, paymentFactOf } from '../rail-facts/payment-fact.ts'
import { amountOf, readFact, type StoredRailFact } from '../rail-facts/rail-facts.ts'
import { applyStored } from '../transfers/facts.ts'
import { exceptionOf, lockException, type RailException } from './rail-exceptions.ts'

/** What a person decides about an exception. */
export interface RailResolution {
  /**
   * `apply`: the fact is applied now. Its amount is accepted as it is: a wire is credited as received, a deposit is credited in addition to
   * the earlier one of its reference. `dismiss`: nothing is applied, because it was dealt with elsewhere.
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
  const fact = await lockException(tx, context, id)
  if (fact === undefined) throw new OutlayError('not_found', 'There is no such exception.', { field: 'id' })
  if (fact.resolvedAt !== null) throw new OutlayError('conflict', 'The exception is resolved already.', { field: 'id' })
  await reverseReceipt(tx, context, fact)
  if (resolution.action === 'apply') await applyNow(tx, context, fact)
  const resolved = await writeResolution(tx, context, fact, resolution)
  if (resolution.action === 'apply' && fact.transferId !== null)
    await applyRest(tx, context, fact.transferId, resolution)
  return resolved
}

function checkResolution({ action, by, note = '' }: RailResolution): void {
  const refuse = (field: string, message: string) => new OutlayError('invalid_request', message, { field })
  if (action !== 'apply' && action !== 'dismiss') throw refuse('action', 'The action is apply or dismiss.')
  if (typeof by !== 'string' || by === '' || by.length > 255)
    throw refuse('by', 'Name who decides, in 1 to 255 characters.')
  if (typeof note !== 'string' || note.length > 1_000) throw refuse('note', 'A note has at most 1000 characters.')
}

/** Held money leaves the settlement account: it is credited by its transfer now, or was sent back. */
async function reverseReceipt(tx: Tx, context: ServiceContext, fact: StoredRailFact): Promise<void> {
  const amount = amountOf(fact)
  const [row] = await run(tx, context, selectReceipt, [fact.id])
  if (row === undefined || amount === undefined || fact.rail === null) return
  const receipt = planReceipt({ valueType: amount.currency, transferType: fact.rail }, amount.value)
  await book(tx, context, fact.id, 'reverse', planReverse(receipt))
}

async function applyNow(tx: Tx, context: ServiceContext, fact: StoredRailFact): Promise<void> {
  if (fact.kind === 'deposit' && 'addressId' in fact.payload) return await creditDeposit(tx, context, fact)
  if (!isPayment(fact) || paymentFactOf(fact) === undefined)
    throw new OutlayError('conflict', 'Such a fact cannot be applied; dismiss it.', { field: 'action' })
  const reason = await judgeAgain(tx, context, fact, true)
  if (reason === undefined) return
  const message = `The fact cannot be applied: ${reason}. Dismiss it when it is dealt with elsewhere.`
  throw new OutlayError('conflict', message, { field: 'action' })
}

/** Applies what waited behind an arrival, in order. */
async function applyRest(
  tx: Tx,
  context: ServiceContext,
  transferId: string,
  resolution: RailResolution,
): Promise<void> {
  for (const fact of await run(tx, context, lockHeld, [transferId])) {
    if ((await judgeAgain(tx, context, fact, false)) !== undefined) continue
    await reverseReceipt(tx, context, fact)
    await writeResolution(tx, context, fact, resolution)
  }
}

/** Applies a stored fact as if it were new. Returns why it cannot be. */
async function judgeAgain(
  tx: Tx,
  context: ServiceContext,
  stored: StoredRailFact,
  acceptsAmount: boolean,
): Promise<RailExceptionReason | 'payment_not_known' | undefined> {
  await run(tx, context, reopen, [stored.id])
  const { outcomes, left } = await applyStored(tx, context, [
    { id: stored.id, fact: paymentFactOf(stored), acceptsAmount },
  ])
  return left.size > 0 ? 'payment_not_known' : outcomes[0]?.reason
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

const lockHeld = statement(
  'rail_exception_lock_held',
  `select ${listOf(readFact)} from {{schema}}.rail_fact
    where transfer_id = $1 and exception_reason = 'amount_mismatch' and resolved_at is null
    order by id
      for update`,
  readFact,
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
