import type { HealthFacts } from '@outlay/adapters-pg'
import { formatDuration } from '../output/duration.ts'
import { type Finding, graded } from './finding.ts'
import { limits } from './thresholds.ts'

/** Says that entries of the audit are in no chain. Workers add them every two seconds. */
export function diagnoseUnchained({ unchained: { count, oldestMs } }: HealthFacts): readonly Finding[] {
  const grade = graded(oldestMs ?? 0, limits.unchainedMs)
  if (count === 0 || grade === undefined) return []
  const what = `${count} ${count === 1 ? 'entry' : 'entries'} of the audit in no chain, the oldest for ${formatDuration(oldestMs ?? 0)}: what is not in it can be changed unseen.`
  const cure =
    'Start a worker. If one runs, some session keeps the chain locked: pg_locks has who holds an advisory lock, and pg_stat_activity its login. "outlay audit verify" adds what is left then.'
  return [grade('audit_unchained', what, cure)]
}
