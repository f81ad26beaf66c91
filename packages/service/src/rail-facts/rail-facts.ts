import { createHash } from 'node:crypto'
import { type Amount, fingerprint, Id } from '@outlay/core'
import { Column, type RowDecoder, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, listOf, run, statement } from '../database/statement.ts'
import type { RailExceptionReason, RailFactKind } from './fact-kind.ts'

/** A fact to be stored. */
export interface NewRailFact {
  readonly kind: RailFactKind
  /** The rail or chain of the reference, where it is known. */
  readonly rail?: string | undefined
  readonly reference: string
  readonly transferId?: string | undefined
  readonly accountId?: string | undefined
  readonly amount?: Amount | undefined
  /** Everything else that makes it this fact and no other: JSON without account numbers. */
  readonly payload: object
  /** What else the rail said, stored with the payload. A report that differs only here is the same fact. */
  readonly details?: object | undefined
  /** What of the payload makes it this fact, where that is not all of it: JSON. */
  readonly marks?: unknown
  /** What makes it this fact, where that is not everything that it says: of facts with the same, only the first is stored. */
  readonly identity?: object | undefined
}

/** A fact that was stored, by this call or before. */
export interface RecordedRailFact extends StoredRailFact {
  readonly isNew: boolean
}

/** A stored fact, with what became of it so far. */
export interface StoredRailFact {
  readonly id: string
  readonly kind: RailFactKind
  readonly rail: string | null
  readonly reference: string
  readonly transferId: string | null
  readonly accountId: string | null
  readonly amountValue: string | null
  readonly amountCurrency: string | null
  readonly payload: Readonly<Record<string, unknown>>
  readonly receivedAt: Date
  readonly appliedAt: Date | null
  readonly exceptionReason: RailExceptionReason | null
  readonly resolvedAt: Date | null
  readonly resolvedBy: string | null
  readonly resolution: 'applied' | 'dismissed' | null
  readonly resolutionNote: string | null
}

/** What became of a stored fact. Without a reason it was applied. */
export interface RailFactOutcome {
  readonly id: string
  readonly rail?: string | undefined
  readonly transferId?: string | undefined
  readonly accountId?: string | undefined
  readonly reason?: RailExceptionReason | undefined
  /** Id of the transfer that has its wire, where that is another one. It is written into the payload. */
  readonly markOwner?: string | undefined
}

type FactContext = Pick<ServiceContext, 'schema' | 'clock' | 'random'>

/**
 * Stores facts, each once however often it is reported, and returns the stored ones in the order of the given. A deposit whose
 * reference was used for another one is stored as an exception. One statement.
 */
export async function recordFacts(
  executor: Executor | Tx,
  context: FactContext,
  facts: readonly NewRailFact[],
): Promise<readonly RecordedRailFact[]> {
  const nextId = Id.createSequence(context.clock, context.random)
  const given = facts.map((fact) => ({ id: nextId(), ...rowOf(fact) }))
  const stored = await run(executor, context, record, [storableText(given), context.clock.now()])
  return stored.map((fact, index) => ({ ...fact, isNew: fact.id === given[index]?.id }))
}

/** Stores one fact. */
export async function recordFact(
  executor: Executor | Tx,
  context: FactContext,
  fact: NewRailFact,
): Promise<RecordedRailFact> {
  const [stored] = await recordFacts(executor, context, [fact])
  if (stored === undefined) throw new Error('The fact was not stored.')
  return stored
}

/** Writes what became of facts; one that has an outcome keeps it. */
export async function finishFacts(
  executor: Executor | Tx,
  context: FactContext,
  outcomes: readonly RailFactOutcome[],
): Promise<void> {
  if (outcomes.length === 0) return
  const given = outcomes.map(({ id, rail, transferId, accountId, reason, markOwner }) => {
    return [id, { rail, transfer_id: transferId, account_id: accountId, reason, mark_owner: markOwner }]
  })
  await run(executor, context, finish, [JSON.stringify(Object.fromEntries(given)), context.clock.now()])
}

/** True when nothing is left to do for the report of a fact: it was applied, or is an exception. */
export function isFinished(fact: StoredRailFact): boolean {
  return fact.appliedAt !== null || fact.exceptionReason !== null
}

/** The amount of a stored fact; `undefined` when it has none. */
export function amountOf({ amountValue, amountCurrency }: StoredRailFact): Amount | undefined {
  return amountValue === null || amountCurrency === null ? undefined : { value: amountValue, currency: amountCurrency }
}

/** Who has the wire of a stored fact, where that is another transfer, or a deposit that went back; `undefined` for nobody. */
export function markOwnerOf({ payload: { markOwner } }: StoredRailFact): string | undefined {
  return typeof markOwner === 'string' ? markOwner : undefined
}

function rowOf({
  kind,
  rail,
  reference,
  transferId,
  accountId,
  amount,
  payload,
  details,
  marks,
  identity,
}: NewRailFact) {
  const about = { kind, rail, reference, transferId, accountId, amount: amount && normalized(amount) }
  const said = identity ?? { ...about, payload: marks ?? payload }
  return {
    kind,
    rail,
    reference,
    transfer_id: transferId,
    account_id: accountId,
    amount_value: amount?.value,
    amount_currency: amount?.currency,
    fingerprint: fingerprint(JSON.parse(JSON.stringify(said)), digest),
    payload: { ...payload, ...details },
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** The same for 10 and 10.00. */
function normalized({ value, currency }: Amount): readonly [string, string] {
  return [value.includes('.') ? value.replace(/\.?0+$/, '') : value, currency]
}

/** Text of JSON that Postgres can store, whatever a bank put into a string. */
function storableText(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === 'string' ? member.toWellFormed().replaceAll('\0', '\ufffd') : member,
  )
}

/** Reads a row of the table `rail_fact`. */
export const readFact: RowDecoder<StoredRailFact> = rowDecoder('rail fact', {
  id: Column.text,
  kind: Column.word<RailFactKind>(),
  rail: Column.nullable(Column.text),
  reference: Column.text,
  transferId: Column.nullable(Column.text),
  accountId: Column.nullable(Column.text),
  amountValue: Column.nullable(Column.text),
  amountCurrency: Column.nullable(Column.text),
  payload: Column.json<Readonly<Record<string, unknown>>>(),
  receivedAt: Column.date,
  appliedAt: Column.nullable(Column.date),
  exceptionReason: Column.nullable(Column.word<RailExceptionReason>()),
  resolvedAt: Column.nullable(Column.date),
  resolvedBy: Column.nullable(Column.text),
  resolution: Column.nullable(Column.word<'applied' | 'dismissed'>()),
  resolutionNote: Column.nullable(Column.text),
})

const record = statement(
  'rail_fact_record',
  `select ${listOf(readFact)} from {{schema}}.rail_fact_record($1::jsonb, $2)`,
  readFact,
)

const finish = statement('rail_fact_finish', 'select {{schema}}.rail_fact_finish($1::jsonb, $2)')
