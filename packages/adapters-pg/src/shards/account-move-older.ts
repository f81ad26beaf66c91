import { setTimeout as delay } from 'node:timers/promises'
import { moveRefused } from './account-move-check.ts'
import type { Holder, MoveNode } from './account-move-node.ts'
import type { MoveRun } from './account-move-run.ts'

/** How long a wait pauses between two readings, in milliseconds. */
const pauseMs = { first: 10, longest: 250 }

/**
 * Waits on both nodes for every transaction whose snapshot may be older than now, so that the account is not paused for one that lasts, such as a dump of the database. On the
 * new node one would not see that the account arrives, and would enqueue under a key that is on its way.
 * @throws OutlayError `conflict` about `waitMs` with the processes of the database that it waited for, after `waitMs` for both
 */
export async function waitForSnapshots(run: MoveRun): Promise<void> {
  const endMs = performance.now() + run.waitMs
  for (const node of [run.from, run.to]) {
    const horizon = await node.horizon()
    await waitFor(run, node, () => node.snapshots(horizon), endMs)
  }
}

/**
 * Waits for every transaction that may have been allowed to write for the account before it began to leave: first those whose snapshot may be older,
 * then those that had asked by then. Later ones are refused.
 * @throws OutlayError as `waitForSnapshots` does, after `waitMs` for both
 */
export async function waitForOlder(run: MoveRun): Promise<void> {
  const endMs = performance.now() + run.waitMs
  const { from } = run
  const horizon = await from.horizon()
  await waitFor(run, from, () => from.snapshots(horizon), endMs)
  await waitFor(run, from, () => from.readers(), endMs)
}

async function waitFor(
  { move, waitMs, check }: MoveRun,
  node: MoveNode,
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
      const why = `transactions from before have not ended on "${node.name}" within ${waitMs} ms (processes of the database: ${pids}); end them, or try again.`
      throw moveRefused(move.accountId, why, 'waitMs')
    }
    await delay(ms)
  }
}
