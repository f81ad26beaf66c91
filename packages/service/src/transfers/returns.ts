import type { ServiceContext, Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'
import { planConversionReturn } from '../ledger/conversions.ts'
import { planReturn } from '../ledger/ledger.ts'
import type { RailFact } from '../rails/port.ts'
import { recordEvents } from '../webhooks/events.ts'
import type { KnownTransfer } from './known-transfer.ts'
import { findTransfersOfAnyone } from './transfers.ts'
import { transferView } from './view.ts'

/** Money of a complete transfer that came back. The caller has locked the transfer. */
export interface NewReturn {
  /** Id of the fact. */
  readonly id: string
  readonly fact: RailFact
  readonly transfer: KnownTransfer
}

/**
 * Writes what came back of complete transfers: the ledger is reversed, the transfers show it, and `transfer.returned` is recorded. Where a
 * wallet does not have the money any more, its account owes it. Three statements for all.
 */
export async function writeReturns(tx: Tx, context: ServiceContext, returns: readonly NewReturn[]): Promise<void> {
  if (returns.length === 0) return
  const { receivablePolicy = 'block' } = context
  const now = context.clock.now()
  await run(tx, context, insertReturns, [
    JSON.stringify(returns.map((one) => rowOf(context, one, now))),
    receivablePolicy === 'block',
    now,
  ])
  const ids = new Set(returns.map(({ transfer }) => transfer.id))
  const rows = await findTransfersOfAnyone(tx, context, [...ids])
  for (const { transfer } of returns) {
    const { id: transferId, flow } = transfer
    context.logger.warn({ transferId, flow }, 'Money of a complete transfer came back; the ledger is reversed.')
  }
  const events = rows.map((row) => {
    return { accountId: row.account_id, type: 'transfer.returned', data: transferView(row) } as const
  })
  await recordEvents(tx, context, events)
}

function rowOf(context: ServiceContext, { id, fact, transfer }: NewReturn, now: Date) {
  const { amount, failure, reachedAt } = fact
  return {
    id,
    transfer_id: transfer.id,
    account_id: transfer.accountId,
    code: failure?.code ?? 'returned',
    amount: amount.value,
    currency: amount.currency,
    occurred_at: failure?.occurredAt ?? reachedAt ?? now.toISOString(),
    ...reversalOf(context, fact, transfer),
  }
}

/** The desk bears the rate: what comes back is changed back at the rate of the quote, and the source gets its share. */
function reversalOf({ catalog }: ServiceContext, { amount }: RailFact, transfer: KnownTransfer) {
  const { depositRail, returnedValue, sourceAmount } = transfer
  if (sourceAmount !== undefined) {
    const quote = { sourceAmount, destinationAmount: transfer.amount }
    const scale = catalog.valueType(sourceAmount.currency)?.scale ?? 0
    const part = { before: returnedValue, now: amount.value }
    const { lines, sourceValue } = planConversionReturn(transfer, quote, part, scale)
    return { lines, source_value: sourceValue }
  }
  const receipt = depositRail === null ? undefined : { valueType: amount.currency, transferType: depositRail }
  return { lines: planReturn({ ...transfer, receipt }, amount.value) }
}

const insertReturns = statement('transfer_return_many', 'select {{schema}}.transfer_return_many($1::jsonb, $2, $3)')
