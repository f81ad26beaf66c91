import type { ServiceContext } from '../context.ts'
import { callWithin } from '../time-limit.ts'
import type { Rails } from './port.ts'

type RailsContext = Pick<ServiceContext, 'rails' | 'logger' | 'railTimeoutMs'>

const defaultTimeoutMs = 10_000

/**
 * Starts the rails, and waits at most as long as for any other answer of theirs.
 * @throws DOMException `TimeoutError` at the limit; what the rails throw.
 */
export async function startRails(
  { rails, railTimeoutMs = defaultTimeoutMs }: RailsContext,
  ...listeners: Parameters<Rails['start']>
): Promise<void> {
  await callWithin(railTimeoutMs, () => rails.start(...listeners))
}

/**
 * Stops the rails, and waits at most as long as for any other answer of theirs. Never rejects: what else the service runs has to stop,
 * too. Their errors can quote bank accounts, so only the name of the error is logged.
 */
export async function stopRails({ rails, logger, railTimeoutMs = defaultTimeoutMs }: RailsContext): Promise<void> {
  try {
    await callWithin(railTimeoutMs, () => rails.stop())
  } catch (error) {
    const name = error instanceof Error ? error.name : 'Error'
    logger.warn({ error: name }, 'The rails did not stop; the service stops without them.')
  }
}
