import { OutlayError } from '@outlay/core'
import { type Bulkhead, bulkheadOf, createBulkhead } from '../bulkhead.ts'
import type { ServiceContext } from '../context.ts'
import { callWithin } from '../time-limit.ts'
import { type AgreedAnswer, checkAnswer, UnusableAnswer } from './answer.ts'
import type { QuoteOrder, QuoteProvider, Quotes } from './port.ts'

/** Calls for one account at once in one process, and how many requests wait for one of them to end. */
const accountLimits = { mostCalls: 8, mostWaiting: 32 }

const accountBulkheads = new WeakMap<QuoteProvider, Bulkhead>()

/**
 * Asks the desk for a quote and checks its answer. Call it outside a transaction: a desk that hangs must not hold a connection. The time limit
 * includes the wait for a place, of which each pair of value types, and each client and each account of it, has its own. The desk's errors may quote anything, so only their names
 * are logged.
 *
 * @throws OutlayError `quote_refused`; `service_unavailable` for any error, for an answer that cannot be used, at the time limit, and at once
 *   when too many requests wait.
 */
export async function askForQuote(
  context: Pick<ServiceContext, 'logger' | 'quoteTimeoutMs'>,
  { provider, now }: Quotes,
  order: QuoteOrder,
  clientId: string,
): Promise<AgreedAnswer> {
  const pair = `${order.source.name}/${order.destination.name}`
  const fail = (error: unknown): never => {
    const problem = error instanceof UnusableAnswer ? error.message : undefined
    context.logger.warn(
      { pair, error: error instanceof Error ? error.name : 'Error', problem },
      'No quote could be got.',
    )
    const message = 'No rate can be got now, and nothing was created; send the request again with the same key.'
    throw new OutlayError('service_unavailable', message, { retryAfterMs: 5_000 })
  }
  const place = { rail: pair, party: clientId }
  const ask = ({ signal }: { readonly signal: AbortSignal }) =>
    accountBulkheadOf(provider).enter(order.accountId, signal, () =>
      bulkheadOf(provider).enter(place, signal, async () => await provider.quote(order, { signal })),
    )
  const answered = await callWithin(context.quoteTimeoutMs ?? 10_000, ask).catch(fail)
  try {
    return checkAnswer(order, answered, now())
  } catch (error) {
    if (OutlayError.is(error, 'quote_refused')) throw error
    return fail(error)
  }
}

function accountBulkheadOf(provider: QuoteProvider): Bulkhead {
  const known = accountBulkheads.get(provider) ?? createBulkhead(accountLimits)
  accountBulkheads.set(provider, known)
  return known
}
