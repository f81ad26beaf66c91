import type { Amount, TransferFailure, TransferStatus } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext } from '../context.ts'
import { batch } from '../database/batch.ts'
import { type Row, run, statement } from '../database/statement.ts'
import { asSystem } from '../database/tenant.ts'
import type { PolledTransfers } from '../rails/gateway.ts'
import type { RailFlow, RailPayment } from '../rails/port.ts'
import type { RailFactKind } from './fact-kind.ts'
import { scaleOf } from './moved-amount.ts'
import { readPaymentFact } from './payment-fact.ts'
import { amountForPerson, judgePoll, type PolledTransfer } from './poll-judgement.ts'
import { finishFacts, isFinished, recordFact } from './rail-facts.ts'
import { reportExceptions } from './reporting.ts'

/** Makes what the gateway asks about transfers. It reads simultaneous polls in one statement. */
export function createPolledTransfers(
  context: Pick<ServiceContext, 'pool' | 'schema' | 'clock' | 'random' | 'catalog' | 'logger' | 'telemetry'>,
): PolledTransfers {
  const limits = { maxSize: 200, waitMs: 2 }
  const isAwaited = batch(async (transferIds: readonly string[]) => {
    const rows = await run(asSystem(context), context, selectAwaited, [transferIds])
    const awaited = new Set(rows.map(({ id }) => id))
    return transferIds.map((id) => awaited.has(id))
  }, limits)
  const find = batch(async (transferIds: readonly string[]) => {
    const rows = await run(asSystem(context), context, selectPolled, [transferIds])
    const polled = new Map(rows.map((one) => [one.id, one]))
    return transferIds.map((id) => polled.get(id))
  }, limits)
  const mayBePaid = batch(async (transferIds: readonly string[]) => {
    const rows = await run(asSystem(context), context, selectPaid, [transferIds])
    const paid = new Set(rows.map(({ id }) => id))
    return transferIds.map((id) => paid.has(id))
  }, limits)
  const railOf = batch(async (transferIds: readonly string[]) => {
    const rows = await run(asSystem(context), context, selectRails, [transferIds])
    const rails = new Map(rows.map(({ id, rail }) => [id, rail]))
    return transferIds.map((id) => rails.get(id))
  }, limits)
  /**
   * Stores what a poll says as an exception, once, and apart from a fact that says the same: the one may be dismissed, and the other come later. After a
   * crash between the two statements the next poll writes the second one.
   */
  const askPerson = async ({ id: transferId, accountId }: Polled, payment: RailPayment, amount: Amount) => {
    const [system, reason] = [asSystem(context), 'disputed'] as const
    const { state: kind, reference, failure, reachedAt } = payment
    const { row } = readPaymentFact({ kind, reference, transferId, accountId, amount, failure, reachedAt })
    const identity = { polled: row.kind, reference, transferId, amount, said: row.marks ?? row.payload }
    const stored = await recordFact(system, context, { ...row, identity })
    if (isFinished(stored)) return
    const { id } = stored
    const rail = await railOf(transferId)
    await finishFacts(system, context, [{ id, rail, reason }])
    reportExceptions(context, [{ id, kind: stored.kind, rail, reason }])
  }
  return {
    isAwaited,
    mayBePaid,
    railOf,
    async expect({ transferId, accountId, source, amount }, reference) {
      const system = asSystem(context)
      const rail = source.transferType
      const fact = { kind: 'expected', rail, reference, transferId, accountId, amount, payload: {} } as const
      const { id, appliedAt } = await recordFact(system, context, fact)
      if (appliedAt === null) await finishFacts(system, context, [{ id }])
    },
    async admit(transferId, payment) {
      if (payment.state === 'expected') return payment
      const transfer = await find(transferId)
      const admitted = judgePoll(payment, transfer, scaleOf(context.catalog, transfer?.amount.currency))
      if (admitted !== payment) reportHeld(context, transferId, payment)
      const amount = transfer && amountForPerson(payment, transfer)
      if (transfer !== undefined && amount !== undefined) await askPerson(transfer, payment, amount)
      return admitted
    },
  }
}

/** A fact about it should come soon, or wait for a person. Without one, this is the only trace. */
function reportHeld({ logger }: Pick<ServiceContext, 'logger'>, transferId: string, { state }: RailPayment): void {
  if (state === 'accepted') return
  logger.info(
    { transferId, state },
    'A rail says that a payment has ended; its transfer waits for a fact that says so.',
  )
}

const selectAwaited = statement(
  'transfer_select_awaited_wires',
  `select t.id from {{schema}}.transfer t
    where t.id = any ($1) and t.wire_instructions is not null
      and (t.status in ('pending', 'processing') or (t.status = 'failed' and t.failure -> 'retriable' = 'true')) and not exists (
      select from {{schema}}.rail_fact f
       where f.transfer_id = t.id and f.kind in ('accepted', 'settled') and f.applied_at is not null
    )`,
  rowDecoder('transfer', { id: Column.text }),
)

const selectPaid = statement(
  'transfer_select_paid',
  `select given.id from unnest($1::text[]) as given (id)
    where exists (
      select from {{schema}}.rail_fact f
       where f.transfer_id = given.id and f.kind in ('accepted', 'settled') and f.resolution is distinct from 'dismissed'
         and (f.exception_reason is null or {{schema}}.is_of_transfer(f.exception_reason))
    )`,
  rowDecoder('transfer', { id: Column.text }),
)

// As `railOf` says of an instruction.
const selectRails = statement(
  'transfer_select_rail',
  `select t.id, case when t.flow = 'onramp' and t.automation_id is null then t.source_transfer_type
                     else t.destination_transfer_type end as rail
     from {{schema}}.transfer t where t.id = any ($1)`,
  rowDecoder('transfer', { id: Column.text, rail: Column.text }),
)

const readColumns = rowDecoder('transfer', {
  id: Column.text,
  accountId: Column.text,
  status: Column.word<TransferStatus>(),
  failure: Column.nullable(Column.json<TransferFailure>()),
  flow: Column.word<RailFlow>(),
  amountValue: Column.text,
  amountCurrency: Column.text,
  askedCurrency: Column.text,
  isIncoming: Column.boolean,
  hasQuote: Column.boolean,
  awaitsWire: Column.boolean,
  isDisputed: Column.boolean,
  hasOthers: Column.boolean,
  hasUnjudged: Column.boolean,
  hasCancellation: Column.boolean,
  wasHeld: Column.boolean,
  appliedKinds: Column.words<RailFactKind>(),
})

type Polled = PolledTransfer & { readonly id: string }

function readPolled(row: Row): Polled {
  const { amountValue, amountCurrency, ...transfer } = readColumns(row)
  const amount = { value: amountValue, currency: amountCurrency }
  // The engine asks for the payment by the reference that it knows, and nothing has come back of a transfer that goes on.
  return { ...transfer, amount, reference: null, progress: [], returnedValue: '0', returns: [] }
}

// A failure that may be retried is no end, as in `rail_fact_claim`.
const selectPolled = statement(
  'transfer_select_polled',
  `select t.id, t.account_id, t.status, t.failure, t.flow,
          coalesce(t.quote #>> '{destinationAmount,value}', t.amount_value::text) as amount_value,
          coalesce(t.quote #>> '{destinationAmount,currency}', case t.flow
            when 'onramp' then t.source_value_type when 'offramp' then t.destination_value_type else t.amount_currency
          end) as amount_currency,
          coalesce(t.quote #>> '{destinationAmount,currency}', t.amount_currency) as asked_currency,
          t.flow = 'onramp' and t.automation_id is null as is_incoming, t.quote is not null as has_quote,
          t.wire_instructions is not null as awaits_wire,
          -- One that has lost its wire is ended by a person, or by another wire.
          coalesce(e.is_disputed, false) or (t.wire_instructions is not null and {{schema}}.transfer_lost_wire(t.id)) as is_disputed,
          coalesce(e.has_others, false) as has_others, coalesce(e.has_unjudged, false) as has_unjudged,
          coalesce(e.has_cancellation, false) as has_cancellation, coalesce(e.was_held, false) as was_held,
          coalesce(e.applied, '{}') as applied_kinds
     from {{schema}}.transfer t
    cross join lateral (select {{schema}}.rail_fact_last_retried(t.id) as id offset 0) retried
     left join lateral (
       select bool_or((o.exception_reason is not null and o.resolved_at is null) or o.is_given) as is_disputed,
              bool_or(o.applied_at is null and o.kind in ('accepted', 'settled')
                and {{schema}}.is_of_transfer(o.exception_reason)) as has_others,
              bool_or(o.applied_at is null and o.exception_reason is null and o.kind in ('accepted', 'settled')) as has_unjudged,
              bool_or(o.kind = 'canceled' and (o.applied_at is not null or o.exception_reason is not null)) as has_cancellation,
              coalesce(bool_or(
                {{schema}}.is_of_transfer(o.exception_reason) and not (o.exception_reason = 'amount_mismatch' and o.resolution is not distinct from 'applied')
              ), false)
                or count(distinct upper(o.payload #>> '{source,transactionId}')) filter (where o.is_current) > 1
                or count(distinct upper(regexp_replace(o.payload #>> '{source,paymentDetails,imad}', '\\s', '', 'g'))) filter (where o.is_current) > 1
                or count(distinct upper(o.payload #>> '{destination,transactionId}')) filter (where o.is_current) > 1
                or count(distinct upper(regexp_replace(o.payload #>> '{destination,paymentDetails,imad}', '\\s', '', 'g'))) filter (where o.is_current) > 1 as was_held,
              array_agg(o.kind) filter (
                where o.applied_at is not null and o.payload #> '{failure,retriable}' is distinct from 'true'::jsonb
              ) as applied
         from (
           select f.kind, f.applied_at, f.exception_reason, f.resolved_at, f.resolution, f.payload,
                  f.kind in ('accepted', 'settled') and f.id > coalesce(retried.id, '') as is_current,
                  -- A person has given its wire to another transfer.
                  t.wire_instructions is not null and f.kind in ('accepted', 'settled') and f.applied_at is not null and exists (
                    select from (values
                      ('source', upper(f.payload #>> '{source,transactionId}')),
                      ('imad', upper(regexp_replace(f.payload #>> '{source,paymentDetails,imad}', '\\s', '', 'g')))
                    ) as n(kind, mark)
                      join {{schema}}.arrival_mark m on m.rail = t.source_transfer_type and m.kind = n.kind and m.mark = n.mark
                     where m.transfer_id <> t.id
                  ) as is_given
             from {{schema}}.rail_fact f
            where f.transfer_id = t.id and f.kind in ('accepted', 'settled', 'rejected', 'returned', 'canceled', 'unreadable')
         ) o
     ) e on true
    where t.id = any ($1)`,
  readPolled,
)
