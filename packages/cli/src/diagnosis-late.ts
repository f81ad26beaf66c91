import type { HealthFacts } from '@outlay/adapters-pg'
import { formatDuration } from './duration.ts'
import { type Finding, serious } from './finding.ts'
import { plural } from './table.ts'

/** Finds transfers that ended here without an effect, or with another id, and that the service accepted: the money moved all the same. */
export function diagnoseLate({ transfers }: HealthFacts): readonly Finding[] {
  const { count, samples, oldestMs, lastDetail } = transfers.acceptedLate
  if (count === 0) return []
  const more = count > samples.length ? ` and ${count - samples.length} more` : ''
  const what = `${plural(count, 'transfer')} that ended here without an effect or under another id, and that the service accepted in an answer that came too late, up to ${formatDuration(oldestMs ?? 0)} ago: ${samples.join(', ')}${more}. The first: ${lastDetail ?? 'accepted'}.`
  const cure =
    'The money may have moved, so do not resubmit them. "outlay prove" shows the id at the service: cancel it there, or correct what your handlers did on the end. The guide to operating says how to remove the finding then.'
  return [serious('accepted_late', what, cure)]
}
