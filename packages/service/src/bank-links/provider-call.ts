import { OutlayError } from '@outlay/core'
import type { ServiceContext } from '../context.ts'
import { callWithin } from '../time-limit.ts'

/** Time limit for the provider's answer, in milliseconds. */
const timeoutMs = 15_000

/**
 * Calls the bank-linking provider. Its errors can quote personal data, so only the name of the error is logged.
 * @throws OutlayError `service_unavailable` for any error, and at the time limit.
 */
export async function askProvider<T>(
  context: Pick<ServiceContext, 'logger'>,
  ask: (options: { readonly signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  try {
    return await callWithin(timeoutMs, ask)
  } catch (error) {
    context.logger.warn({ error: error instanceof Error ? error.name : 'Error' }, 'The bank-linking provider failed.')
    const message = 'The bank-linking provider cannot be asked now; send the request again with the same key.'
    throw new OutlayError('service_unavailable', message, { retryAfterMs: 5_000 })
  }
}
