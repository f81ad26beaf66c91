import { AsyncLocalStorage } from 'node:async_hooks'

/** Who waits for an answer. Its signal fires when nobody does any more. */
export interface Reader {
  readonly signal: AbortSignal
}

const readers = new AsyncLocalStorage<Reader>()

/** Does work that only reads, for a reader: what of it has not begun when the reader goes away need not begin. */
export const readFor = <T>(reader: Reader, work: () => Promise<T>): Promise<T> => readers.run(reader, work)

/**
 * Who waits for the read that is under way; `undefined` outside of {@link readFor}. Ask it for its signal late: most servers make the
 * signal when it is first read.
 */
export const currentReader = (): Reader | undefined => readers.getStore()
