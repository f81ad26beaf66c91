import { OutlayError } from '@outlay/core'

/** SQLSTATEs of a deadlock and of a serialization failure: the transaction was rolled back, and may succeed when it runs again. */
const conflicts = new Set(['40P01', '40001'])

/** The SQLSTATE of an error of Postgres; `undefined` for any other error. */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || OutlayError.is(error)) return undefined
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : undefined
}

/** True for the error of a transaction that another one was in the way of. */
export const isConflict = (error: unknown): boolean => conflicts.has(sqlStateOf(error) ?? '')

/** Times that a transaction runs in all, when others are in its way. */
const mostTries = 5

/** Runs work that is one transaction, again when another transaction was in its way. */
export async function afterConflicts<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      if (tries >= mostTries || !isConflict(error)) throw error
    }
  }
}
