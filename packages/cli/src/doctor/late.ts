import type { HealthFacts } from '@outlay/adapters-pg'
import { formatDuration } from '../output/duration.ts'
import { listGroup } from '../output/list-some.ts'
import { plural } from '../output/table.ts'
import { type Finding, serious } from './finding.ts'

/** Finds transfers that the service accepted, or may have, when they had ended here or had another id. */
export function diagnoseLate({ transfers }: HealthFacts): readonly Finding[] {
  const { acceptedLate, acceptedTwice, endedInDoubt } = transfers
  return [
    ...diagnoseGroup(
      'accepted_late',
      acceptedLate,
      'that ended here without an effect, and that the service accepted all the same',
      'The money may have moved, so do not resubmit them. "outlay prove" shows the id at the service: cancel it there, or correct what your handlers did on the end. The guide to operating says how to remove the finding then.',
    ),
    ...diagnoseGroup(
      'accepted_twice',
      acceptedTwice,
      'that the service accepted under another id than they have here',
      'The money may have moved twice, or one of the ids is wrong. Compare both at the service, and cancel what is too much there or ask for its return. The guide to operating says how to remove the finding then.',
    ),
    ...diagnoseGroup(
      'ended_in_doubt',
      endedInDoubt,
      'that ended here behind a fence, and that the service may have',
      'Until a person decides, they are not resubmitted and what the service has like them is not adopted. Ask the service, then "outlay transfers resolve": with --remote-id if it was paid, with --not-paid if not. They stay ended.',
    ),
  ]
}

function diagnoseGroup(
  code: 'accepted_late' | 'accepted_twice' | 'ended_in_doubt',
  { count, samples, oldestMs, lastDetail }: HealthFacts['transfers']['acceptedLate'],
  which: string,
  cure: string,
): readonly Finding[] {
  if (count === 0) return []
  const what = `${plural(count, 'transfer')} ${which}, up to ${formatDuration(oldestMs ?? 0)} ago: ${listGroup({ samples, count })}. The first: ${lastDetail ?? 'accepted'}.`
  return [serious(code, what, cure)]
}
