import { type Amount, TransferStatus } from '@outlay/core'
import { inWorkerTransaction, type ServiceContext, type Tx } from '../context.ts'
import { afterConflicts, sqlStateOf } from '../database/conflict.ts'
import { isAboutContent, isInTheWay, isLocked, isTimedOut, isUnstorable } from '../database/passing-error.ts'
import { asWorker } from '../database/tenant.ts'
import { bookMany } from '../ledger/ledger.ts'
import { afterFact } from '../rail-facts/after-fact.ts'
import type { WireConsent } from '../rail-facts/arrival-marks.ts'
import { judgeFact, withoutOutdated } from '../rail-facts/judgement.ts'
import { inMovedCurrency, scaleOf } from '../rail-facts/moved-amount.ts'
import { isPayment, paymentFactOf, type ReadPaymentFact, readPaymentFact } from '../rail-facts/payment-fact.ts'
import {
  finishFacts,
  isFinished,
  type NewRailFact,
  type RailFactOutcome,
  type RecordedRailFact,
  recordFact,
  recordFacts,
} from '../rail-facts/rail-facts.ts'
import { type NewRailException, reportExceptions } from '../rail-facts/reporting.ts'
import { unnamed, unstorable } from '../rail-facts/unreadable-fact.ts'
import type { RailFact, RailFactListener } from '../rails/port.ts'
import { findMarkOwners, type MarkOwner } from './arrivals.ts'
import { type AppliedFact, writeDetails } from './details.ts'
import { type JudgedFact, postingsOf, refusedFor } from './judged-facts.ts'
import { addEarlierFacts, claimFacts, type KnownTransfer } from './known-transfer.ts'
import { createLockedTransfers, type LockedTransfers } from './locked-transfers.ts'
import { completeRepeated, observeFacts } from './observed-facts.ts'
import { type NewReturn, takeBackDeposits, writeMovedAgain, writeReturns } from './returns.ts'
import { createOnce } from './waiting-facts.ts'

/** A stored fact without an outcome. */
export interface OpenFact extends WireConsent {
  readonly id: string
  /** `undefined` for one that cannot be read. */
  readonly fact: RailFact | undefined
  /** The reference of its payment, where the engine knows it and the transfer does not have it yet. */
  readonly reference?: string | undefined
  /** What came back, as a person states it in the currency of the transfer. */
  readonly stated?: Amount | undefined
}

/**
 * Makes the listener for facts of the rails. It reads and stores a batch, and then applies what is new of it as it was stored, in one
 * transaction: details of legs are written to the transfers, outcomes go to the engine, and what contradicts the transfers becomes an exception.
 * When that fails, the facts are applied one by one, unless the database is in the way of all. A transfer that another transaction has locked is set
 * aside with its facts, and tried again after a pause. What cannot be applied alone because of what it says is
 * an exception, too.
 *
 * Not accepted is a fact about a payment whose reference the engine does not know yet, one that is not stored although its values can be, and one
 * that cannot be applied for a reason that may pass. The rail reports them again.
 */
export function applyFacts(context: ServiceContext): RailFactListener {
  const aside = createLockedTransfers()
  const isFirst = createOnce()
  return async (facts) => {
    const said = facts.map(readPaymentFact)
    const recorded = await record(context, said)
    const stored = recorded.filter((one) => one !== undefined)
    // A batch may say the same twice.
    const first = new Map(stored.map(({ id }, index) => [id, index] as const).toReversed())
    const open = stored
      .filter((one, index) => !isFinished(one) && first.get(one.id) === index)
      .map((one) => ({ id: one.id, fact: isPayment(one) ? paymentFactOf(one) : undefined }))
    const left = open.length === 0 ? none : await applyOrSplit(context, aside, open)
    for (const { id, transferId } of stored.filter((one) => !one.isNew && left.has(one.id) && isFirst(one.id)))
      context.logger.info({ factId: id, transferId }, 'A fact of a rail was reported again, and still waits.')
    const references = said.map(({ reference }) => reference as string)
    const isWaiting = (one: RecordedRailFact | undefined) => one === undefined || left.has(one.id)
    const waiting = new Set(references.filter((_, index) => isWaiting(recorded[index])))
    return new Set(references.filter((reference) => !waiting.has(reference)))
  }
}

const none: ReadonlySet<string> = new Set()

/** Stores facts, one by one when that fails together. `undefined` for one that is not stored. */
async function record(
  context: ServiceContext,
  said: readonly ReadPaymentFact[],
): Promise<readonly (RecordedRailFact | undefined)[]> {
  const rows = said.map(({ row }) => row)
  try {
    return await recordFacts(asWorker(context), context, rows)
  } catch (error) {
    if (stopsStoring(error)) throw error
  }
  const stored = []
  for (const row of rows) stored.push(await recordAlone(context, row))
  return stored
}

/**
 * Stores a fact with as much of it as Postgres can store. Where something else refuses it, such as a constraint, it stays with its rail: what is not
 * stored must not be accepted.
 */
async function recordAlone(context: ServiceContext, row: NewRailFact): Promise<RecordedRailFact | undefined> {
  let error: unknown
  for (const one of [row, unstorable(row), unnamed(row)]) {
    try {
      return await recordFact(asWorker(context), context, one)
    } catch (thrown) {
      if (stopsStoring(thrown)) throw thrown
      error = thrown
    }
    if (!isUnstorable(error)) break
  }
  context.logger.warn(
    { error: nameOf(error) },
    'A fact of a rail could not be stored; the rail has to report it again.',
  )
  return undefined
}

/** True for an error of one transfer alone: a lock that only its facts need, or a statement that takes too long, as over very many facts. */
const isOfOne = (error: unknown): boolean => isLocked(error) || isTimedOut(error)

/** True for an error that what is tried next runs into as well. */
const stopsAll = (error: unknown): boolean => isInTheWay(error) && !isOfOne(error)

/** The same while facts are stored, which no other facts of a transfer make slow. */
const stopsStoring = (error: unknown): boolean => isInTheWay(error) && !isLocked(error)

/**
 * Applies stored facts, one by one when they fail together, since a fact of one tenant must not stop those of others. What is set aside because of
 * a lock is applied by itself, once its time has come.
 */
async function applyOrSplit(
  context: ServiceContext,
  aside: LockedTransfers,
  open: readonly OpenFact[],
): Promise<ReadonlySet<string>> {
  // Read once for each transfer, whose facts stay in their order.
  const states = new Map(open.map(({ fact }) => [fact?.transferId, aside.stateOf(fact?.transferId)] as const))
  const groups = Map.groupBy(open, ({ fact }) => states.get(fact?.transferId) ?? 'free')
  const left = new Set(groups.get('locked')?.map(({ id }) => id))
  const free = groups.get('free') ?? []
  try {
    if (free.length > 0) for (const id of await applyOpen(context, free)) left.add(id)
  } catch (error) {
    if (stopsAll(error)) throw error
    for (const id of await applyEach(context, aside, free)) left.add(id)
  }
  const due = groups.get('due') ?? []
  try {
    for (const id of await applyEach(context, aside, due)) left.add(id)
  } catch (error) {
    if (stopsAll(error)) throw error
    // Those of them that have an outcome have it; the others come again, and keep nothing of the batch from being acknowledged.
    for (const { id } of due) left.add(id)
  }
  return left
}

/**
 * Applies facts one by one, in their order: behind one whose transfer is locked, the others of that transfer wait, too. Where several in a row take too
 * long, so does the database, and the rest would wait for each.
 */
async function applyEach(
  context: ServiceContext,
  aside: LockedTransfers,
  open: readonly OpenFact[],
): Promise<ReadonlySet<string>> {
  const left = new Set<string>()
  const locked = new Set<string>()
  let slow = 0
  for (const one of open) {
    const transferId = one.fact?.transferId
    if (transferId !== undefined && locked.has(transferId)) {
      left.add(one.id)
      continue
    }
    const lockMs = locked.size < mostPatient ? patientMs : impatientMs
    const outcome = await applyAlone(context, one, lockMs)
    slow = isTimedOut(outcome.error) ? slow + 1 : 0
    for (const id of outcome.left) left.add(id)
    if (transferId === undefined) continue
    if (!isOfOne(outcome.error)) aside.forget(transferId)
    else {
      locked.add(transferId)
      aside.add(transferId)
    }
    if (slow >= mostSlow) throw outcome.error
  }
  return left
}

/** How long a fact that is applied alone waits for a lock, in milliseconds; and in a batch of which so many transfers are locked. */
const patientMs = 250
const impatientMs = 25
const mostPatient = 8

/** How many facts in a row may take too long. */
const mostSlow = 4

interface AppliedAlone {
  readonly left: ReadonlySet<string>
  /** Why it is left, where that may pass. */
  readonly error?: unknown
}

async function applyAlone(context: ServiceContext, one: OpenFact, lockMs: number): Promise<AppliedAlone> {
  try {
    return { left: await applyOpen(context, [one], lockMs) }
  } catch (error) {
    if (stopsAll(error)) throw error
    if (isAboutContent(error)) return { left: await refuse(context, one, error) }
    const fields = { factId: one.id, error: nameOf(error) }
    context.logger.warn(fields, 'A fact of a rail could not be applied yet; the rail has to report it again.')
    return { left: new Set([one.id]), error }
  }
}

/** Makes an exception of a fact that cannot be applied. The error may quote it, so only its name is logged. */
async function refuse(context: ServiceContext, one: OpenFact, error: unknown): Promise<ReadonlySet<string>> {
  context.logger.warn({ factId: one.id, error: nameOf(error) }, 'A fact of a rail could not be applied.')
  const outcome = { id: one.id, reason: 'apply_failed' } as const
  try {
    await finishFacts(asWorker(context), context, [outcome])
  } catch (failure) {
    if (isOfOne(failure)) return new Set([one.id])
    throw failure
  }
  reportExceptions(context, exceptionsOf([one], [outcome]))
  return none
}

function nameOf(error: unknown): string {
  return sqlStateOf(error) ?? (error instanceof Error ? error.name : typeof error)
}

/** Applies stored facts. Resolves with the ids of those that have no outcome yet. */
async function applyOpen(
  context: ServiceContext,
  open: readonly OpenFact[],
  lockMs?: number,
): Promise<ReadonlySet<string>> {
  const apply = () => inWorkerTransaction(context, (tx) => applyStored(tx, context, open), lockMs)
  const { outcomes, left } = await afterConflicts(apply)
  reportExceptions(context, exceptionsOf(open, outcomes))
  const known = await findReferences(
    context,
    open.filter(({ id }) => left.has(id)),
  )
  if (known.length === 0) return left
  const again = await applyOpen(context, known, lockMs)
  const isKnown = new Set(known.map(({ id }) => id))
  return new Set([...left].filter((id) => !isKnown.has(id) || again.has(id)))
}

/** The facts whose payments the engine knows by now, each with the reference that it knows. It may not have delivered its event yet. */
async function findReferences(context: ServiceContext, left: readonly OpenFact[]): Promise<readonly OpenFact[]> {
  const found: OpenFact[] = []
  for (const one of left) {
    const stored = await context.engine.transfers.get(one.fact?.transferId ?? '')
    if (stored?.remoteId != null && one.reference === undefined) found.push({ ...one, reference: stored.remoteId })
  }
  return found
}

/** The exceptions among the outcomes of facts. */
function exceptionsOf(open: readonly OpenFact[], outcomes: readonly RailFactOutcome[]): readonly NewRailException[] {
  const kinds = new Map(open.map(({ id, fact }) => [id, fact?.kind ?? 'unreadable'] as const))
  return outcomes.flatMap(({ id, rail, reason }) =>
    reason === undefined ? [] : [{ id, rail, reason, kind: kinds.get(id) ?? 'unreadable' }],
  )
}

/**
 * Applies stored facts in the caller's transaction, and writes their outcomes. In `left` are those whose payment the engine does not know
 * yet.
 */
export async function applyStored(
  tx: Tx,
  context: ServiceContext,
  open: readonly OpenFact[],
): Promise<{ readonly outcomes: readonly RailFactOutcome[]; readonly left: ReadonlySet<string> }> {
  const ids = open.map(({ id }) => id)
  const known = await addEarlierFacts(tx, context, await claimFacts(tx, context, ids))
  const owners = await findMarkOwners(tx, context, open, known)
  const judged = judgeAll(context, open, known, owners)
  const { left, refused, given, repeated } = await observeFacts(tx, context, judged)
  const decided = judged.flatMap((one) => {
    if (left.has(one.id)) return []
    const reason = refused.get(one.id)
    return reason === undefined ? [one] : [refusedFor(context.catalog, one, reason, given)]
  })
  await writeDetails(tx, context, decided.flatMap(detailsOf))
  await bookMany(tx, context, postingsOf(decided))
  await writeReturns(
    tx,
    context,
    decided.flatMap((one) => returnOf(one, 'returned_late')),
  )
  for (const one of decided.flatMap((each) => returnOf(each, 'moved_again'))) await writeMovedAgain(tx, context, one)
  await takeBackDeposits(tx, context, decided.flatMap(goneDepositsOf))
  // Also of what a person credits all the same.
  const outcomes = decided.map((one) => ({ ...outcomeOf(one), markOwner: owners.get(one.id)?.id }))
  await finishFacts(tx, context, outcomes)
  await completeRepeated(tx, context, repeated)
  return { outcomes, left }
}

/** Judges facts in their order: each finds its transfer as the ones before it leave it. */
function judgeAll(
  context: ServiceContext,
  open: readonly OpenFact[],
  known: ReadonlyMap<string, KnownTransfer | undefined>,
  owners: ReadonlyMap<string, MarkOwner>,
): readonly JudgedFact[] {
  const latest = new Map<string, KnownTransfer>()
  const judge = ({ id, fact: said, reference, accepts, stated }: OpenFact): JudgedFact => {
    if (said === undefined) {
      return { id, fact: undefined, transfer: undefined, judgement: { outcome: 'exception', reason: 'unreadable' } }
    }
    const found = latest.get(said.transferId) ?? known.get(id)
    const transfer = found && reference !== undefined ? { ...found, reference, hasReference: true } : found
    const fact = transfer === undefined ? said : inMovedCurrency(said, transfer)
    const policy = context.amountPolicy ?? 'hold'
    const scale = scaleOf(context.catalog, transfer?.amount.currency)
    const owner = owners.get(id)
    const markOwner = owner?.isAccepted === false ? owner.id : undefined
    const judgement = judgeFact(fact, transfer, { policy, scale, accepts, stated, markOwner })
    if (transfer !== undefined) latest.set(transfer.id, afterFact(transfer, fact, judgement))
    return { id, fact, transfer, judgement }
  }
  return open.filter(({ id }) => known.has(id)).map(judge)
}

function detailsOf({ fact, transfer, judgement }: JudgedFact): readonly AppliedFact[] {
  if (judgement.outcome !== 'applied' || fact === undefined || transfer === undefined) return []
  return [
    {
      transferId: transfer.id,
      fact: withoutOutdated(fact, transfer),
      post: transfer.post,
      received: judgement.received,
    },
  ]
}

function returnOf(
  { id, fact, transfer, judgement }: JudgedFact,
  outcome: 'returned_late' | 'moved_again',
): readonly NewReturn[] {
  if (fact === undefined || transfer === undefined || judgement.outcome !== outcome) return []
  const { unsent, stated } = judgement.outcome === 'returned_late' ? judgement : {}
  return [{ id, fact: { ...fact, amount: unsent ?? stated ?? fact.amount }, transfer }]
}

/** Deposits that go back after their mint has failed, or was canceled. Of one that ends with it, the end says so. */
function goneDepositsOf({ fact, transfer, judgement }: JudgedFact): readonly string[] {
  if (judgement.outcome !== 'applied' || fact?.kind !== 'returned' || transfer?.depositRail == null) return []
  if (judgement.takenBack !== undefined) return []
  const { id, status, failure } = transfer
  return status !== 'complete' && TransferStatus.isFinal(status, failure) ? [id] : []
}

function outcomeOf({ id, transfer, judgement }: JudgedFact): RailFactOutcome {
  const rail = transfer?.rail
  if (judgement.outcome !== 'exception') return { id, rail }
  return { id, rail, reason: judgement.reason }
}
