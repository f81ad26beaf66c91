import { OutlayError } from '@outlay/core'
import type { ServiceContext, Tx } from '../context.ts'
import { afterCommit } from '../database/after-commit.ts'
import { sqlStateOf } from '../database/conflict.ts'
import { run, statement } from '../database/statement.ts'
import { planConversionReturn } from '../ledger/conversions.ts'
import { book, type LedgerLine, planReturn, planReverse } from '../ledger/ledger.ts'
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
    const message = 'Money of a complete transfer came back; the ledger is reversed.'
    afterCommit(tx, () => context.logger.warn({ transferId, flow }, message))
  }
  const events = rows.map((row) => {
    return { accountId: row.account_id, type: 'transfer.returned', data: transferView(row) } as const
  })
  await recordEvents(tx, context, events)
}

/**
 * Books that money of a complete transfer that came back has moved again: the opposite of the return, with this amount. What its account owes for the
 * return is paid by it where the return took nothing from a wallet; other debts stay.
 * @throws OutlayError `conflict` between two wallets, when a wallet does not have what has left again, or when what is owed has been paid otherwise.
 */
export async function writeMovedAgain(
  tx: Tx,
  context: ServiceContext,
  { id, fact, transfer }: NewReturn,
): Promise<void> {
  const lines = planReverse(returnLines(fact, transfer))
  // Their return took back what the payee had, which nobody has written down.
  if (transfer.post.filter(({ kind }) => kind === 'custodial').length > 1) {
    const message =
      'A payment between two wallets is not booked again. Dismiss the fact, and let its account pay again.'
    throw new OutlayError('conflict', message, { field: 'action' })
  }
  try {
    await book(tx, context, id, 'post', lines)
  } catch (error) {
    if (sqlStateOf(error) !== '23514') throw error
    const message = 'The wallet does not have what has left again. Let its account bring it, and apply the fact then.'
    throw new OutlayError('conflict', message, { field: 'action' })
  }
  for (const { kind, account, address, value, rail, amount } of lines) {
    if (kind !== 'receivable') continue
    if ((await run(tx, context, payReceivable, [account, address, value, rail, amount])).length > 0) continue
    const message =
      'What the account owed for the return has been paid otherwise. Dismiss the fact, and give the account its money by a deposit.'
    throw new OutlayError('conflict', message, { field: 'action' })
  }
  const { id: transferId, flow } = transfer
  const message = 'Money of a complete transfer that came back has moved again.'
  afterCommit(tx, () => context.logger.warn({ transferId, flow }, message))
}

/** Takes the dollars of deposits that went back out of the settlement account, where they waited for a mint that has failed. */
export async function takeBackDeposits(tx: Tx, context: ServiceContext, transferIds: readonly string[]): Promise<void> {
  if (transferIds.length > 0) await run(tx, context, takeBack, [transferIds])
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
function reversalOf({ catalog }: ServiceContext, fact: RailFact, transfer: KnownTransfer) {
  const { amount } = fact
  const { returnedValue, sourceAmount } = transfer
  if (sourceAmount !== undefined) {
    const quote = { sourceAmount, destinationAmount: transfer.amount }
    const scale = catalog.valueType(sourceAmount.currency)?.scale ?? 0
    const part = { before: returnedValue, now: amount.value }
    const { lines, sourceValue } = planConversionReturn(transfer, quote, part, scale)
    return { lines, source_value: sourceValue }
  }
  return { lines: returnLines(fact, transfer) }
}

function returnLines({ amount }: RailFact, transfer: KnownTransfer): readonly LedgerLine[] {
  const { depositRail } = transfer
  const receipt = depositRail === null ? undefined : { valueType: amount.currency, transferType: depositRail }
  return planReturn({ ...transfer, receipt }, amount.value)
}

const payReceivable = statement(
  'receivable_pay',
  `update {{schema}}.receivable set amount = amount - $5::numeric
    where account_id = $1 and address_id = $2 and value_type = $3 and transfer_type = $4 and amount >= $5::numeric
   returning true as paid`,
)

const takeBack = statement('transfer_take_back', 'select {{schema}}.transfer_take_back($1)')

const insertReturns = statement('transfer_return_many', 'select {{schema}}.transfer_return_many($1::jsonb, $2, $3)')
