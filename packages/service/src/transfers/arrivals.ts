import type { ServiceContext, Tx } from '../context.ts'
import { isProgress } from '../rail-facts/arrival.ts'
import { type ArrivalMark, arrivalMarksOf, claimArrivals } from '../rail-facts/arrival-marks.ts'
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
 * that have the wires of facts already, by the ids of the facts: but for those of which a person has credited another report.
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
    const accepted = transfer.progress.filter((one) => one.isReused === true).flatMap((one) => arrivalMarksOf(one.fact))
    const isOwn = ({ kind, mark }: ArrivalMark) => accepted.some((own) => own.kind === kind && own.mark === mark)
    const marks = arrivalMarksOf(fact).map((one) => ({ ...one, isOwn: isOwn(one) }))
    const isAccepted = accepts?.includes('reused_mark')
    return [{ factId: id, transferId: transfer.id, rail: transfer.rail, marks, isAccepted, isCompared: isGone(fact) }]
  })
  const reused = await claimArrivals(tx, context, arrivals)
  // The first one of several.
  return new Map(reused.toReversed().map(({ factId, owner }) => [factId, owner]))
}

const isGone = ({ kind }: RailFact) => kind === 'returned' || kind === 'rejected'

function isOfWire(fact: RailFact, transfer: KnownTransfer, reference = transfer.reference): boolean {
  if (!transfer.awaitsWire || fact.accountId !== transfer.accountId) return false
  return reference === null || fact.reference === reference
}
