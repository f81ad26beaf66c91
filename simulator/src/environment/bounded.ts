import { setTimeout } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { Violation } from '../violation.ts'

/** Longest time of a run, in milliseconds: far more than the slowest one takes, so what has not ended by then hangs. */
export const longestRunMs = 480_000

/** How long everything that a run has started may take to stop, in milliseconds. */
export const longestStopMs = 60_000

/** How long to wait for an answer about who waits, in milliseconds. */
const pollMs = 5_000

/** Whether something ended, of which nobody else learns that it failed. */
export async function endsWithin(ms: number, ending: Promise<unknown>): Promise<boolean> {
  const waiting = new AbortController()
  const late = setTimeout(ms, false, { signal: waiting.signal }).catch(() => false)
  try {
    return await Promise.race([ending.then(() => true), late])
  } finally {
    waiting.abort()
  }
}

/** Names what waits for something that does not end. */
export async function nameWaiting(
  { host }: { readonly host: Pick<Pool, 'query'> },
  what: string,
): Promise<readonly Violation[]> {
  let rows: readonly { readonly account_id: string; readonly count: number }[] = []
  const reading = async () => {
    const found = await host.query(
      `select account_id, count(*)::integer as count from outlay.transfer
       where stage in ('queued', 'submitting', 'awaiting_funds', 'submitted') group by 1 order by 1`,
    )
    rows = found.rows
  }
  // The database itself may be what hangs.
  await endsWithin(pollMs, reading()).catch(() => false)
  if (rows.length === 0) return [{ invariant: 'nothing_stuck', detail: `${what}, and no transfer waits for it` }]
  return rows.map(({ account_id, count }) => ({
    invariant: 'tenant_served',
    detail: `${what}; ${account_id} waits with ${count} transfers`,
  }))
}
