import { AsyncLocalStorage } from 'node:async_hooks'
import { type SharedPool, shareWaitMs, withinShare } from './pool-share.ts'

const clients = new AsyncLocalStorage<string | undefined>()

/**
 * Asks a part of a deployer for a client. It has no place of the pool meanwhile, since such a part may hang. Where it is simulated, and works on the
 * pool of the service, its statements take of the share of the client: see {@link withinAskersShare}.
 */
export const askFor = <T>(clientId: string | undefined, ask: () => Promise<T>): Promise<T> => clients.run(clientId, ask)

/**
 * Does statements of a simulated part within the share of the client that has asked, and without a share where no client has. They do not begin once
 * the answer is not waited for any more. Not for what happens inside of other work of a client, such as a deposit that a simulation reports.
 */
export function withinAskersShare<T>(pool: SharedPool, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const clientId = clients.getStore()
  if (clientId === undefined) return work()
  return withinShare(pool, clientId, { limitMs: shareWaitMs, reader: { signal } }, work)
}
