import type { Answer } from '../api/client.ts'

/** Says whose stop it is that somebody has tried to put a second one beside. */
export function describeStopBefore(
  stop: Answer<'POST /stops/add'>['stop'] | Answer<'POST /accounts/:accountId/stop'>['stop'],
): string {
  if (stop === null) return 'It was so before; nothing was changed.'
  const { actor, since, reason } = stop
  return `Nothing was changed: it is stopped by ${actor ?? 'somebody'} since ${since}${reason === null ? '' : ` (${reason})`}. Whoever ends that stop ends it for all.`
}
