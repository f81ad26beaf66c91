import type { HealthFacts, UnreadWatch } from '@outlay/adapters-pg'
import { formatDuration } from '../output/duration.ts'
import { listSome } from '../output/list-some.ts'
import { plural } from '../output/table.ts'
import { type Finding, serious, warning } from './finding.ts'
import { limits } from './thresholds.ts'

const cures: Readonly<Record<string, string>> = {
  rate_limited: 'If the service asks for pauses, ask it for more; "outlay prove" shows every attempt and its answer.',
  account_limited:
    'Raise the limits of the account ("outlay accounts limit"), or see why the service slows it down ("outlay accounts list").',
  registration_unknown:
    'The service does not say whether it registered their counterparties, so they are not sent. See whether it answers; no money can have moved. After 24 hours they are blocked.',
  unauthorized: 'The service forbids these alone. Get the permission, or "outlay transfers cancel" what is not wanted.',
}

/** Says what others made on watched accounts and the engine cannot take on. */
export function diagnoseUnadopted({ unadopted }: HealthFacts): readonly Finding[] {
  const { count, samples, problem } = unadopted
  if (count === 0) return []
  const what = `${plural(count, 'transfer')} of others on watched accounts cannot be adopted: ${samples[0]} at the service. ${problem ?? ''}`
  const cure =
    'Nothing is lost: they stay in found_transfer and are not polled. Enqueue nothing for them; see what the service shows of them.'
  return [warning('adoption_failed', what.trim(), cure)]
}

/** Finds watched accounts whose lists cannot be read, or are not. */
export function diagnoseUnread({ unreadWatches }: HealthFacts): readonly Finding[] {
  const isOver = ({ failures, overdueMs }: UnreadWatch, grade: 'warning' | 'serious') =>
    failures >= limits.failedReadings[grade] || overdueMs >= limits.deferredMs[grade]
  const unread = unreadWatches.filter((one) => isOver(one, 'warning'))
  if (unread.length === 0) return []
  const grade = unread.some((one) => isOver(one, 'serious')) ? serious : warning
  const names = unread.map(({ accountId, failures, overdueMs }) => {
    const why = failures > 0 ? `${plural(failures, 'failure')} in a row` : `due for ${formatDuration(overdueMs)}`
    return `${accountId} (${why})`
  })
  const what = `${plural(unread.length, 'watched account')} whose list is not read: ${listSome(names)}. Transfers of others there are found by webhooks alone.`
  const cure =
    'The log of a worker says why a list cannot be read: correct the credentials, or ask the service; if it says nothing, start a worker. "engine.accounts.unwatch" ends the watch of an account that is not wanted.'
  return [grade('watched_unread', what, cure)]
}

/** Finds transfers that nobody has approved or released for days: a held one is no delay, so nothing else reports it. */
export function diagnoseHeld({ transfers }: HealthFacts): readonly Finding[] {
  const { count, samples, oldestMs } = transfers.held
  if ((oldestMs ?? 0) < limits.heldMs) return []
  const what = `${plural(count, 'transfer')} held until people act, the oldest for ${formatDuration(oldestMs ?? 0)}: ${samples[0]}.`
  const cure =
    '"outlay transfers list --stage held" has them, and "outlay transfers show" who may act. Approve, release or reject them; one with an expiresAt ends by itself.'
  return [warning('held_long', what, cure)]
}

/**
 * Reports what is tried again and again and never sent. Such a transfer is always about to be tried, so it is never overdue: only
 * its age shows that something is wrong.
 */
export function diagnoseDeferredTransfers({ transfers }: HealthFacts): readonly Finding[] {
  return transfers.deferred.flatMap(({ reason, count, samples, accounts, oldestMs, lastDetail }) => {
    const ageMs = oldestMs ?? 0
    if (ageMs < limits.deferredMs.warning) return []
    // A limit of the host's own may be meant to take long.
    const grade = ageMs >= limits.deferredMs.serious && reason !== 'account_limited' ? serious : warning
    const said = lastDetail === null ? '' : ` The last attempt of the oldest: ${lastDetail.slice(0, 200)}`
    const what = `${plural(count, 'transfer')} deferred (${reason}), the oldest for ${formatDuration(ageMs)}: ${samples[0]}; of ${accounts.join(', ')}${accounts.length === 5 ? ' or more' : ''}.${said}`
    return [grade('deferred', what, cures[reason] ?? 'See "outlay prove" for each.')]
  })
}
