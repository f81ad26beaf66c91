const minute = 60_000
const hour = 60 * minute

/** Limits from which a finding is a warning, and from which it is serious. Milliseconds, rows, or failures in a row. */
export const limits = {
  clockSkewMs: { warning: 2_000, serious: 30_000 },
  dueMs: { warning: 5 * minute, serious: 30 * minute },
  unknownMs: { warning: 10 * minute, serious: 12 * hour },
  obstructedMs: { warning: 0, serious: 5 * minute },
  deferredMs: { warning: 15 * minute, serious: 2 * hour },
  failedReadings: { warning: 6, serious: 13 },
  awaitingFundsMs: 24 * hour,
  heldMs: 3 * 24 * hour,
  screeningFailingMs: { warning: minute, serious: 5 * minute },
  screeningDueMs: { warning: 5 * minute, serious: 30 * minute },
  unchainedMs: { warning: 5 * minute, serious: hour },
  submittedMs: 7 * 24 * hour,
  overduePollMs: 5 * minute,
  lagMs: { warning: 5 * minute, serious: hour },
  failingLagMs: { warning: minute, serious: hour },
  unattendedMs: { warning: hour, serious: 24 * hour },
  snapshotMs: { warning: 5 * minute, serious: hour },
  snapshotTransactions: 1_000_000,
  deadRows: 10_000,
  deadShare: 0.2,
} as const

/** A limit for the guide: a duration in milliseconds, or text; null where there is no such severity. */
type Limit = number | string | null

/** The limits by the code of their finding, as the guide to operating has them. What is not in it is reported at once. */
export const thresholds: readonly (readonly [code: string, of: string, warning: Limit, serious: Limit])[] = [
  ['unreachable', 'since when no request gets through', 'at once', limits.obstructedMs.serious],
  ['credentials_unavailable', 'since when no request gets through', 'at once', limits.obstructedMs.serious],
  ['poll_failed', 'since when a status is not read', 'at once', limits.obstructedMs.serious],
  ['workers_behind', 'since when the oldest is due', limits.dueMs.warning, limits.dueMs.serious],
  ['outcome_unknown', 'since when the oldest is unknown', limits.unknownMs.warning, limits.unknownMs.serious],
  ['deferred', 'since when the oldest could have been sent', limits.deferredMs.warning, limits.deferredMs.serious],
  ['awaiting_funds', 'since when the oldest was enqueued', limits.awaitingFundsMs, null],
  ['held_long', 'since when the oldest is held', limits.heldMs, null],
  [
    'screening_failing',
    'since the first call without an answer',
    limits.screeningFailingMs.warning,
    limits.screeningFailingMs.serious,
  ],
  [
    'screening_unattended',
    'since when the first is due to be screened',
    limits.screeningDueMs.warning,
    limits.screeningDueMs.serious,
  ],
  ['audit_unchained', 'since when the oldest entry is there', limits.unchainedMs.warning, limits.unchainedMs.serious],
  ['submitted_long', 'since when the oldest was enqueued', limits.submittedMs, null],
  ['overdue_polls', 'since when the oldest poll is due', null, limits.overduePollMs],
  ['watched_unread', 'failed readings in a row', ...of(limits.failedReadings)],
  ['watched_unread', 'since when the list is due to be read', limits.deferredMs.warning, limits.deferredMs.serious],
  ['subscription_lag', 'since when the oldest event waits', limits.lagMs.warning, limits.lagMs.serious],
  ['subscription_lag', 'the same, where the handler fails', limits.failingLagMs.warning, limits.failingLagMs.serious],
  [
    'subscription_unattended',
    'since when no process attends it',
    limits.unattendedMs.warning,
    limits.unattendedMs.serious,
  ],
  ['clock_skew', 'difference of the clocks', limits.clockSkewMs.warning, limits.clockSkewMs.serious],
  ['snapshot_held', 'age of the transaction', limits.snapshotMs.warning, limits.snapshotMs.serious],
  ['snapshot_held', 'transactions since it began', String(limits.snapshotTransactions), null],
  [
    'vacuum_lag',
    'dead rows of a table, and their share',
    `${limits.deadRows}, ${limits.deadShare * 100} % of the live ones`,
    null,
  ],
]

function of({ warning, serious }: { readonly warning: number; readonly serious: number }): readonly [string, string] {
  return [String(warning), String(serious)]
}
