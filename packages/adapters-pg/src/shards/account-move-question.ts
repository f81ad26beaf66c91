import { setTimeout as delay } from 'node:timers/promises'
import { hasSqlState } from '../database/lock-timeout.ts'
import { nodeError, nodeUnavailable } from './node-reachability.ts'
import { within } from './question-limit.ts'

/** How long one statement of a move may take where nothing else is said, in milliseconds. One that is given up may still commit, which does no harm: each may run again. */
const defaultMs = 60_000

/** How often a statement that did not get its locks, or was serialized behind another one, is tried again, and the pause before it in milliseconds. */
const again = { times: 20, pauseMs: 100 }

/**
 * Runs one statement of a move on a node, with a bound, and again where it met another transaction.
 * @throws OutlayError `node_unavailable`; what the database answers with
 */
export async function askPatiently<T>(
  node: string,
  question: () => Promise<T>,
  longestMs: number = defaultMs,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await within(longestMs, question(), () => nodeUnavailable(node, `no answer within ${longestMs} ms`))
    } catch (error) {
      if (tries > again.times || !hasSqlState(error, /^(55P03|40001|40P01)$/)) throw nodeError(node, error)
      await delay(again.pauseMs)
    }
  }
}
