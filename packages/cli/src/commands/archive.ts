import { formatDuration } from '../output/duration.ts'
import { plural } from '../output/table.ts'
import { Unfinished } from '../session/problem.ts'
import type { Session } from '../session/session.ts'

/** Archives the history of transfers that ended long ago, or only prints how many there are. */
export async function archiveTransfers(
  session: Session,
  options: { readonly olderThanMs: number; readonly limit?: number | undefined; readonly dryRun?: boolean | undefined },
): Promise<void> {
  const { olderThanMs, limit, dryRun = false } = options
  let reportedAt = performance.now()
  let done = 0
  const archiving = session.engine.archive({
    olderThanMs,
    limit,
    dryRun,
    signal: session.signal,
    onProgress(sum) {
      done = sum.archived
      if (performance.now() - reportedAt < progressMs) return
      reportedAt = performance.now()
      session.progress(`${plural(sum.archived, 'transfer')} so far …`)
    },
  })
  const { archived, held, heldBy } = await archiving.catch((error: unknown) => {
    if (done === 0 || dryRun) throw error
    throw new Unfinished(
      `The history of ${plural(done, 'transfer')} was archived before; run it again to continue.`,
      error,
    )
  })
  const stopped = session.signal.aborted
  session.write({ archived, held, heldBy, dryRun, stopped }, () => {
    const lines = [
      `The history of ${plural(archived, 'transfer')} that ended ${formatDuration(olderThanMs)} ago or earlier ${dryRun ? 'would be' : 'was'} archived.`,
    ]
    if (held > 0) lines.push(`${plural(held, 'transfer')} not archived; undelivered events for: ${heldBy.join(', ')}.`)
    if (held > 0)
      lines.push(
        'See "outlay subscriptions list"; "outlay subscriptions remove" removes those that are no longer needed.',
      )
    if (stopped) lines.push('It was stopped; run it again to continue.')
    return lines.join('\n')
  })
}

/** Shortest time between two lines of progress, in milliseconds. */
const progressMs = 1_000
