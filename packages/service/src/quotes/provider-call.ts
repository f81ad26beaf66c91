import { OutlayError } from '@outlay/core'
import type { ServiceContext } from '../context.ts'
import { type Bulkhead, createBulkhead } from '../rails/bulkhead.ts'
import { callWithin } from '../time-limit.ts'
import { type AgreedAnswer, checkAnswer, UnusableAnswer } from './answer.ts'
import type { QuoteOrder, QuoteProvider, Quotes } from './port.ts'

/** Calls for one pair of value types at once in one process, and how many requests wait for one of them to end. */
const limits = { mostCalls: 32, mostWaiting: 128 }

/** The same for one account, which cannot take all places of a pair from the others. */
const accountLimits = { mostCalls: 8, mostWaiting: 32 }

interface Bulkheads {
  readonly pairs: Bulkhead
  readonly accounts: Bulkhead
}

const bulkheads = new WeakMap<QuoteProvider, Bulkheads>()

/**
 * Asks the desk for a quote and checks its answer. Call it outside a transaction: a desk that hangs must not hold a connection. The time limit
 * includes the wait for a place, of which each pair of value types and each account has its own. The desk's errors may quote anything, so only their names
 * are logged.
 *
 * @throws OutlayError `quote_refused`; `service_unavailable` for any error, for an answer that cannot be used, at the time limit, and at once
 *   when too many requests wait.
 */
export async function askForQuote(
  context: Pick<ServiceContext, 'logger' | 'quoteTimeoutMs'>,
  { provider, now }: Quotes,
  order: QuoteOrder,
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
  const { pairs, accounts } = bulkheadsOf(provider)
  const ask = ({ signal }: { readonly signal: AbortSignal }) =>
    accounts.enter(order.accountId, signal, () =>
      pairs.enter(pair, signal, async () => await provider.quote(order, { signal })),
    )
  const answered = await callWithin(context.quoteTimeoutMs ?? 10_000, ask).catch(fail)
  try {
    return checkAnswer(order, answered, now())
  } catch (error) {
    if (OutlayError.is(error, 'quote_refused')) throw error
    return fail(error)
  }
}

function bulkheadsOf(provider: QuoteProvider): Bulkheads {
  const known = bulkheads.get(provider) ?? { pairs: createBulkhead(limits), accounts: createBulkhead(accountLimits) }
  bulkheads.set(provider, known)
  return known
}
