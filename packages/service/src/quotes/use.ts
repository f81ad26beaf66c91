import { Amount, OutlayError, type TransferRequest } from '@outlay/core'
import type { ServiceContext, Tx } from '../context.ts'
import type { PipelineWork } from '../database/pipeline.ts'
import { type Executor, readLate, run, statement } from '../database/statement.ts'
import { findQuote, type QuoteRow } from './quotes.ts'

/** What a transfer has of its quote. */
export interface AgreedQuote {
  readonly id: string
  readonly rate: string
  /** The desk's own. */
  readonly reference: string
  readonly sourceAmount: Amount
  readonly destinationAmount: Amount
}

/**
 * Reads the quote that a request names, and checks that the transfer can use it; `undefined` when it names none. {@link useQuote} checks again
 * what may change until the write.
 * @throws OutlayError `invalid_id` for one that the account does not have, `quote_used`, `quote_expired`, `quote_mismatch`.
 */
export async function findAgreedQuote(
  executor: Executor | Tx,
  context: ServiceContext,
  accountId: string,
  request: TransferRequest,
): Promise<AgreedQuote | undefined> {
  const { quoteId } = request
  if (quoteId === undefined) return undefined
  const row = await findQuote(executor, context, accountId, quoteId)
  if (row === undefined) {
    throw new OutlayError('invalid_id', 'The account has no such quote.', { field: 'quoteId' })
  }
  if (row.transfer_id !== null) throw usedError()
  if (row.expires_at.getTime() <= nowOf(context).getTime()) throw expiredError()
  const sourceAmount = { value: row.source_value, currency: row.source_value_type }
  const destinationAmount = { value: row.destination_value, currency: row.destination_value_type }
  checkFit(request, sourceAmount, destinationAmount)
  return { id: row.id, rate: row.rate, reference: row.reference, sourceAmount, destinationAmount }
}

/** The two works that use a quote in the transaction that writes a transfer. */
export interface QuoteUse {
  /**
   * Takes the quote. Of several transfers with one quote, one commits.
   * @throws OutlayError `quote_used`, `quote_expired`.
   */
  readonly claim: PipelineWork
  /**
   * Compares its expiry once more. It runs behind every statement that may wait, so that no wait for a lock or for a connection uses a
   * quote that has expired meanwhile.
   * @throws OutlayError `quote_expired`.
   */
  readonly confirm: PipelineWork
}

/** Makes the works for one transaction. */
export function useQuote(
  context: ServiceContext,
  transfer: { readonly id: string; readonly account_id: string },
  quoteId: QuoteRow['id'],
): QuoteUse {
  let sentAt: string | undefined
  const now = readLate(() => (sentAt ??= nowOf(context).toISOString()))
  return {
    claim: (tx) => run(tx, context, claim, [transfer.account_id, quoteId, transfer.id, now]).catch(refuse),
    confirm: (tx) => run(tx, context, confirm, [quoteId, now]).catch(refuse),
  }
}

function refuse(error: unknown): never {
  const { constraint } = error as { constraint?: unknown }
  if (constraint === 'quote_unused') throw usedError()
  if (constraint === 'quote_unexpired') throw expiredError()
  throw error
}

/** How a client gets a rate, for a refusal for want of one; `undefined` without a desk. */
export function quoteHint({ quotes }: Pick<ServiceContext, 'quotes'>): string | undefined {
  if (quotes === undefined) return undefined
  return 'without a quote, value moves one to one only; get one with POST /accounts/{account_id}/quotes, and send its id as quote_id'
}

const nowOf = ({ quotes, clock }: ServiceContext): Date => quotes?.now() ?? clock.now()

function checkFit({ amount, source, destination }: TransferRequest, taken: Amount, given: Amount): void {
  const refuse = (field: string, message: string) => new OutlayError('quote_mismatch', message, { field })
  if (source.valueType !== taken.currency)
    throw refuse('source.valueType', `The quote is from ${taken.currency}; get one for these value types.`)
  if (destination.valueType !== given.currency)
    throw refuse('destination.valueType', `The quote is to ${given.currency}; get one for these value types.`)
  if (![taken, given].some((side) => Amount.equals(side, amount))) {
    const message = `The quote is for ${taken.value} ${taken.currency}, or ${given.value} ${given.currency}; send one of the two amounts.`
    throw refuse('amount.value', message)
  }
}

const usedError = () =>
  new OutlayError('quote_used', 'Another transfer has used the quote; get a new one for this transfer.', {
    field: 'quoteId',
  })

const expiredError = () =>
  new OutlayError('quote_expired', 'The quote has expired, and nothing was created; get a new one.', {
    field: 'quoteId',
  })

const claim = statement('quote_claim', 'select {{schema}}.quote_claim($1, $2, $3, $4)')

const confirm = statement('quote_confirm', 'select {{schema}}.quote_confirm($1, $2)')
