import type { ServiceContext, Tx } from '../context.ts'
import { isProgress, mayBeSameArrival } from '../rail-facts/arrival.ts'
import {
  type ArrivalMark,
  arrivalMarksOf,
  claimArrivals,
  consentsTo,
  type ReusedWire,
  type WireConsent,
} from '../rail-facts/arrival-marks.ts'
import type { RailFact } from '../rails/port.ts'
import type { KnownTransfer } from './known-transfer.ts'

/** A fact that is to be applied, as far as it is about an arrival. */
interface ArrivedFact extends WireConsent {
  readonly id: string
  readonly fact: RailFact | undefined
  readonly reference?: string | undefined
}

/** Another transfer that has the wire of a fact. */
export interface MarkOwner {
  readonly id: string
  /** True where a person credits the wire all the same. */
  readonly isAccepted: boolean
}

/**
 * Writes whose wires facts report, where they name their transfers rightly. What says that a wire went back is only compared. Resolves with the transfers
 * that have the wires of facts already, by the ids of the facts. A person who credits one all the same gives its wire to its transfer, also by a report
 * without its mark: then the further reports of the other one have it no more. Of what went back or was refused, whose wire it is stays as it is.
 */
export async function findMarkOwners(
  tx: Tx,
  context: Pick<ServiceContext, 'schema'>,
  open: readonly ArrivedFact[],
  known: ReadonlyMap<string, KnownTransfer | undefined>,
): Promise<ReadonlyMap<string, MarkOwner>> {
  const consents = new Map(open.map((one) => [one.id, one] as const))
  const arrivals = open.flatMap(({ id, fact, reference, accepts, isAnotherWire = false }) => {
    const transfer = known.get(id)
    if (fact === undefined || transfer === undefined || !(isProgress(fact) || isGone(fact))) return []
    if (!isOfWire(fact, transfer, reference)) return []
    const isAccepted = accepts?.includes('reused_mark')
    const own = arrivalMarksOf(fact).map((one) => ({ ...one, isCompared: isGone(fact) }))
    const isGiven = isAccepted === true && !isAnotherWire
    const marks = [...own, ...knownMarksOf(fact, transfer).map((one) => ({ ...one, isCompared: !isGiven }))]
    return [{ factId: id, transferId: transfer.id, rail: transfer.rail, marks, isAccepted }]
  })
  const reused = await claimArrivals(tx, context, arrivals)
  const owners = [...Map.groupBy(reused, ({ factId }) => factId)].map(([factId, wires]) => {
    const { fact, ...consent } = consents.get(factId) ?? {}
    // What went back credits nothing.
    const isCredited = (one: ReusedWire) => one.isCredited && fact !== undefined && !isGone(fact)
    const refused = wires.find((one) => !consentsTo({ ...one, isCredited: isCredited(one) }, consent))
    // The first one of several.
    const id = (refused ?? wires[0])?.owner ?? ''
    return [factId, { id, isAccepted: refused === undefined }] as const
  })
  return new Map(owners)
}

/**
 * Marks of the wire that was applied, where progress may be about that; where none was, those of wires that are not: a person may have given one to another
 * transfer.
 */
function knownMarksOf(fact: RailFact, { progress }: KnownTransfer): readonly ArrivalMark[] {
  if (!isProgress(fact)) return []
  const same = progress.filter((one) => mayBeSameArrival(fact, one.fact))
  const applied = same.filter(({ isApplied }) => isApplied)
  return (applied.length > 0 ? applied : same).flatMap((one) => arrivalMarksOf(one.fact))
}

const isGone = ({ kind }: RailFact) => kind === 'returned' || kind === 'rejected'

function isOfWire(fact: RailFact, transfer: KnownTransfer, reference = transfer.reference): boolean {
  if (!transfer.awaitsWire || fact.accountId !== transfer.accountId) return false
  return reference === null || fact.reference === reference
}
