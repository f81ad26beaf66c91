import { Amount, type Observation, TransferStatus } from '@outlay/core'
import { inTransaction, type ServiceContext, type Tx } from '../context.ts'
import { afterConflicts, sqlStateOf } from '../database/conflict.ts'
import { isAboutContent, isInTheWay, isUnstorable } from '../database/passing-error.ts'
import { asSystem } from '../database/tenant.ts'
import { bookMany, type PostedStep, planReceipt } from '../ledger/ledger.ts'
import { afterFact, type Judgement, judgeFact, withoutOutdated } from '../rail-facts/judgement.ts'
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
import { observationOf } from '../rails/gateway.ts'
import type { RailFact, RailFactListener } from '../rails/port.ts'
import { type AppliedFact, writeDetails } from './details.ts'
import { addEarlierFacts, claimFacts, type KnownTransfer } from './known-transfer.ts'
import { type NewReturn, writeReturns } from './returns.ts'

/** A stored fact without an outcome. */
export interface OpenFact {
  readonly id: string
  /** `undefined` for one that cannot be read. */
  readonly fact: RailFact | undefined
  /** The reference of its payment, where the engine knows it and the transfer does not have it yet. */
  readonly reference?: string | undefined
  /** A person has accepted the amount, whatever the transfer says, or that it is another return. */
  readonly acceptsAmount?: boolean | undefined
}

/**
 * Makes the listener for facts of the rails. It reads and stores a batch, and then applies what is new of it as it was stored, in one
 * transaction: details of legs are written to the transfers, outcomes go to the engine, and what contradicts the transfers becomes an exception.
 * When that fails, the facts are applied one by one, unless the database is in the way of all. What cannot be applied alone because of what it says is
 * an exception, too.
 *
 * Not accepted is a fact about a payment whose reference the engine does not know yet, one that is not stored although its values can be, and one
 * that cannot be applied for a reason that may pass. The rail reports them again.
 */
export function applyFacts(context: ServiceContext): RailFactListener {
  return async (facts) => {
    const said = facts.map(readPaymentFact)
    const recorded = await record(context, said)
    const stored = recorded.filter((one) => one !== undefined)
    // A batch may say the same twice.
    const first = new Map(stored.map(({ id }, index) => [id, index] as const).toReversed())
    const open = stored
      .filter((one, index) => !isFinished(one) && first.get(one.id) === index)
      .map((one) => ({ id: one.id, fact: isPayment(one) ? paymentFactOf(one) : undefined }))
    const left = open.length === 0 ? none : await applyOrSplit(context, open)
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
    return await recordFacts(asSystem(context), context, rows)
  } catch (error) {
    if (isInTheWay(error)) throw error
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
      return await recordFact(asSystem(context), context, one)
    } catch (thrown) {
      if (isInTheWay(thrown)) throw thrown
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

/** Applies stored facts, one by one when they fail together, since a fact of one tenant must not stop those of others. */
async function applyOrSplit(context: ServiceContext, open: readonly OpenFact[]): Promise<ReadonlySet<string>> {
  try {
    return await applyOpen(context, open)
  } catch (error) {
    if (isInTheWay(error)) throw error
  }
  const left = new Set<string>()
  for (const one of open) for (const id of await applyAlone(context, one)) left.add(id)
  return left
}

async function applyAlone(context: ServiceContext, one: OpenFact): Promise<ReadonlySet<string>> {
  try {
    return await applyOpen(context, [one])
  } catch (error) {
    if (isInTheWay(error)) throw error
    if (isAboutContent(error)) return await refuse(context, one, error)
    const fields = { factId: one.id, error: nameOf(error) }
    context.logger.warn(fields, 'A fact of a rail could not be applied yet; the rail has to report it again.')
    return new Set([one.id])
  }
}

/** Makes an exception of a fact that cannot be applied. The error may quote it, so only its name is logged. */
async function refuse(context: ServiceContext, one: OpenFact, error: unknown): Promise<ReadonlySet<string>> {
  context.logger.warn({ factId: one.id, error: nameOf(error) }, 'A fact of a rail could not be applied.')
  const outcome = { id: one.id, reason: 'apply_failed' } as const
  await finishFacts(asSystem(context), context, [outcome])
  reportExceptions(context, exceptionsOf([one], [outcome]))
  return none
}

function nameOf(error: unknown): string {
  return sqlStateOf(error) ?? (error instanceof Error ? error.name : typeof error)
}

/** Applies stored facts. Resolves with the ids of those that have no outcome yet. */
async function applyOpen(context: ServiceContext, open: readonly OpenFact[]): Promise<ReadonlySet<string>> {
  const apply = () => inTransaction(context, (tx) => applyStored(tx, context, open))
  const { outcomes, left } = await afterConflicts(apply)
  reportExceptions(context, exceptionsOf(open, outcomes))
  const known = await findReferences(
    context,
    open.filter(({ id }) => left.has(id)),
  )
  if (known.length === 0) return left
  const again = await applyOpen(context, known)
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
  const judged = judgeAll(context, open, known)
  const left = await observe(tx, context, judged)
  const decided = judged.filter(({ id }) => !left.has(id))
  await writeDetails(tx, context, decided.flatMap(detailsOf))
  await bookMany(tx, context, [...decided.flatMap(receiptsOf), ...decided.flatMap(releasesOf)])
  await writeReturns(tx, context, decided.flatMap(returnsOf))
  const outcomes = decided.map(outcomeOf)
  await finishFacts(tx, context, outcomes)
  return { outcomes, left }
}

/** A fact, the transfer that it found, and what becomes of it. */
interface JudgedFact {
  readonly id: string
  readonly fact: RailFact | undefined
  readonly transfer: KnownTransfer | undefined
  readonly judgement: Judgement
}

/** Judges facts in their order: each finds its transfer as the ones before it leave it. */
function judgeAll(
  context: ServiceContext,
  open: readonly OpenFact[],
  known: ReadonlyMap<string, KnownTransfer | undefined>,
): readonly JudgedFact[] {
  const latest = new Map<string, KnownTransfer>()
  const judge = ({ id, fact, reference, acceptsAmount }: OpenFact): JudgedFact => {
    if (fact === undefined) {
      return { id, fact, transfer: undefined, judgement: { outcome: 'exception', reason: 'unreadable' } }
    }
    const found = latest.get(fact.transferId) ?? known.get(id)
    const transfer = found && reference !== undefined ? { ...found, reference, hasReference: true } : found
    const policy = context.amountPolicy ?? 'hold'
    const scale = context.catalog.valueType(transfer?.amount.currency ?? '')?.scale ?? 0
    const judgement = judgeFact(fact, transfer, { policy, scale, acceptsAmount })
    if (transfer !== undefined) latest.set(transfer.id, afterFact(transfer, fact, judgement))
    return { id, fact, transfer, judgement }
  }
  return open.filter(({ id }) => known.has(id)).map(judge)
}

/**
 * Gives outcomes to the engine. Returns the facts that come too early, such as those about payments that it does not know yet: the rail
 * reports them again.
 */
async function observe(tx: Tx, context: ServiceContext, judged: readonly JudgedFact[]): Promise<ReadonlySet<string>> {
  const left = new Set(judged.flatMap(({ id, judgement }) => (judgement.outcome === 'too_early' ? [id] : [])))
  const applied = judged.filter(({ judgement }) => judgement.outcome === 'applied')
  const groups = Map.groupBy(applied, ({ fact, transfer }) => `${needsNoEngine(transfer)} ${fact?.accountId}`)
  for (const group of groups.values()) {
    const observations = group.flatMap(({ fact }) => (fact === undefined ? [] : [observationFrom(fact)]))
    const report = () => context.engine.transfers.observe(tx, group[0]?.fact?.accountId ?? '', observations)
    // If the engine does not know one of them yet, the rail reports all of them again; by then the engine knows each. Until then it receives
    // none: a transfer that it ends is posted without what the fact says of the amount.
    const isSure = needsNoEngine(group[0]?.transfer)
      ? await report().then(() => true)
      : await keepIf(tx, async () => (await report()) === group.length)
    if (!isSure) for (const { id } of group) left.add(id)
  }
  return left
}

/** Takes back what was written unless it resolves with true. */
async function keepIf(tx: Tx, write: () => Promise<boolean>): Promise<boolean> {
  await tx.query('savepoint facts_of_account')
  const isKept = await write()
  await tx.query(`${isKept ? '' : 'rollback to savepoint facts_of_account; '}release savepoint facts_of_account`)
  return isKept
}

/** True for a transfer whose payment the engine knows, and for one that has ended, by a cancellation before it was sent, say. */
function needsNoEngine(transfer: KnownTransfer | undefined): boolean {
  return transfer !== undefined && (transfer.hasReference || TransferStatus.isFinal(transfer.status, transfer.failure))
}

function observationFrom(fact: RailFact): Observation {
  return observationOf({ ...fact, state: fact.kind })
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

function returnsOf({ id, fact, transfer, judgement }: JudgedFact): readonly NewReturn[] {
  if (fact === undefined || transfer === undefined || judgement.outcome !== 'returned_late') return []
  return [{ id, fact, transfer }]
}

function outcomeOf({ id, transfer, judgement }: JudgedFact): RailFactOutcome {
  const rail = transfer?.rail
  return judgement.outcome === 'exception' ? { id, rail, reason: judgement.reason } : { id, rail }
}
