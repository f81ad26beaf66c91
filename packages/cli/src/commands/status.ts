import { formatDuration } from '../output/duration.ts'
import { formatFields, formatTable, plural } from '../output/table.ts'
import type { Session } from '../session/session.ts'

/** Prints the backlog, the workers and the lag of each subscription. */
export async function showStatus(session: Session): Promise<void> {
  const { inspection, backend } = session
  const backlog = await backend.backlog()
  const health = await inspection.health()
  const { workers, jobs, pausedAccounts, subscriptions } = health
  const status = {
    schema: session.schema,
    backlog,
    due: { count: jobs.due.count, oldestMs: jobs.due.oldestMs },
    workers,
    pausedAccounts: pausedAccounts.map((account) => account.accountId),
    subscriptions,
  }
  session.write(status, () => {
    const stages = formatTable(
      [backlog],
      [
        ['held', (row) => row.held],
        ['queued', (row) => row.queued],
        ['submitting', (row) => row.submitting],
        ['awaiting funds', (row) => row.awaitingFunds],
        ['submitted', (row) => row.submitted],
        ['blocked', (row) => row.blocked],
        ['settled', (row) => row.settled],
      ],
    )
    const due =
      jobs.due.count === 0 ? 'none' : `${jobs.due.count}, the oldest for ${formatDuration(jobs.due.oldestMs ?? 0)}`
    const fields = formatFields([
      ['due now', due],
      ['workers', describeWorkers(workers)],
      ['paused accounts', pausedAccounts.length === 0 ? 'none' : pausedAccounts.map((one) => one.accountId).join(', ')],
    ])
    const lags = subscriptions.length === 0 ? 'No subscription.' : formatSubscriptions(subscriptions)
    return [stages, fields, lags].join('\n\n')
  })
}

/** Formats subscriptions and their lag. */
export function formatSubscriptions(
  subscriptions: Awaited<ReturnType<Session['inspection']['subscriptions']>>,
): string {
  return formatTable(subscriptions, [
    ['subscription', (row) => row.name],
    ['undelivered', (row) => row.undelivered],
    ['failing', (row) => row.failing],
    ['dead letters', (row) => row.deadLetters],
    ['oldest', (row) => (row.lagMs === null ? null : formatDuration(row.lagMs))],
    ['attended', (row) => `${formatDuration(row.unattendedMs)} ago`],
    ['last error', (row) => row.lastError],
  ])
}

/** A running engine supervises the queue every five seconds; this long without it means that none runs, in milliseconds. */
export const supervisionLimitMs = 30_000

function describeWorkers(workers: {
  readonly supervisedMs: number | null
  readonly claimedMs: number | null
  readonly names: readonly string[]
}): string {
  const { supervisedMs, claimedMs, names } = workers
  if (supervisedMs === null) return 'none has ever run'
  if (supervisedMs > supervisionLimitMs) return `none: the last one was seen ${formatDuration(supervisedMs)} ago`
  const last = claimedMs === null ? 'no transfer in the last hour' : `last transfer ${formatDuration(claimedMs)} ago`
  return `running (${last}; ${plural(names.length, 'worker')} in five minutes)`
}
