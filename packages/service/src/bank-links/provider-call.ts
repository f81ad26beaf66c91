import { OutlayError } from '@outlay/core'
import type { ServiceContext } from '../context.ts'

/** How long the provider may take to answer, in milliseconds. */
const timeoutMs = 15_000

/**
 * Asks the bank-linking provider. What it throws can quote personal data, so only its kind is logged.
 * @throws OutlayError `service_unavailable`, whatever went wrong.
 */
export async function askProvider<T>(
  context: Pick<ServiceContext, 'logger'>,
  ask: (options: { readonly signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  try {
    return await ask({ signal: AbortSignal.timeout(timeoutMs) })
  } catch (error) {
    context.logger.warn({ error: error instanceof Error ? error.name : 'Error' }, 'The bank-linking provider failed.')
    const message = 'The bank-linking provider cannot be asked now; send the request again with the same key.'
    throw new OutlayError('service_unavailable', message, { retryAfterMs: 5_000 })
  }
}
