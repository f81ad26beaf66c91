import type { ServiceContext, Tx } from '../context.ts'
import { isProgress, mayBeSameArrival } from '../rail-facts/arrival.ts'
import { arrivalMarksOf, claimArrivals, type ReportedMark } from '../rail-facts/arrival-marks.ts'
import type { RailExceptionReason } from '../rail-facts/fact-kind.ts'
import type { RailFact } from '../rails/port.ts'
import type { KnownTransfer } from './known-transfer.ts'

/** A fact that is to be applied, as far as it is about an arrival. */
interface ArrivedFact {
  readonly id: string
  readonly fact: RailFact | undefined
  readonly reference?: string | undefined
  readonly accepts?: readonly RailExceptionReason[] | undefined
}

/**
 * Writes whose wires facts report, where they name their transfers rightly. What says that a wire went back is only compared. Resolves with the transfers
 * that have the wires of facts already, by the ids of the facts. A person who credits one all the same gives its wire to its transfer: then the further
 * reports of the other one have it no more, also those without its mark.
 */
export async function findMarkOwners(
  tx: Tx,
  context: Pick<ServiceContext, 'schema'>,
  open: readonly ArrivedFact[],
  known: ReadonlyMap<string, KnownTransfer | undefined>,
): Promise<ReadonlyMap<string, string>> {
  const arrivals = open.flatMap(({ id, fact, reference, accepts }) => {
    const transfer = known.get(id)
    if (fact === undefined || transfer === undefined || !(isProgress(fact) || isGone(fact))) return []
    if (!isOfWire(fact, transfer, reference)) return []
    const isAccepted = accepts?.includes('reused_mark')
    const own = arrivalMarksOf(fact).map((one) => ({ ...one, isCompared: isGone(fact) }))
    const marks = [...own, ...appliedMarksOf(fact, transfer)]
    return [{ factId: id, transferId: transfer.id, rail: transfer.rail, marks, isAccepted }]
  })
  const reused = await claimArrivals(tx, context, arrivals)
  // The first one of several.
  return new Map(reused.toReversed().map(({ factId, owner }) => [factId, owner]))
}

/** Marks of the wire that was applied, where progress may be about that. A person may have given it to another transfer. */
function appliedMarksOf(fact: RailFact, { progress }: KnownTransfer): readonly ReportedMark[] {
  if (!isProgress(fact)) return []
  const applied = progress.filter((one) => one.isApplied && mayBeSameArrival(fact, one.fact))
  return applied.flatMap((one) => arrivalMarksOf(one.fact)).map((one) => ({ ...one, isCompared: true }))
}

const isGone = ({ kind }: RailFact) => kind === 'returned' || kind === 'rejected'

function isOfWire(fact: RailFact, transfer: KnownTransfer, reference = transfer.reference): boolean {
  if (!transfer.awaitsWire || fact.accountId !== transfer.accountId) return false
  return reference === null || fact.reference === reference
}
