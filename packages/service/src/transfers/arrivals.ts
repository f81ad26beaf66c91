import type { ServiceContext, Tx } from '../context.ts'
import { isProgress } from '../rail-facts/arrival.ts'
import { arrivalMarksOf, claimArrivals, findArrivals, type ReusedMark } from '../rail-facts/arrival-marks.ts'
import type { RailFact } from '../rails/port.ts'
import type { KnownTransfer } from './known-transfer.ts'

/** A fact that is to be applied, as far as it is about an arrival. */
interface ArrivedFact {
  readonly id: string
  readonly fact: RailFact | undefined
  readonly reference?: string | undefined
}

/**
 * Writes whose wires facts report, where they name their transfers rightly. What says that a wire went back is only compared. Resolves with the transfers that have the wires of facts already, by the ids
 * of the facts: but for those that a person has accepted for their own.
 */
export async function findMarkOwners(
  tx: Tx,
  context: Pick<ServiceContext, 'schema'>,
  open: readonly ArrivedFact[],
  known: ReadonlyMap<string, KnownTransfer | undefined>,
): Promise<ReadonlyMap<string, string>> {
  const arrivals = (isOf: (fact: RailFact) => boolean) =>
    open.flatMap(({ id, fact, reference }) => {
      const transfer = known.get(id)
      if (fact === undefined || transfer === undefined || !isOf(fact)) return []
      if (!isOfWire(fact, transfer, reference)) return []
      return [{ factId: id, transferId: transfer.id, rail: transfer.rail, marks: arrivalMarksOf(fact) }]
    })
  const reused: readonly ReusedMark[] = [
    ...(await claimArrivals(tx, context, arrivals(isProgress))),
    ...(await findArrivals(tx, context, arrivals(isGone))),
  ]
  const owners = new Map<string, string>()
  for (const [factId, marks] of Map.groupBy(reused, (one) => one.factId)) {
    const applied = known.get(factId)?.progress.filter((one) => one.isApplied) ?? []
    const ownMarks = applied.flatMap((one) => arrivalMarksOf(one.fact))
    const isOwn = ({ kind, mark }: ReusedMark) => ownMarks.some((own) => own.kind === kind && own.mark === mark)
    // A person has applied a report with a mark of these transfers, whose other marks name the same wire.
    const accepted = new Set(marks.filter(isOwn).map(({ owner }) => owner))
    const other = marks.find(({ owner }) => !accepted.has(owner))
    if (other !== undefined) owners.set(factId, other.owner)
  }
  return owners
}

const isGone = ({ kind }: RailFact) => kind === 'returned' || kind === 'rejected'

function isOfWire(fact: RailFact, transfer: KnownTransfer, reference = transfer.reference): boolean {
  if (!transfer.awaitsWire || fact.accountId !== transfer.accountId) return false
  return reference === null || fact.reference === reference
}
