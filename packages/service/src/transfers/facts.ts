import { type Observation, TransferStatus } from '@outlay/core'
import { inTransaction, type ServiceContext, type Tx } from '../context.ts'
import { afterConflicts, sqlStateOf } from '../database/conflict.ts'
import { mayPass } from '../database/passing-error.ts'
import { asSystem } from '../database/tenant.ts'
import { bookMany, type PostedStep, planReceipt } from '../ledger/ledger.ts'
import { afterFact, type Judgement, judgeFact } from '../rail-facts/judgement.ts'
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
import { unstorable } from '../rail-facts/unreadable-fact.ts'
import { observationOf } from '../rails/gateway.ts'
import type { RailFact, RailFactListener } from '../rails/port.ts'
import { type AppliedFact, writeDetails } from './details.ts'
import { addReturns, claimFacts, type KnownTransfer } from './known-transfer.ts'
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
 * When that fails because of what a fact says, the facts are applied one by one, and what cannot be applied alone is an exception, too.
 *
 * A fact about a payment whose reference the engine does not know yet is stored but not accepted. The rail reports it again.
 */
export function applyFacts(context: ServiceContext): RailFactListener {
  return async (facts) => {
    const said = facts.map(readPaymentFact)
    const stored = await record(context, said)
    // A batch may say the same twice.
    const first = new Map(stored.map(({ id }, index) => [id, index] as const).toReversed())
    const open = stored
      .filter((one, index) => !isFinished(one) && first.get(one.id) === index)
      .map((one) => ({ id: one.id, fact: isPayment(one) ? paymentFactOf(one) : undefined }))
    const left = open.length === 0 ? none : await applyOrSplit(context, open)
    const references = said.map(({ reference }) => reference as string)
    const waiting = new Set(references.filter((_, index) => left.has(stored[index]?.id ?? '')))
    return new Set(references.filter((reference) => !waiting.has(reference)))
  }
}

const none: ReadonlySet<string> = new Set()

async function record(context: ServiceContext, said: readonly ReadPaymentFact[]): Promise<readonly RecordedRailFact[]> {
  const system = asSystem(context)
  const rows = said.map(({ row }) => row)
  const alone = async (row: NewRailFact) =>
    await unlessAtFault(recordFact(system, context, row), () => recordFact(system, context, unstorable(row)))
  return await unlessAtFault(recordFacts(system, context, rows), async () => {
    const stored = []
    for (const row of rows) stored.push(await alone(row))
    return stored
  })
}

/** Applies stored facts, one by one when they fail together, since a fact of one tenant must not stop those of others. */
async function applyOrSplit(context: ServiceContext, open: readonly OpenFact[]): Promise<ReadonlySet<string>> {
  return await unlessAtFault(applyOpen(context, open), async () => {
    const left = new Set<string>()
    for (const one of open) {
      const alone = await unlessAtFault(applyOpen(context, [one]), (error) => refuse(context, one, error))
      for (const id of alone) left.add(id)
    }
    return left
  })
}

/** Makes an exception of a fact that cannot be applied. The error may quote it, so only its name is logged. */
async function refuse(context: ServiceContext, one: OpenFact, error: unknown): Promise<ReadonlySet<string>> {
  const name = sqlStateOf(error) ?? (error instanceof Error ? error.name : typeof error)
  context.logger.warn({ factId: one.id, error: name }, 'A fact of a rail could not be applied.')
  const outcome = { id: one.id, reason: 'apply_failed' } as const
  await finishFacts(asSystem(context), context, [outcome])
  reportExceptions(context, exceptionsOf([one], [outcome]))
  return none
}

/** Resolves as the work does, or as the other does when the work fails for another reason than the state of the database. */
async function unlessAtFault<T>(work: Promise<T>, otherwise: (error: unknown) => Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (mayPass(error)) throw error
    return await otherwise(error)
  }
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
  const known = await addReturns(tx, context, await claimFacts(tx, context, ids))
  const judged = judgeAll(context, open, known)
  const left = await observe(tx, context, judged)
  const decided = judged.filter(({ id }) => !left.has(id))
  await writeDetails(tx, context, decided.flatMap(detailsOf))
  await bookMany(tx, context, decided.flatMap(receiptsOf))
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
    const changed = await context.engine.transfers.observe(tx, group[0]?.fact?.accountId ?? '', observations)
    // If the engine does not know one of them yet, the rail reports all of them again; by then the engine knows each.
    const isSure = needsNoEngine(group[0]?.transfer) || changed === group.length
    if (!isSure) for (const { id } of group) left.add(id)
  }
  return left
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
  return [{ transferId: transfer.id, fact, post: transfer.post, received: judgement.received }]
}

/** Incoming money that is held is in the settlement account until a person has resolved its fact. */
function receiptsOf({ id, transfer, judgement }: JudgedFact): readonly PostedStep[] {
  if (transfer === undefined || judgement.outcome !== 'exception' || judgement.receipt === undefined) return []
  const { value, currency } = judgement.receipt
  const lines = planReceipt({ valueType: currency, transferType: transfer.rail }, value)
  return [{ posting: id, step: 'deposit', lines }]
}

function returnsOf({ id, fact, transfer, judgement }: JudgedFact): readonly NewReturn[] {
  if (fact === undefined || transfer === undefined || judgement.outcome !== 'returned_late') return []
  return [{ id, fact, transfer }]
}

function outcomeOf({ id, transfer, judgement }: JudgedFact): RailFactOutcome {
  const rail = transfer?.rail
  return judgement.outcome === 'exception' ? { id, rail, reason: judgement.reason } : { id, rail }
}
