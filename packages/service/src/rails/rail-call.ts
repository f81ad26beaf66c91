import { OutlayError } from '@outlay/core'
import { bulkheadOf, type CallPlace } from '../bulkhead.ts'
import type { ServiceContext } from '../context.ts'
import { callWithin } from '../time-limit.ts'
import type { RailFlow } from './port.ts'

/**
 * Name of the rail that a transfer is paid through: that of the source for an onramp, otherwise that of the destination. The money of a deposit has arrived,
 * so that only the destination is left.
 */
export function railOf(
  flow: RailFlow,
  ends: { readonly source: TransferTypeOf; readonly destination: TransferTypeOf; readonly deposit?: unknown },
): string {
  return flow === 'onramp' && ends.deposit === undefined ? ends.source.transferType : ends.destination.transferType
}

type TransferTypeOf = { readonly transferType: string }

/**
 * Asks a rail about a transfer that does not exist yet. Call it outside a transaction: a rail that hangs must not hold a connection.
 * The time limit includes the wait for one of the rail's places, of which other rails have their own, and other parties their share.
 * Its errors can quote bank accounts, so only the name of the error is logged.
 * @throws OutlayError `service_unavailable` for any error, at the time limit, and at once when too many requests wait for the rail.
 */
export async function askRail<T>(
  context: Pick<ServiceContext, 'logger' | 'railTimeoutMs' | 'rails'>,
  place: CallPlace,
  ask: (options: { readonly signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  try {
    const bulkhead = bulkheadOf(context.rails)
    return await callWithin(context.railTimeoutMs ?? 10_000, (options) =>
      bulkhead.enter(place, options.signal, () => ask(options)),
    )
  } catch (error) {
    const { rail } = place
    context.logger.warn({ rail, error: error instanceof Error ? error.name : 'Error' }, 'A rail could not be asked.')
    const message = 'The rail cannot be asked now, and nothing was created; send the request again with the same key.'
    throw new OutlayError('service_unavailable', message, { retryAfterMs: 5_000 })
  }
}
