import { Amount, OutlayError } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import { creditHeldDeposit, isAutomationDeposit } from '../automations/held-deposit.ts'
import type { ServiceContext, Tx } from '../context.ts'
import { withinSavepoint } from '../database/savepoint.ts'
import { listOf, run, statement } from '../database/statement.ts'
import { creditDeposit } from '../ledger/deposits.ts'
import { isMarkedAlike } from '../rail-facts/arrival.ts'
import type { RailExceptionReason } from '../rail-facts/fact-kind.ts'
import { isPayment, paymentFactOf } from '../rail-facts/payment-fact.ts'
import { finishFacts, markOwnerOf, readFact, type StoredRailFact } from '../rail-facts/rail-facts.ts'
import { applyStored, type OpenFact } from '../transfers/facts.ts'
import { isCompleteInEngine } from '../transfers/observed-facts.ts'
import { advanceTransfers } from '../transfers/progress.ts'
import { findReceipt, isSameArrival, passReceipt, progressOf, reverseArrival } from './held-arrivals.ts'
import { restoreWires, takeLostWires } from './lost-wires.ts'
import { exceptionOf, lockExceptions, type RailException } from './rail-exceptions.ts'

/** What a person decides about an exception. */
export interface RailResolution {
  /**
   * `apply`: the fact is applied now. What it is held for is accepted as it is: incoming money is credited as received, of a payment that was settled in
   * part the rest is available again, what came back and was paid again is booked again, a deposit at a wallet is credited in addition to the earlier one of its reference, and one at a virtual account where no deposit of its reference, or of its reference and day, took effect. `dismiss`: nothing is applied, because it was dealt with elsewhere.
   */
  readonly action: 'apply' | 'dismiss'
  /**
   * The reasons that the person has seen and accepts, of `apply`. Default: the reason of the exception. Where the fact is held for another one by now, it is
   * refused, and the error names all that has to be accepted.
   */
  readonly accepts?: readonly RailExceptionReason[] | undefined
  /**
   * The transfers, or deposits that went back, of which the person has seen that they have the wire, of `apply` that accepts `reused_mark`. Default: the
   * `markOwner` of the payload. Where another one has it by now, or one was credited it, it is refused.
   */
  readonly markOwners?: readonly string[] | undefined
  /**
   * True where the bank has two wires of one mark: each transfer has its own, also where the first one was credited. Default false: there is one wire, which
   * is taken from the transfer that has it.
   */
  readonly isAnotherWire?: boolean | undefined
  /**
   * What came back in the currency of the transfer, of `apply` of a return in another currency: at most what has moved and is not back. It is written into the
   * payload of the exception, as `appliedAmount`. No other exception has one.
   */
  readonly amount?: Amount | undefined
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
 *   `apply` when the fact still contradicts what is known, is held for another reason by now, or may be about several held payments. Nothing is written
 *   then but the reason for which it is held, whether the transaction is rolled back or not.
 */
export async function resolveRailException(
  tx: Tx,
  context: ServiceContext,
  id: string,
  resolution: RailResolution,
): Promise<RailException> {
  checkResolution(resolution)
  // First, as everything that changes exceptions of a transfer locks it: a report that is being applied is seen then, also of a transfer that loses its wire.
  const [shown] = await run(tx, context, selectOwner, [id])
  await run(tx, context, lockTransfers, [id, resolution.markOwners ?? [shown?.markOwner]])
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
  if (resolution.markOwners === undefined && (markOwnerOf(fact) ?? null) !== (shown?.markOwner ?? null))
    throw ownerChanged()
  const refusal: Refusal = {}
  try {
    return await withinSavepoint(tx, () => apply(tx, context, { fact, others, sameArrival }, resolution, refusal))
  } catch (error) {
    const { reason, markOwner = null } = refusal
    if (reason !== undefined) await run(tx, context, hold, [fact.id, reason, markOwner])
    throw error
  }
}

/** Nobody has locked the transfer that has the wire, and nobody has seen that it has. */
const ownerChanged = () =>
  new OutlayError('conflict', 'Another transfer has the wire by now than a moment ago. Read the exception again.', {
    field: 'markOwners',
  })

/** What an exception is held for by now, and the transfer that has its wire. */
interface Refusal {
  reason?: RailExceptionReason
  markOwner?: string | undefined
}

/** An exception to be applied, the open ones of its transfer, and those of them that may be about the same incoming money. */
interface AppliedException {
  readonly fact: StoredRailFact
  readonly others: readonly StoredRailFact[]
  readonly sameArrival: readonly StoredRailFact[]
}

async function apply(
  tx: Tx,
  context: ServiceContext,
  { fact, others, sameArrival }: AppliedException,
  resolution: RailResolution,
  refusal: Refusal,
): Promise<RailException> {
  const arrival = await reverseArrival(tx, context, fact, sameArrival)
  const accepts = resolution.accepts ?? (fact.exceptionReason === null ? [] : [fact.exceptionReason])
  const { amount: stated, isAnotherWire } = resolution
  checkStated(fact, stated)
  const markOwners = resolution.markOwners ?? [markOwnerOf(fact) ?? []].flat()
  const isGift = accepts.includes('reused_mark') && isAnotherWire !== true
  const isComplete = isGift && fact.transferId !== null && (await isCompleteInEngine(tx, context, fact.transferId))
  const held = await applyNow(tx, context, fact, { accepts, stated, markOwners, isAnotherWire })
  if (held !== undefined) {
    const { reason, markOwner } = held
    if (reason !== 'payment_not_known') Object.assign(refusal, { reason, markOwner })
    throw refused(held, accepts)
  }
  const restored = isGift ? await restoreWires(tx, context, fact, resolution) : undefined
  if (isGift) for (const owner of markOwners) await takeLostWires(tx, context, owner, fact)
  // A poll has said so while the transfer had no wire, and the engine says it once.
  if (isComplete && fact.transferId !== null && progressOf(fact) !== undefined) {
    const step = { id: fact.transferId, type: 'transfer.completed', failure: null, reference: fact.reference } as const
    await advanceTransfers(tx, context, [step])
  }
  if (stated !== undefined) await run(tx, context, nameAmount, [fact.id, JSON.stringify(stated)])
  const resolved = await writeResolution(tx, context, fact, resolution)
  // It is the payment that was applied, in other words: to dismiss it would send that back.
  if (arrival !== undefined) await writeResolution(tx, context, arrival, resolution)
  const rest = others.filter((one) => one !== arrival && restored?.has(one.id) !== true)
  await applyRest(tx, context, fact, rest, resolution)
  return resolved
}

function checkResolution({ action, by, note = '', accepts = [], markOwners = [], amount }: RailResolution): void {
  const refuse = (field: string, message: string) => new OutlayError('invalid_request', message, { field })
  if (action !== 'apply' && action !== 'dismiss') throw refuse('action', 'The action is apply or dismiss.')
  if (typeof by !== 'string' || by === '' || by.length > 255)
    throw refuse('by', 'Name who decides, in 1 to 255 characters.')
  if (typeof note !== 'string' || note.length > 1_000) throw refuse('note', 'A note has at most 1000 characters.')
  if (amount !== undefined && action === 'apply') Amount.parse(amount)
  if (amount !== undefined && action !== 'apply') throw refuse('amount', 'Only what is applied has an amount.')
  if (!Array.isArray(accepts) || !accepts.every((one) => acceptable.includes(one)))
    throw refuse(
      'accepts',
      `Only these can be accepted: ${acceptable.slice(0, -1).join(', ')} and ${acceptable.at(-1)}.`,
    )
  if (!Array.isArray(markOwners) || !markOwners.every((one) => typeof one === 'string'))
    throw refuse('markOwners', 'The owners of a wire are ids of transfers.')
}

type Decided = Pick<OpenFact, 'accepts' | 'stated' | 'markOwners' | 'isAnotherWire'>

/** Why a fact cannot be applied. */
interface HeldStill {
  readonly reason: RailExceptionReason | 'payment_not_known'
  readonly markOwner?: string | undefined
}

/** Applies a fact of its kind. Returns why a fact cannot be applied, where that is what it is held for by now. */
async function applyNow(
  tx: Tx,
  context: ServiceContext,
  fact: StoredRailFact,
  decided: Decided,
): Promise<HeldStill | undefined> {
  if (fact.kind === 'deposit' && 'addressId' in fact.payload) await creditDeposit(tx, context, fact)
  else if (isAutomationDeposit(fact)) return await creditHeldDeposit(tx, context, fact, decided)
  else if (isPayment(fact) && paymentFactOf(fact) !== undefined) return await judgeAgain(tx, context, fact, decided)
  else throw new OutlayError('conflict', 'Such a fact cannot be applied; dismiss it.', { field: 'action' })
  return undefined
}

function checkStated({ kind }: StoredRailFact, stated: Amount | undefined): void {
  if (stated === undefined || kind === 'returned') return
  throw new OutlayError('invalid_request', 'Only what came back has an amount that a person states.', {
    field: 'amount',
  })
}

/** Reasons that a person may accept. */
const acceptable: readonly (RailExceptionReason | 'payment_not_known')[] = [
  'amount_mismatch',
  'other_transaction',
  'possible_repeat',
  'reference_reused',
  'disputed',
  'reused_mark',
]

function refused({ reason, markOwner }: HeldStill, accepts: readonly RailExceptionReason[]): OutlayError {
  const isNew = acceptable.includes(reason) && !accepts.includes(reason as RailExceptionReason)
  const all = [...accepts.filter((one) => acceptable.includes(one)), reason].map((one) => `'${one}'`).join(', ')
  const owners = markOwner === undefined ? '' : ` and markOwners: ['${markOwner}']`
  const next = isNew
    ? `It is held for that by now. Read it again, and dismiss it, or apply it with accepts: [${all}]${owners}.`
    : (whatNext[reason] ?? 'Dismiss it when it is dealt with elsewhere.')
  // The caller may roll back what is written of that.
  const owner = markOwner === undefined ? '' : ` It is the wire of ${markOwner}.`
  return new OutlayError('conflict', `The fact cannot be applied: ${reason}.${owner} ${next}`, { field: 'action' })
}

/** What to do about a fact that cannot be applied, where that is not only to dismiss it. */
const whatNext: Partial<Record<RailExceptionReason | 'payment_not_known', string>> = {
  amount_mismatch:
    'Only incoming money is credited as it is, and only a settlement books a part of what leaves. Let the rail report the settlement, then apply what came back: in another currency with `amount`, which says how much of the transfer it is. No more comes back than has moved. Or dismiss it.',
  other_transaction:
    'It is another payment than that of its transfer, or what came back of one, or a quote held once. Let the rail send it back, and dismiss it.',
  reused_mark:
    'Where it is the wire of this fact, apply it with all of `markOwners`. Where that transfer was credited the wire, its money has to come back first, unless the bank has two wires of this mark: apply it with `isAnotherWire`.',
  books_nothing:
    'It would book nothing: what it says is booked, or a settlement books it. Dismiss it; where the payment came back between, let the rail report that first.',
  payment_blocked:
    'The engine waits for a person who says what became of the payment. Resolve its transfer with the reference of the fact, and apply it then.',
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
  const waiting = others.filter((one) => one.exceptionReason === 'amount_mismatch' || isReusedAlike(applied, one))
  // What came back before a payment was reported is not what came back of it.
  const isBehind = (one: StoredRailFact) => progressOf(one) === undefined && one.id > applied.id
  for (const one of waiting.filter(
    (each) => isBehind(each) || isReusedAlike(applied, each) || isSameArrival(applied, each),
  )) {
    // What is still held is another arrival, about which a person decides.
    if ((await findReceipt(tx, context, one)) !== undefined) continue
    // The engine has just accepted the payment under it, and says nothing of an observation that changes nothing.
    const { reference } = applied
    if ((await judgeAgain(tx, context, one, { reference })) !== undefined) continue
    await writeResolution(tx, context, one, resolution)
  }
}

/** True for another report of a wire that another transfer has, and that a person has applied for this one. */
function isReusedAlike(applied: StoredRailFact, other: StoredRailFact): boolean {
  if (other.exceptionReason !== 'reused_mark') return false
  const [one, two] = [progressOf(applied), progressOf(other)]
  return one !== undefined && two !== undefined && isMarkedAlike(one, two)
}

/** Applies a stored fact as if it were new. Returns why it cannot be; then it is an exception as before, or for another reason. */
async function judgeAgain(
  tx: Tx,
  context: ServiceContext,
  stored: StoredRailFact,
  known: Decided & Pick<OpenFact, 'reference'>,
): Promise<HeldStill | undefined> {
  await run(tx, context, reopen, [stored.id])
  const { outcomes, left } = await applyStored(tx, context, [{ id: stored.id, fact: paymentFactOf(stored), ...known }])
  const { reason, markOwner } = outcomes[0] ?? {}
  if (left.size === 0) return reason && { reason, markOwner }
  const { id, exceptionReason } = stored
  await finishFacts(tx, context, [{ id, reason: exceptionReason ?? undefined }])
  return { reason: 'payment_not_known' }
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

const selectOwner = statement(
  'rail_exception_select_owner',
  `select payload ->> 'markOwner' as mark_owner from {{schema}}.rail_fact where id = $1`,
  rowDecoder('rail fact', { markOwner: Column.nullable(Column.text) }),
)

const lockTransfers = statement(
  'rail_exception_lock_transfers',
  `select from {{schema}}.transfer
    where id = any ($2::text[] || (select f.transfer_id from {{schema}}.rail_fact f where f.id = $1 and f.exception_reason is not null))
    order by account_id, id
      for no key update`,
)

const nameAmount = statement(
  'rail_exception_name_amount',
  `update {{schema}}.rail_fact set payload = payload || jsonb_build_object('appliedAmount', $2::jsonb) where id = $1`,
)

const hold = statement(
  'rail_exception_hold',
  `update {{schema}}.rail_fact
      set exception_reason = $2,
          payload = case when $3::text is null then payload else payload || jsonb_build_object('markOwner', $3::text) end
    where id = $1 and resolved_at is null`,
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
