import { type Observation, TransferStatus } from '@outlay/core'
import type { ServiceContext, Tx } from '../context.ts'
import type { RailExceptionReason } from '../rail-facts/fact-kind.ts'
import { observationOf } from '../rails/gateway.ts'
import type { RailFact } from '../rails/port.ts'
import type { JudgedFact } from './judged-facts.ts'
import { advanceTransfers } from './progress.ts'
import { findOwner } from './reference-owner.ts'

/** What becomes of facts that are given to the engine. */
export interface ObservedFacts {
  /** Those that come too early, such as about payments that it does not know yet: the rail reports them again. */
  readonly left: ReadonlySet<string>
  /** Why others are not given: their reference is that of another transfer, or the engine waits for a person who says what became of the payment. */
  readonly refused: ReadonlyMap<string, RailExceptionReason>
  readonly given: readonly RailFact[]
  /** Those of them that say what the engine has said before, and the service could not do. */
  readonly repeated: readonly RailFact[]
}

/** Gives outcomes to the engine, of payments that it knows. */
export async function observeFacts(
  tx: Tx,
  context: ServiceContext,
  judged: readonly JudgedFact[],
): Promise<ObservedFacts> {
  const left = new Set(judged.flatMap(({ id, judgement }) => (judgement.outcome === 'too_early' ? [id] : [])))
  const refused = new Map<string, RailExceptionReason>()
  const given: RailFact[] = []
  const repeated: RailFact[] = []
  for (const one of judged) {
    const { id, fact, transfer, judgement } = one
    if (judgement.outcome !== 'applied' || fact === undefined || transfer === undefined) continue
    const owner = await findOwner(tx, context, fact, transfer)
    if (owner === 'own') {
      given.push(fact)
      if (await isRepeated(tx, context, one)) repeated.push(fact)
    } else if (owner === 'another') refused.set(id, 'other_reference')
    else if (owner === 'blocked') refused.set(id, 'payment_blocked')
    // One that has ended, by a cancellation before it was sent, say, needs no engine.
    else if (!TransferStatus.isFinal(transfer.status, transfer.failure)) left.add(id)
  }
  const observed = given.map((fact) => ({ accountId: fact.accountId, observations: [observationFrom(fact)] }))
  if (observed.length > 0) await context.engine.transfers.observeMany(tx, observed)
  return { left, refused, given, repeated }
}

/**
 * True for the settlement of a wire that a poll had completed in the engine, while its transfer had no wire here. Only one about which a person decides, or
 * has decided, may have lost one.
 */
async function isRepeated(tx: Tx, context: ServiceContext, { fact, transfer }: JudgedFact): Promise<boolean> {
  if (fact?.kind !== 'settled' || transfer === undefined || !transfer.awaitsWire || !transfer.hasHeld) return false
  return await isCompleteInEngine(tx, context, transfer.id)
}

/** True where the engine has said that a transfer is complete, which it says once. */
export async function isCompleteInEngine(tx: Tx, context: ServiceContext, transferId: string): Promise<boolean> {
  return (await context.engine.transfers.get(transferId, tx))?.status === 'complete'
}

/** The engine says once that a transfer is complete. The caller has written that their settlements are applied. */
export async function completeRepeated(tx: Tx, context: ServiceContext, repeated: readonly RailFact[]): Promise<void> {
  const once = new Map(repeated.map((one) => [one.transferId, one] as const))
  const steps = [...once].map(([id, { reference }]) => {
    return { id, type: 'transfer.completed', failure: null, reference } as const
  })
  if (steps.length > 0) await advanceTransfers(tx, context, steps)
}

function observationFrom(fact: RailFact): Observation {
  return observationOf({ ...fact, state: fact.kind })
}
