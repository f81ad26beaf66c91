import { OutlayError } from '../error.ts'
import { eventOfChange } from '../event.ts'
import type { Gateway, Observation } from '../ports/gateway.ts'
import type { DecideChange } from '../ports/observations.ts'
import type { Logger } from '../ports/runtime.ts'
import type { ListPage, PolledTransfer, PollTrouble, Readings } from '../ports/work.ts'
import { TransferStatus } from '../transfer-status.ts'
import { momentOf } from './moment.ts'
import { readObstacle } from './obstacle-log.ts'

/** Transfers in one page of a list. */
export const pageSize = 100

/** Transfers read at once. */
const readsAtOnce = 8

/** Decides what an observation changes: the status only moves forward, and a final one settles the transfer. */
export const decideChange: DecideChange = ({ reachedAt, ...current }, observation) => {
  const next = TransferStatus.advance({ ...current, reachedAt: reachedAt ?? undefined }, observation)
  if (next === undefined) return undefined
  const event = eventOfChange(current, next)
  return {
    stage: TransferStatus.isFinal(next.status, next.failure) ? 'settled' : 'submitted',
    status: next.status,
    failure: next.failure,
    reachedAt: momentOf(next.reachedAt),
    events: event === undefined ? [] : [{ type: event }],
  }
}

/** Polls transfers of one account, one by one. Leaves out those that cannot be read now. */
export async function pollTransfers(
  gateway: Gateway,
  logger: Logger,
  accountId: string,
  transfers: readonly PolledTransfer[],
  signal: AbortSignal,
): Promise<Readings> {
  const observations: Observation[] = []
  const missing: string[] = []
  const troubles = new Map<string, PollTrouble | null>()
  const rest = [...transfers]
  const readers = Array.from({ length: Math.min(readsAtOnce, rest.length) }, async () => {
    for (let next = rest.pop(); next !== undefined && !signal.aborted; next = rest.pop()) {
      try {
        const observation = await gateway.get(accountId, next.remoteId, { signal, transferId: next.transferId })
        if (observation === undefined) missing.push(next.transferId)
        else observations.push(observation)
      } catch (error) {
        if (!signal.aborted) troubles.set(next.transferId, readTrouble(error))
        const message = error instanceof Error ? error.message : String(error)
        logger.debug(
          { transferId: next.transferId, error: message },
          'A transfer could not be read; it is read again later.',
        )
      }
    }
  })
  await Promise.all(readers)
  return { observations, missing, ...(troubles.size === 0 ? {} : { troubles }) }
}

/** A service that asks for a pause is in no trouble. */
const readTrouble = (error: unknown): PollTrouble | null =>
  readObstacle(error) ?? (OutlayError.is(error, 'rate_limited') ? null : 'poll_failed')

/** Each of its transfers is asked for by itself then, and counts as missing if the service does not know it either. */
function readNothing(error: unknown): ListPage {
  if (OutlayError.is(error, 'not_found')) return { observations: [] }
  throw error
}

/** Reads one page of an account's list; a page that points to itself is the last one. */
export async function readPage(
  gateway: Gateway,
  accountId: string,
  cursor: string | null,
  signal: AbortSignal,
): Promise<ListPage | undefined> {
  if (gateway.list === undefined) return undefined
  const page = await gateway
    .list(accountId, { cursor: cursor ?? undefined, limit: pageSize, signal })
    .catch(readNothing)
  return page.next === cursor ? { observations: page.observations } : page
}
