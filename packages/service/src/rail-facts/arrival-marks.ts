import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'
import type { RailFact } from '../rails/port.ts'
import { imadOf } from './arrival.ts'
import type { RailExceptionReason } from './fact-kind.ts'

// A wire is that of one transfer, whoever its rail names: what one transfer was credited, or is held for it, is credited to no other by itself.

/** What names one incoming wire of a rail: the rail's id of it, or its IMAD. */
export interface ArrivalMark {
  readonly kind: 'source' | 'imad'
  readonly mark: string
}

/** A report of a wire, and the transfer that it names. */
export interface ReportedArrival {
  readonly factId: string
  readonly transferId: string
  readonly rail: string
  readonly marks: readonly ReportedMark[]
  /** True where a person credits it, whoever has its wire: its marks are those of its transfer from then on. Default false. */
  readonly isAccepted?: boolean | undefined
}

/** A mark. With `isCompared` its transfer does not get it. Default false. */
export interface ReportedMark extends ArrivalMark {
  readonly isCompared?: boolean | undefined
}

/** A report of a wire that another transfer has. */
export interface ReusedWire {
  readonly factId: string
  /** Id of that transfer, which may be one of another account, or of a deposit that went back. */
  readonly owner: string
  /** True where that transfer was credited the wire, and not all of it has come back. It is read only where a person decides. */
  readonly isCredited: boolean
}

/** What a person who credits a wire says of the transfer that has it. */
export interface WireConsent {
  /** The reasons that the person accepts. `undefined` where no person decides. */
  readonly accepts?: readonly RailExceptionReason[] | undefined
  /** The transfers of which the person has seen that they have the wire. */
  readonly markOwners?: readonly string[] | undefined
  /** True where the bank has two wires of this mark: each transfer has its own. Default false. */
  readonly isAnotherWire?: boolean | undefined
}

/** True where a person may give a wire away: who decides knows whose it is, and nobody was credited it. */
export function consentsTo({ owner, isCredited }: ReusedWire, consent: WireConsent): boolean {
  const { accepts = [], markOwners = [], isAnotherWire = false } = consent
  return accepts.includes('reused_mark') && markOwners.includes(owner) && (isAnotherWire || !isCredited)
}

/** Longest mark that is compared. Nothing names a wire by more. */
const longest = 255

/** What names the incoming wire of a report, in any case. IMADs are compared without white space, too. */
export function arrivalMarksOf({ source }: Pick<RailFact, 'source'>): readonly ArrivalMark[] {
  const named = [
    { kind: 'source', mark: source?.transactionId?.toUpperCase() ?? '' },
    { kind: 'imad', mark: imadOf(source) ?? '' },
  ] as const
  return named.filter(({ mark }) => mark !== '' && mark.length <= longest)
}

/**
 * Writes whose wires these are, each that of the first one, and resolves with those that another transfer has: several times with one that several have. One
 * statement, and one more for each report of a wire that another one of the batch names for another transfer; none where nothing has a mark. Waits for
 * another transaction that writes the same.
 */
export async function claimArrivals(
  tx: Tx,
  context: Pick<ServiceContext, 'schema'>,
  arrivals: readonly ReportedArrival[],
): Promise<readonly ReusedWire[]> {
  const reused: ReusedWire[] = []
  for (const group of groupsOf(arrivals.filter(({ marks }) => marks.length > 0)))
    reused.push(...(await run(tx, context, claim, [JSON.stringify(group.flatMap(rowsOf)), group.some(isAccepted)])))
  return reused
}

/**
 * The reports of wires that are named for one transfer each, and behind them, one by one, the others: whose wire those have depends on what became of the
 * ones before.
 */
function groupsOf(arrivals: readonly ReportedArrival[]): readonly (readonly ReportedArrival[])[] {
  const together: ReportedArrival[] = []
  const alone: ReportedArrival[] = []
  const transferOf = new Map<string, string>()
  for (const one of arrivals) {
    const keys = one.marks.map(({ kind, mark }) => JSON.stringify([one.rail, kind, mark]))
    const isShared = keys.some((key) => (transferOf.get(key) ?? one.transferId) !== one.transferId)
    for (const key of keys) transferOf.set(key, isShared ? several : one.transferId)
    ;(isShared ? alone : together).push(one)
  }
  return [...(together.length === 0 ? [] : [together]), ...alone.map((one) => [one])]
}

/** In the place of a transfer, where a wire is named for several. No id is empty. */
const several = ''

const isAccepted = (one: ReportedArrival) => one.isAccepted === true

const rowsOf = ({ factId, transferId, rail, marks, isAccepted: is_accepted }: ReportedArrival) =>
  marks.map(({ kind, mark, isCompared }) => ({
    ...{ fact_id: factId, rail, kind, mark, transfer_id: transferId },
    ...{ is_accepted, is_compared: isCompared },
  }))

const claim = statement(
  'arrival_mark_claim',
  `select fact_id, owner, case when $2 then {{schema}}.arrival_is_credited(owner) else false end as is_credited
     from {{schema}}.arrival_mark_claim($1::jsonb)`,
  rowDecoder('reused wire', { factId: Column.text, owner: Column.text, isCredited: Column.boolean }),
)
