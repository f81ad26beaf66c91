import { checkNumbers } from '../number-option.ts'
import { checkNames } from '../option-names.ts'
import type { ArchivePort } from '../ports/archive.ts'
import { checkFlag } from './checked-text.ts'

/** What to archive, and how much of it. */
export interface ArchiveOptions {
  /** Only transfers that ended at least this long ago, in milliseconds. */
  readonly olderThanMs: number
  /** Most transfers to archive. Default: all that are old enough. */
  readonly limit?: number | undefined
  /** Changes nothing and returns the result of a real run, as if no foreign key of the host referred to a history. Default false. */
  readonly dryRun?: boolean | undefined
  /** Ends the run after the current step; the result covers the steps done until then. */
  readonly signal?: AbortSignal | undefined
  /** Called after every step with the sum so far. */
  readonly onProgress?: ((archived: Archived) => void) | undefined
}

/** The result of archiving. */
export interface Archived {
  /** Transfers whose events and attempts were archived. */
  readonly archived: number
  /** Transfers that are old enough but have an event not yet delivered to a subscription; dead letters count. */
  readonly held: number
  /** Names of those subscriptions, sorted. */
  readonly heldBy: readonly string[]
  /** Transfers that are old enough but whose events or attempts a foreign key of the host refers to. A dry run counts them as archived. */
  readonly referenced: number
}

/** Transfers in one step: a transaction of some tens of milliseconds, and one row of the archive. */
const stepSize = 200

/** Longest age of an end, in milliseconds: a hundred years. Postgres has no time ten thousand years ago. */
export const longestArchiveMs = 36_525 * 86_400_000

const ranges = { olderThanMs: { min: 0, max: longestArchiveMs }, limit: { min: 0, integer: true } }

/** Archives step by step until nothing is left, the limit is reached or the signal aborts. */
export async function archive(backend: ArchivePort, options: ArchiveOptions): Promise<Archived> {
  checkNames(options, ['olderThanMs', 'limit', 'dryRun', 'signal', 'onProgress'])
  const { olderThanMs, limit = Number.POSITIVE_INFINITY, dryRun = false, signal, onProgress } = options
  if (olderThanMs === undefined) throw new Error('olderThanMs is a number from 0 on; got undefined.')
  const given = options.limit === Number.POSITIVE_INFINITY ? undefined : options.limit
  checkNumbers({ olderThanMs, limit: given }, ranges)
  checkFlag(dryRun, 'dryRun')
  let sum: Archived = { archived: 0, held: 0, heldBy: [], referenced: 0 }
  let after: string | null = ''
  while (after !== null && sum.archived < limit && signal?.aborted !== true) {
    const size = Math.min(stepSize, limit - sum.archived)
    const step = await backend.archive({ olderThanMs, after, limit: size, dryRun })
    const heldBy = [...new Set([...sum.heldBy, ...step.heldBy])].sort()
    sum = {
      archived: sum.archived + step.archived,
      held: sum.held + step.held,
      heldBy,
      referenced: sum.referenced + step.referenced,
    }
    after = step.last
    onProgress?.(sum)
  }
  return sum
}
