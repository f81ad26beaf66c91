import type { JobQueue } from './job-queue.ts'
import { openOutlayQueue } from './outlay-queue.ts'
import { openPgBossQueue } from './pg-boss-queue.ts'
import { openSkipLockedQueue } from './skip-locked-queue.ts'

/** Opens every queue, Outlay first, each in a database of its own that is named after the workload. */
export async function openJobQueues(serverUrl: string, workload: string): Promise<readonly JobQueue[]> {
  return [
    await openOutlayQueue(serverUrl, workload),
    await openPgBossQueue(serverUrl, workload),
    await openSkipLockedQueue(serverUrl, workload),
  ]
}
