import type { Backend } from '../ports/backend.ts'

/** What to archive, and how much of it. */
export interface ArchiveOptions {
  /** Only what ended so long ago, in milliseconds. */
  readonly olderThanMs: number
  /** Archives so many transfers at most. Default: all that are old enough. */
  readonly limit?: number | undefined
  /** Changes nothing and answers as if it had. Default false. */
  readonly dryRun?: boolean | undefined
  /** Ends it after the step that is under way; what was archived until then is told as usual. */
  readonly signal?: AbortSignal | undefined
  /** Hears after every step how far it is. */
  readonly onProgress?: ((archived: Archived) => void) | undefined
}

/** What archiving came to. */
export interface Archived {
  /** Transfers whose events and attempts went to the archive. */
  readonly archived: number
  /** Transfers that are old enough, and that a subscription has yet to hear of; dead letters count. */
  readonly held: number
  /** Names of those subscriptions, sorted. */
  readonly heldBy: readonly string[]
}

/** Transfers in one step: a transaction of some tens of milliseconds, and one row of the archive. */
const stepSize = 200

/** Archives step by step until nothing is left, the limit is reached or the signal says so. */
export async function archive<Tx>(backend: Pick<Backend<Tx>, 'archive'>, options: ArchiveOptions): Promise<Archived> {
  const { olderThanMs, limit = Number.POSITIVE_INFINITY, dryRun = false, signal, onProgress } = options
  if (!Number.isFinite(olderThanMs) || olderThanMs < 0) {
    throw new Error(`olderThanMs is a number of milliseconds from 0 on; got ${olderThanMs}.`)
  }
  let sum: Archived = { archived: 0, held: 0, heldBy: [] }
  let after: string | null = ''
  while (after !== null && sum.archived < limit && signal?.aborted !== true) {
    const size = Math.min(stepSize, limit - sum.archived)
    const step = await backend.archive({ olderThanMs, after, limit: size, dryRun })
    const heldBy = [...new Set([...sum.heldBy, ...step.heldBy])].sort()
    sum = { archived: sum.archived + step.archived, held: sum.held + step.held, heldBy }
    after = step.last
    onProgress?.(sum)
  }
  return sum
}
