import { setTimeout as delay } from 'node:timers/promises'
import { withAdmin } from './database.ts'

const pauseMs = 20

/**
 * Resolves when the server answers a query.
 *
 * @param failed - gives a reason to stop waiting, such as that the process has ended
 * @throws Error with the last refusal when `timeoutMs` have passed, or with the reason of `failed`.
 */
export async function waitForPostgres(
  url: string,
  timeoutMs: number,
  failed: () => string | undefined = () => undefined,
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const reason = failed()
    if (reason !== undefined) throw new Error(`Postgres did not start: ${reason}`)
    try {
      await withAdmin(url, (admin) => admin.query('select 1'))
      return
    } catch (error) {
      if (performance.now() > deadline) {
        throw new Error(`Postgres does not answer after ${timeoutMs} ms.`, { cause: error })
      }
    }
    await delay(pauseMs)
  }
}
