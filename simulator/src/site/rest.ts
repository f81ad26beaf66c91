import { setTimeout as delay } from 'node:timers/promises'
import type { Backlog } from '@outlay/core'
import { countJobs } from '../queue.ts'
import type { Site } from './site.ts'

/** Lets the writers end, and waits until every transfer has come to its end, or `timeoutMs` have passed. True for the former. */
export async function comeToRest(
  site: Site,
  timeoutMs: number,
  onCheck: (backlog: Backlog) => void = () => undefined,
): Promise<boolean> {
  for (const writer of site.writers) await writer.stop()
  const deadline = performance.now() + timeoutMs
  while (performance.now() < deadline) {
    const backlog = await site.backlog()
    onCheck(backlog)
    const { queued, submitting, awaitingFunds, submitted, blocked, undelivered } = backlog
    const jobs = await countJobs(site.host)
    if (queued + submitting + awaitingFunds + submitted + blocked + undelivered + jobs === 0) return true
    await delay(500)
  }
  return false
}
