import { OutlayError } from '@outlay/core'
import type { ServiceContext } from '../context.ts'
import { callWithin } from '../time-limit.ts'

/**
 * Asks a rail about a transfer that does not exist yet. Call it outside a transaction: a rail that hangs must not hold a connection.
 * Its errors can quote bank accounts, so only the name of the error is logged.
 * @throws OutlayError `service_unavailable` for any error, and at the time limit.
 */
export async function askRail<T>(
  context: Pick<ServiceContext, 'logger' | 'railTimeoutMs'>,
  ask: (options: { readonly signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  try {
    return await callWithin(context.railTimeoutMs ?? 10_000, ask)
  } catch (error) {
    context.logger.warn({ error: error instanceof Error ? error.name : 'Error' }, 'A rail could not be asked.')
    const message = 'The rail cannot be asked now, and nothing was created; send the request again with the same key.'
    throw new OutlayError('service_unavailable', message, { retryAfterMs: 5_000 })
  }
}
