import { OutlayError } from '@outlay/core'
import { bulkheadOf } from '../bulkhead.ts'
import type { ServiceContext } from '../context.ts'
import { callWithin } from '../time-limit.ts'
import type { BankLinkProvider } from './port.ts'

/** Time limit for the provider's answer, in milliseconds. */
const timeoutMs = 15_000

/**
 * Calls the bank-linking provider for a party, which has a share of the places. The time limit includes the wait for one. Its errors can quote personal data, so only the name of the error is logged.
 * @throws OutlayError `service_unavailable` for any error, at the time limit, and at once when too many requests wait.
 */
export async function askProvider<T>(
  context: Pick<ServiceContext, 'logger'>,
  provider: BankLinkProvider,
  party: string,
  ask: (options: { readonly signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  try {
    const place = { rail: 'bank links', party }
    return await callWithin(timeoutMs, (options) =>
      bulkheadOf(provider).enter(place, options.signal, () => ask(options)),
    )
  } catch (error) {
    context.logger.warn({ error: error instanceof Error ? error.name : 'Error' }, 'The bank-linking provider failed.')
    const message = 'The bank-linking provider cannot be asked now; send the request again with the same key.'
    throw new OutlayError('service_unavailable', message, { retryAfterMs: 5_000 })
  }
}
