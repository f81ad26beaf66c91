import { formatDuration } from './duration.ts'
import type { Session } from './session.ts'
import { plural } from './table.ts'

/** Moves the history of what ended long ago to the archive, or only says how much that would be. */
export async function archiveTransfers(
  session: Session,
  options: { readonly olderThanMs: number; readonly limit?: number | undefined; readonly dryRun?: boolean | undefined },
): Promise<void> {
  const { olderThanMs, limit, dryRun = false } = options
  const verb = dryRun ? 'would go' : 'went'
  let told = performance.now()
  const { archived, held, heldBy } = await session.engine.archive({
    olderThanMs,
    limit,
    dryRun,
    signal: session.signal,
    onProgress(sum) {
      if (performance.now() - told < progressMs) return
      told = performance.now()
      session.progress(`${plural(sum.archived, 'transfer')} ${verb} so far …`)
    },
  })
  const stopped = session.signal.aborted
  session.write({ archived, held, heldBy, dryRun, stopped }, () => {
    const lines = [
      `The history of ${plural(archived, 'transfer')} that ended ${formatDuration(olderThanMs)} ago or earlier ${verb} to the archive.`,
    ]
    if (held > 0)
      lines.push(
        `${plural(held, 'transfer')} stayed, for subscriptions that have yet to handle their events: ${heldBy.join(', ')}.`,
      )
    if (held > 0)
      lines.push('See "outlay subscriptions list"; "outlay subscriptions remove" takes away what nobody needs.')
    if (stopped) lines.push('It was told to stop; run it again to go on.')
    return lines.join('\n')
  })
}

/** Shortest time between two lines about how far it is, in milliseconds. */
const progressMs = 1_000
