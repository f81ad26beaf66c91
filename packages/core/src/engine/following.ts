import { eventOfChange } from '../event.ts'
import type { DecideChange, FollowedTransfer } from '../ports/backend.ts'
import type { Gateway, Observation } from '../ports/gateway.ts'
import type { Logger } from '../ports/runtime.ts'
import { TransferStatus } from '../transfer-status.ts'

/** From this many due transfers of one account on, its list is read instead of each transfer. */
const sweepFrom = 10

/** Transfers in one page of a list. */
const pageSize = 100

/** Most pages that one sweep reads; what it did not meet is read one by one. */
const maxPages = 20

/** Transfers read at once. */
const readsAtOnce = 8

/** Decides what an observation changes: the status only moves forward, and a final one settles the transfer. */
export const decideChange: DecideChange = (current, observation) => {
  const observed = { ...observation, updatedAt: observation.transfer?.updatedAt }
  const next = TransferStatus.advance(current, observed)
  if (next === undefined) return undefined
  const event = eventOfChange(current, next)
  return {
    stage: TransferStatus.isFinal(next.status, next.failure) ? 'settled' : 'submitted',
    status: next.status,
    failure: next.failure,
    events: event === undefined ? [] : [{ type: event }],
  }
}

/** Looks at transfers of one account: many through its list, few one by one. What cannot be read now is left out. */
export async function followTransfers(
  gateway: Gateway,
  logger: Logger,
  accountId: string,
  transfers: readonly FollowedTransfer[],
  signal: AbortSignal,
): Promise<readonly Observation[]> {
  const missing = new Map(transfers.map((transfer) => [transfer.remoteId, transfer]))
  const seen = transfers.length < sweepFrom ? [] : await sweepList(gateway, accountId, missing, signal)
  const rest = [...missing.values()]
  const readers = Array.from({ length: Math.min(readsAtOnce, rest.length) }, async () => {
    for (let next = rest.pop(); next !== undefined && !signal.aborted; next = rest.pop()) {
      try {
        const observation = await gateway.get(accountId, next.remoteId, { signal })
        if (observation !== undefined) seen.push(observation)
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        logger.debug(
          { transferId: next.transferId, error: message },
          'A transfer could not be read; it is read again later.',
        )
      }
    }
  })
  await Promise.all(readers)
  return seen
}

/** Reads the account's list, newest first, until every transfer in `missing` was met; takes out those that were. */
async function sweepList(
  gateway: Gateway,
  accountId: string,
  missing: Map<string, FollowedTransfer>,
  signal: AbortSignal,
): Promise<Observation[]> {
  const seen: Observation[] = []
  let cursor: string | undefined
  for (let page = 0; page < maxPages && missing.size > 0 && gateway.list !== undefined; page += 1) {
    const { observations, next } = await gateway.list(accountId, { cursor, limit: pageSize, signal })
    const met = observations.filter((observation) => missing.delete(observation.remoteId))
    seen.push(...met)
    if (next === undefined) break
    cursor = next
  }
  return seen
}
