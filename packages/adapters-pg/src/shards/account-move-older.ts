import { setTimeout as delay } from 'node:timers/promises'
import { moveRefused } from './account-move-check.ts'
import type { Holder } from './account-move-node.ts'
import type { MoveRun } from './account-move-run.ts'

/** How long a wait pauses between two readings, in milliseconds. */
const pauseMs = { first: 10, longest: 250 }

/**
 * Waits for every transaction whose snapshot may be older than now, so that the account is not paused for one that lasts, such as a dump of the database.
 * @throws OutlayError `conflict` about `waitMs` with the processes of the database that it waited for, after `waitMs`
 */
export async function waitForSnapshots(run: MoveRun): Promise<void> {
  const horizon = await run.from.horizon()
  await waitFor(run, () => run.from.snapshots(horizon), performance.now() + run.waitMs)
}

/**
 * Waits for every transaction that may have been allowed to write for the account before it began to leave: first those whose snapshot may be older,
 * then those that had asked by then. Later ones are refused.
 * @throws OutlayError as `waitForSnapshots` does, after `waitMs` for both
 */
export async function waitForOlder(run: MoveRun): Promise<void> {
  const endMs = performance.now() + run.waitMs
  const horizon = await run.from.horizon()
  await waitFor(run, () => run.from.snapshots(horizon), endMs)
  await waitFor(run, () => run.from.readers(), endMs)
}

async function waitFor(
  { move, from, waitMs, check }: MoveRun,
  read: () => Promise<readonly Holder[]>,
  endMs: number,
): Promise<void> {
  const before = new Set((await read()).map(({ holder }) => holder))
  for (let ms = pauseMs.first; before.size > 0; ms = Math.min(ms * 2, pauseMs.longest)) {
    const left = (await read()).filter(({ holder }) => before.has(holder))
    if (left.length === 0) return
    check()
    if (performance.now() > endMs) {
      const pids = left.map(({ pid }) => pid ?? 'a prepared transaction').join(', ')
      const why = `transactions from before have not ended on "${from.name}" within ${waitMs} ms (processes of the database: ${pids}); end them, or try again.`
      throw moveRefused(move.accountId, why, 'waitMs')
    }
    await delay(ms)
  }
}
