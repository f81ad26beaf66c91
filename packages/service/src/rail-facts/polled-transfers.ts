import type { Amount, Catalog, TransferFailure, TransferStatus } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext } from '../context.ts'
import { batch } from '../database/batch.ts'
import { type Row, run, statement } from '../database/statement.ts'
import { asSystem } from '../database/tenant.ts'
import type { PolledTransfers } from '../rails/gateway.ts'
import type { RailFlow, RailPayment } from '../rails/port.ts'
import type { RailFactKind } from './fact-kind.ts'
import { judgePoll, type PolledTransfer } from './poll-judgement.ts'
import { finishFacts, recordFact } from './rail-facts.ts'

/** Makes what the gateway asks about transfers. It reads simultaneous polls in one statement. */
export function createPolledTransfers(
  context: Pick<ServiceContext, 'pool' | 'schema' | 'clock' | 'random' | 'catalog' | 'logger'>,
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
  return {
    isAwaited,
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
      const admitted = judgePoll(payment, transfer, scaleOf(context.catalog, transfer?.amount))
      if (admitted !== payment) reportHeld(context, transferId, payment)
      return admitted
    },
  }
}

function scaleOf(catalog: Catalog, amount: Amount | undefined): number {
  return catalog.valueType(amount?.currency ?? '')?.scale ?? 0
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
    where t.id = any ($1) and t.wire_instructions is not null and t.status in ('pending', 'processing') and not exists (
      select from {{schema}}.rail_fact f
       where f.transfer_id = t.id and f.kind in ('accepted', 'settled') and f.applied_at is not null
    )`,
  rowDecoder('transfer', { id: Column.text }),
)

const readColumns = rowDecoder('transfer', {
  id: Column.text,
  accountId: Column.text,
  status: Column.word<TransferStatus>(),
  failure: Column.nullable(Column.json<TransferFailure>()),
  flow: Column.word<RailFlow>(),
  amountValue: Column.text,
  amountCurrency: Column.text,
  isIncoming: Column.boolean,
  hasQuote: Column.boolean,
  awaitsWire: Column.boolean,
  isDisputed: Column.boolean,
  appliedKinds: Column.words<RailFactKind>(),
})

function readPolled(row: Row): PolledTransfer & { readonly id: string } {
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
          coalesce(t.quote #>> '{destinationAmount,currency}', t.amount_currency) as amount_currency,
          t.flow = 'onramp' and t.automation_id is null as is_incoming, t.quote is not null as has_quote,
          t.wire_instructions is not null as awaits_wire, coalesce(e.is_disputed, false) as is_disputed,
          coalesce(e.applied, '{}') as applied_kinds
     from {{schema}}.transfer t
     left join lateral (
       select bool_or(o.exception_reason is not null and o.resolved_at is null) as is_disputed,
              array_agg(o.kind) filter (
                where o.applied_at is not null and o.payload #> '{failure,retriable}' is distinct from 'true'::jsonb
              ) as applied
         from {{schema}}.rail_fact o
        where o.transfer_id = t.id and o.kind in ('accepted', 'settled', 'rejected', 'returned', 'canceled', 'unreadable')
     ) e on true
    where t.id = any ($1)`,
  readPolled,
)
