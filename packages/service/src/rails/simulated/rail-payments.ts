import type { TransferFailure } from '@outlay/core'
import { Column, type RowDecoder, rowDecoder } from '@outlay/core/adapter'
import type { PoolClient } from 'pg'
import { type Executor, listOf, type Row, run, statement } from '../../database/statement.ts'
import type { RailFact, RailFlow, RailLegDetails, RailPayment } from '../port.ts'
import type { StatementLine } from './statement-line.ts'

/** The automatic course of a simulated payment: enough to time and describe it, without personal data. */
export interface Route {
  readonly flow: RailFlow
  readonly source: string
  readonly destination: string
  /** Time from an arrival of money to the end, in milliseconds. */
  readonly settleMs: number
  readonly amount: string
  /** Of the instruction. */
  readonly currency: string
  /** What a wire brought, where that differs from the amount. */
  readonly received?: string | undefined
  /** How many presentments are returned, and with which code; none when absent. */
  readonly bounces?: { readonly code: string; readonly times: number } | undefined
}

/** A payment to be written. Times are virtual, ISO 8601. */
export interface NewRailPayment {
  readonly transfer_id: string
  readonly account_id: string
  readonly reference: string
  readonly state: RailPayment['state']
  readonly next_state: RailFact['kind'] | null
  readonly next_at: string | null
  readonly failure: TransferFailure | null
  readonly route: Route
  readonly source: RailLegDetails | null
  readonly destination: RailLegDetails | null
  /** 1 for the first presentment. */
  readonly presentment: number | null
  /** When it is or was presented again, the newest time; null for the first presentment. */
  readonly represented_at: string | null
  /** ACH only. */
  readonly statement_line: StatementLine | null
}

/** A stored payment. */
export interface StoredRailPayment extends Omit<NewRailPayment, 'next_at' | 'represented_at'> {
  readonly next_at: Date | null
  readonly represented_at: Date | null
}

/** A payment that was written, now or, unless `fresh`, before. */
export interface WrittenRailPayment extends Pick<StoredRailPayment, 'transfer_id' | 'reference' | 'state'> {
  readonly fresh: boolean
}

/** The next step of a payment after the due one. */
export type PaymentStep = Omit<NewRailPayment, 'account_id' | 'reference' | 'state' | 'route' | 'destination'>

type Schema = { readonly schema: string }

/** Writes payments once per transfer. Returns an existing payment unchanged, with `fresh` false. */
export function insertPayments(
  executor: Executor | PoolClient,
  context: Schema,
  payments: readonly NewRailPayment[],
): Promise<readonly WrittenRailPayment[]> {
  return run(executor, context, insert, [JSON.stringify(payments)])
}

/** Reads payments by their references. */
export function selectPayments(
  executor: Executor | PoolClient,
  context: Schema,
  references: readonly string[],
): Promise<readonly StoredRailPayment[]> {
  return run(executor, context, selectByReference, [references])
}

/** The shared clock offset, and whether any fact is due at `now` plus that offset. */
export async function findDue(
  executor: Executor | PoolClient,
  context: Schema,
  now: Date,
): Promise<{ readonly offsetMs: number; readonly due: boolean }> {
  const [row] = await run(executor, context, selectDue, [now])
  return row ?? { offsetMs: 0, due: false }
}

/** Locks due payments that no other process has locked, except those of some transfers. */
export function lockDuePayments(
  tx: PoolClient,
  context: Schema,
  now: Date,
  limit: number,
  exceptTransfers: readonly string[],
): Promise<readonly StoredRailPayment[]> {
  return run(tx, context, lockDue, [now, limit, exceptTransfers])
}

/** Moves payments to their due state, and writes their next step. */
export async function advancePayments(tx: PoolClient, context: Schema, steps: readonly PaymentStep[]): Promise<void> {
  await run(tx, context, advance, [JSON.stringify(steps)])
}

/** Reads the payment of a transfer; `undefined` when there is none. */
export async function findPayment(
  executor: Executor | PoolClient,
  context: Schema,
  transferId: string,
): Promise<StoredRailPayment | undefined> {
  const [row] = await run(executor, context, selectOfTransfer, [transferId])
  return row
}

/** Replaces the next step of a payment in one of the given states. False when it is in none of them. */
export async function reschedulePayment(
  executor: Executor | PoolClient,
  context: Schema,
  transferId: string,
  change: {
    readonly from: readonly RailPayment['state'][]
    readonly next: RailFact['kind']
    readonly at: Date
    readonly failure: TransferFailure | null
    readonly source?: RailLegDetails | undefined
    /** What the wire of the payment brought. */
    readonly received?: string | undefined
  },
): Promise<boolean> {
  const { from, next, at, failure, source, received } = change
  const values = [transferId, from, next, at, jsonOf(failure), jsonOf(source), received ?? null]
  return (await run(executor, context, reschedule, values)).length > 0
}

/** Cancels a payment that waits for money, or to be presented again, and says whether it is canceled now. Waits for a fact that is being reported. */
export async function cancelPayment(executor: Executor, context: Schema, transferId: string): Promise<boolean> {
  if ((await run(executor, context, cancel, [transferId])).length > 0) return true
  return (await findPayment(executor, context, transferId))?.state === 'canceled'
}

/** Reserves a block of a thousand numbers for the caller and returns the first. */
export async function reserveReferences(executor: Executor, context: Schema): Promise<number> {
  const [row] = await run(executor, context, nextBlock)
  if (row === undefined) throw new Error('The sequence gave no number.')
  return row.block
}

function jsonOf(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value)
}

const writtenColumns = {
  transfer_id: Column.text,
  reference: Column.text,
  state: Column.word<RailPayment['state']>(),
}
const readWritten: (row: Row) => WrittenRailPayment = rowDecoder('payment', {
  ...writtenColumns,
  fresh: Column.boolean,
})
const readPayment: RowDecoder<StoredRailPayment> = rowDecoder('payment', {
  ...writtenColumns,
  account_id: Column.text,
  next_state: Column.nullable(Column.word<RailFact['kind']>()),
  next_at: Column.nullable(Column.date),
  failure: Column.nullable(Column.json<TransferFailure>()),
  route: Column.json<Route>(),
  source: Column.nullable(Column.json<RailLegDetails>()),
  destination: Column.nullable(Column.json<RailLegDetails>()),
  presentment: Column.nullable(Column.integer),
  represented_at: Column.nullable(Column.date),
  statement_line: Column.nullable(Column.json<StatementLine>()),
})

const insert = statement(
  'rail_payment_insert',
  `with given as (
     select * from jsonb_populate_recordset(null::{{schema}}.rail_payment, $1::jsonb)
   ), inserted as (
     insert into {{schema}}.rail_payment (${listOf(readPayment)})
     select ${listOf(readPayment)} from given
     on conflict (transfer_id) do nothing
     returning transfer_id, reference, state
   )
   select transfer_id, reference, state, true as fresh from inserted
   union all
   select p.transfer_id, p.reference, p.state, false
     from {{schema}}.rail_payment p
     join given using (transfer_id)
    where not exists (select from inserted where inserted.transfer_id = p.transfer_id)`,
  readWritten,
)

const selectByReference = statement(
  'rail_payment_select',
  `select ${listOf(readPayment)} from {{schema}}.rail_payment where reference = any ($1)`,
  readPayment,
)

const selectOfTransfer = statement(
  'rail_payment_select_of_transfer',
  `select ${listOf(readPayment)} from {{schema}}.rail_payment where transfer_id = $1`,
  readPayment,
)

const selectDue = statement(
  'rail_payment_due',
  `select c.offset_ms,
          exists (
            select from {{schema}}.rail_payment p
             where p.next_at <= $1::timestamptz + c.offset_ms * interval '1 millisecond'
          ) or exists (
            select from {{schema}}.rail_virtual_account v
             where v.ready_at <= $1::timestamptz + c.offset_ms * interval '1 millisecond'
          ) or exists (
            select from {{schema}}.rail_deposit d where d.verdict is null
          ) as due
     from {{schema}}.simulation_clock c`,
  rowDecoder('simulation clock', { offsetMs: Column.anyNumber, due: Column.boolean }),
)

const exceptRoute = readPayment.columns.filter((name) => name !== 'route')

// Earlier releases wrote payments without their currency, which is that of the transfer.
const lockDue = statement(
  'rail_payment_lock_due',
  `select ${listOf({ columns: exceptRoute }, 'p')},
          case when p.route ? 'currency' then p.route
               else p.route || jsonb_build_object('currency', (
                 select t.amount_currency from {{schema}}.transfer t where t.id = p.transfer_id
               ))
          end as route
     from {{schema}}.rail_payment p
    where p.next_at <= $1 and p.transfer_id <> all ($3::text[])
    order by p.next_at
    limit $2
      for update of p skip locked`,
  readPayment,
)

const advance = statement(
  'rail_payment_advance',
  `update {{schema}}.rail_payment p
      set state = p.next_state, next_state = s.next_state, next_at = s.next_at, failure = s.failure, source = s.source,
          presentment = s.presentment, represented_at = s.represented_at, statement_line = s.statement_line
     from jsonb_populate_recordset(null::{{schema}}.rail_payment, $1::jsonb) s
    where p.transfer_id = s.transfer_id`,
)

const reschedule = statement(
  'rail_payment_reschedule',
  `update {{schema}}.rail_payment
      set next_state = $3, next_at = $4, failure = $5::jsonb, source = coalesce($6::jsonb, source),
          route = case when $7::text is null then route else route || jsonb_build_object('received', $7::text) end
    where transfer_id = $1 and state = any ($2)
   returning transfer_id`,
)

const cancel = statement(
  'rail_payment_cancel',
  `update {{schema}}.rail_payment set state = 'canceled', next_state = null, next_at = null, failure = null
    where transfer_id = $1 and (
      (state = 'expected' and next_state is null)
      or (state in ('rejected', 'returned') and next_state = 'accepted' and failure -> 'retriable' = 'true')
    )
   returning transfer_id`,
)

const nextBlock = statement(
  'rail_reference_block',
  `select nextval('{{schema}}.rail_reference_block') as block`,
  rowDecoder('block of numbers', { block: Column.anyNumber }),
)
