import type { Group, HealthFacts } from '@outlay/adapters-pg'
import { supervisionLimitMs } from '../commands/status.ts'
import { formatDuration } from '../output/duration.ts'
import { listGroup, listSome } from '../output/list-some.ts'
import { plural } from '../output/table.ts'
import { diagnoseDeferredTransfers, diagnoseHeld, diagnoseUnadopted, diagnoseUnread } from './deferred.ts'
import { type Finding, graded, serious, warning } from './finding.ts'
import { diagnoseGateways } from './gateways.ts'
import { diagnoseLate } from './late.ts'
import { diagnoseObstructed } from './obstructed.ts'
import { diagnosePaid } from './paid.ts'
import { diagnoseSending } from './sending.ts'
import { limits } from './thresholds.ts'
import { diagnoseUnchained } from './unchained.ts'

/** The facts about a connection to the server. */
export interface ConnectionFacts {
  /** True when the connection received a notification that was sent to it. */
  readonly notified: boolean
  /** True when a pooler stands between this connection and the server. */
  readonly pooled: boolean
}

/** Finds what the facts about a database mean; serious findings first. */
export function diagnose(facts: HealthFacts, connection: ConnectionFacts): readonly Finding[] {
  const findings = [
    ...diagnoseLate(facts),
    ...diagnoseSending(facts),
    ...diagnoseObstructed(facts),
    ...diagnoseGateways(facts),
    ...diagnoseServer(facts, connection),
    ...diagnoseWorkers(facts),
    ...diagnoseJobs(facts),
    ...diagnosePaid(facts),
    ...diagnoseTransfers(facts),
    ...diagnoseDeferredTransfers(facts),
    ...diagnoseHeld(facts),
    ...diagnoseUnchained(facts),
    ...diagnoseUnadopted(facts),
    ...diagnoseUnread(facts),
    ...diagnoseAccounts(facts),
    ...diagnoseSubscriptions(facts),
    ...diagnoseSnapshots(facts),
    ...diagnoseTables(facts),
  ]
  return [...findings.filter(isSerious), ...findings.filter((finding) => !isSerious(finding))]
}

const isSerious = (finding: Finding) => finding.severity === 'serious'

const since = ({ oldestMs }: Group) => formatDuration(oldestMs ?? 0)

function diagnoseServer({ server }: HealthFacts, connection: ConnectionFacts): readonly Finding[] {
  const findings: Finding[] = []
  const skewMs = Math.max(0, Math.abs(server.clockSkewMs) - server.clockErrorMs)
  const clock = graded(skewMs, limits.clockSkewMs)
  if (clock !== undefined) {
    const way = server.clockSkewMs > 0 ? 'behind' : 'ahead of'
    const what = `The clock of this machine is ${formatDuration(Math.abs(server.clockSkewMs))} ${way} that of Postgres.`
    const cure = 'Run NTP on both: expiry and the limit of unknown outcomes compare times of the two.'
    findings.push(clock('clock_skew', what, cure))
  }
  if (server.readOnly) {
    const cure = 'Connect to the primary; the engine cannot work on a replica.'
    findings.push(serious('read_only', 'This database is read-only.', cure))
  }
  if (!connection.notified) {
    const what = connection.pooled
      ? 'A pooler in transaction mode is in front of Postgres: LISTEN does not work.'
      : 'LISTEN does not work on this connection.'
    const cure =
      'Start engines with { listen: false } and drivers with { prepared: false }, so that they poll; or give them their own connection that bypasses the pooler.'
    findings.push(warning('listen_unheard', what, cure))
  }
  return findings
}

function diagnoseWorkers({ workers, jobs }: HealthFacts): readonly Finding[] {
  const { supervisedMs } = workers
  const alive = supervisedMs !== null && supervisedMs <= supervisionLimitMs
  const { due } = jobs
  if (!alive && due.count > 0) {
    const last =
      supervisedMs === null ? 'none has ever run here' : `the last was seen ${formatDuration(supervisedMs)} ago`
    const what = `${plural(due.count, 'transfer')} due for ${since(due)} and no worker runs (${last}).`
    return [serious('no_workers', what, 'Start a process that calls engine.start(), and find out why it stopped.')]
  }
  if (!alive) {
    const cure = 'Start a process that calls engine.start(), unless nothing is to be sent.'
    return [warning('no_workers', 'No worker runs; nothing is due at the moment.', cure)]
  }
  const late = graded(due.oldestMs ?? 0, limits.dueMs)
  if (late === undefined) return []
  const what = `Workers run, and ${plural(due.count, 'transfer')} due, the oldest for ${since(due)}.`
  const cure =
    'Raise their concurrency or start more, unless the service asks for pauses (see "transfers list --stuck").'
  return [late('workers_behind', what, cure)]
}

function diagnoseJobs({ jobs }: HealthFacts): readonly Finding[] {
  const findings: Finding[] = []
  if (jobs.missing.count > 0) {
    const what = `${plural(jobs.missing.count, 'transfer')} without a job: ${listGroup(jobs.missing)}.`
    const cure =
      'Start a worker: its sweep gives them jobs within a minute. If the finding stays, find out what deletes from the queue.'
    findings.push(serious('job_missing', what, cure))
  }
  if (jobs.stray.count > 0) {
    const what = `${plural(jobs.stray.count, 'job')} whose transfer does not exist: ${listGroup(jobs.stray)}.`
    const cure = 'Workers drop such jobs when they claim them. Find out who deletes transfers: the engine never does.'
    findings.push(warning('job_stray', what, cure))
  }
  if (jobs.silent.count > 0) {
    const what = `${plural(jobs.silent.count, 'transfer')} claimed by a worker without a heartbeat for ${since(jobs.silent)}: ${listGroup(jobs.silent)}.`
    const cure = 'Start a worker: it claims them again, with the same keys. Nothing can be paid twice.'
    findings.push(serious('worker_lost', what, cure))
  }
  return findings
}

const blockedCures: Readonly<Record<string, string>> = {
  registration_unknown:
    'The service did not say for 24 hours whether it registered their counterparties. No money can have moved: "outlay transfers release" retries with the same key, "outlay transfers cancel" ends them.',
  outcome_unknown:
    'Ask the service about their keys ("outlay prove" shows them). "outlay transfers release" sends the same key once more, as long as the service keeps it; "outlay transfers resolve" records the answer of the service.',
  key_expired:
    'The service may have forgotten their keys, so nothing sends them again. Ask it for their outcome ("outlay prove" shows key and time); then run "outlay transfers resolve" with the answer: its id there, or --not-paid, after which "outlay transfers resubmit" pays.',
  environment_mismatch:
    'They were enqueued for another environment than that of the workers. "outlay transfers cancel" them, and fix the gateway of the process that enqueued them.',
  reconcile:
    'After a restore it is not known which transfer of the service each of them is; "outlay prove" shows the candidates. Say which with "outlay transfers resolve" or "outlay reconcile" with --match, or cancel those that are not wanted.',
  remote_id_taken:
    'The service answered their keys with ids that other transfers here have ("outlay prove" shows which), so one of each two has a wrong id. Ask the service whose it is: "outlay transfers resolve" with --remote-id and --instead-of gives it to the blocked one.',
  repaired_request:
    'A driver had their requests stored as texts, which no worker could read until now. See how old they are ("outlay prove"), and whether they were paid otherwise: "outlay transfers release" those that are still wanted, and "outlay transfers cancel" the others.',
  client_changed:
    'They were sent as another client, and their outcome is unknown. Ask the service as that client, then run "outlay transfers resolve" with the answer.',
  unauthorized:
    'The service forbids these alone and accepts others of their accounts. Get the permission and run "outlay transfers release", or "outlay transfers cancel".',
  idempotency_key_mismatch:
    'The service has these keys for other requests. Find out what was paid; "outlay transfers resolve" records its id at the service, or --not-paid, after which "outlay transfers resubmit" pays.',
}

function diagnoseTransfers({ transfers }: HealthFacts): readonly Finding[] {
  const findings = transfers.blocked.map((group) => {
    const what = `${plural(group.count, 'transfer')} blocked (${group.reason}), for ${since(group)}: ${listGroup(group)}.`
    const cure = blockedCures[group.reason] ?? 'Run "outlay prove" for each, then release or cancel it.'
    return serious('blocked', what, cure)
  })
  const { unknown, awaitingFunds, missing, overduePolls, submitted, heldReturns } = transfers
  if (heldReturns.count > 0) {
    const what = `Of ${plural(heldReturns.count, 'transfer')} the service says that money came back, in contradiction to the transfer, for up to ${since(heldReturns)}: ${listGroup(heldReturns)}.`
    const cure =
      'No handler has got it. "outlay transfers show" says what was reported: find out what came back, then "outlay transfers resolve-return" with --amount or --dismiss.'
    findings.push(serious('return_held', what, cure))
  }
  if (missing.count > 0) {
    const what = `${plural(missing.count, 'transfer')} that the service accepted and no longer knows, for up to ${since(missing)}: ${listGroup(missing)}.`
    const cure =
      'Its database may have lost commits. Find out what was paid; restore there what was lost, and polling continues; or "outlay transfers release" sends the same key again.'
    findings.push(serious('missing_at_service', what, cure))
  }
  const unsure = graded(unknown.oldestMs ?? 0, limits.unknownMs)
  if (unsure !== undefined) {
    const what = `${plural(unknown.count, 'transfer')} with an unknown outcome, the oldest for ${since(unknown)}: ${listGroup(unknown)}.`
    const cure =
      'Check whether the service answers ("outlay prove" shows its answers). After 24 hours they are blocked.'
    findings.push(unsure('outcome_unknown', what, cure))
  }
  if ((awaitingFunds.oldestMs ?? 0) >= limits.awaitingFundsMs) {
    const what = `${plural(awaitingFunds.count, 'transfer')} awaiting funds, the oldest for ${since(awaitingFunds)}: ${listGroup(awaitingFunds)}.`
    const cure =
      'Fund the sources and run "outlay accounts funds-arrived <account>", or "outlay transfers cancel" those that are no longer wanted.'
    findings.push(warning('awaiting_funds', what, cure))
  }
  if ((overduePolls.oldestMs ?? 0) >= limits.overduePollMs) {
    const what = `${plural(overduePolls.count, 'submitted transfer')} due for a poll and not polled, for up to ${since(overduePolls)}.`
    const cure = 'Start a worker; if one runs, its log says why the service cannot be read.'
    findings.push(serious('overdue_polls', what, cure))
  }
  if ((submitted.oldestMs ?? 0) >= limits.submittedMs) {
    const what = `The oldest transfer that is not final was enqueued ${since(submitted)} ago: ${submitted.samples[0]}.`
    findings.push(
      warning(
        'submitted_long',
        what,
        'Ask the service about it ("outlay prove" shows its id there); the engine keeps polling.',
      ),
    )
  }
  return findings
}

function diagnoseAccounts(facts: HealthFacts): readonly Finding[] {
  return [...diagnoseCredentials(facts), ...diagnosePauses(facts)]
}

function diagnoseCredentials({ refusedAccounts }: HealthFacts): readonly Finding[] {
  const [oldest] = refusedAccounts
  if (oldest === undefined) return []
  const names = listSome(refusedAccounts.map((account) => account.accountId))
  const what = `The service refuses the credentials of ${plural(refusedAccounts.length, 'account')}, for up to ${formatDuration(oldest.refusedMs)}: ${names}.`
  const cure = 'Give the gateway credentials that work, then run "outlay accounts retry-credentials <account>".'
  return [serious('credentials_refused', what, cure)]
}

function diagnosePauses({ pausedAccounts }: HealthFacts): readonly Finding[] {
  if (pausedAccounts.length === 0) return []
  const waiting = pausedAccounts.reduce((sum, account) => sum + account.queued + account.awaitingFunds, 0)
  const names = pausedAccounts.map((account) => account.accountId)
  const what = `${plural(names.length, 'account')} paused, with ${plural(waiting, 'transfer')} waiting: ${listSome(names)}.`
  return [warning('account_paused', what, 'Run "outlay accounts resume <account>" when the reason is gone.')]
}

function diagnoseSubscriptions({ subscriptions, orphanDeliveries }: HealthFacts): readonly Finding[] {
  const findings = subscriptions.flatMap((one) => {
    const found: Finding[] = []
    const said = one.lastError === null ? '' : ` Last error: ${one.lastError.slice(0, 200)}`
    if (one.deadLetters > 0) {
      const what = `${plural(one.deadLetters, 'dead letter')} of the subscription "${one.name}"; later events of their transfers wait behind them.${said}`
      const cure = `Fix the handler, then run "outlay events replay ${one.name}".`
      found.push(serious('dead_letters', what, cure))
    }
    const late = graded(one.lagMs ?? 0, one.failing > 0 ? limits.failingLagMs : limits.lagMs)
    if (late !== undefined) {
      const what = `The subscription "${one.name}" is ${formatDuration(one.lagMs ?? 0)} behind, with ${plural(one.undelivered, 'event')} (${one.failing} failing).${said}`
      const cure =
        one.failing > 0
          ? 'Fix the handler; its events are retried with growing pauses.'
          : 'Start a process that subscribes under this name, or raise its concurrency or batch size.'
      found.push(late('subscription_lag', what, cure))
    }
    return [...found, ...diagnoseAttendance(one)]
  })
  if (orphanDeliveries > 0) {
    const what = `${plural(orphanDeliveries, 'event')} to deliver to subscriptions that no longer exist.`
    findings.push(
      warning(
        'deliveries_orphaned',
        what,
        'Run "outlay subscriptions remove <name> --discard" with the name that "outlay archive" or the delivery table shows, or start the subscriber again.',
      ),
    )
  }
  return findings
}

function diagnoseAttendance(subscription: HealthFacts['subscriptions'][number]): readonly Finding[] {
  const { name, undelivered, deadLetters, unattendedMs } = subscription
  const pending = undelivered + deadLetters
  const grade = graded(unattendedMs, limits.unattendedMs)
  if (pending === 0 || grade === undefined) return []
  const what = `No process has attended the subscription "${name}" for ${formatDuration(unattendedMs)}; ${plural(pending, 'event')} to handle; their transfers cannot be archived.`
  const cure = `Start a process that subscribes under this name. If it was renamed or removed for good, run "outlay subscriptions remove ${name} --discard".`
  return [grade('subscription_unattended', what, cure)]
}

function diagnoseSnapshots({ snapshots }: HealthFacts): readonly Finding[] {
  return snapshots.flatMap((holder) => {
    const byAge = graded(holder.ageMs ?? 0, limits.snapshotMs)
    const grade = byAge ?? (holder.transactions >= limits.snapshotTransactions ? warning : undefined)
    if (grade === undefined) return []
    const age = holder.ageMs === null ? plural(holder.transactions, 'transaction') : formatDuration(holder.ageMs)
    const what = `The ${holder.kind} ${holder.name} (${holder.detail}) has kept old rows from being vacuumed for ${age}; the queue slows down.`
    return [grade('snapshot_held', what, snapshotCures[holder.kind].replace('$name', holder.name))]
  })
}

const snapshotCures = {
  session:
    'End its transaction: select pg_terminate_backend($name). Set idle_in_transaction_session_timeout to prevent the next one.',
  'prepared transaction': 'Commit it or roll it back by its name.',
  'replication slot': 'Let its consumer catch up, or drop it: select pg_drop_replication_slot.',
} as const

function diagnoseTables({ server, tables }: HealthFacts): readonly Finding[] {
  const off = tables.filter((table) => !table.autovacuum).map((table) => table.table)
  const findings: Finding[] = []
  if (!server.autovacuum || off.length > 0) {
    const where = server.autovacuum ? off.join(', ') : 'the whole server'
    const cure = 'Switch it on again; without it the queue gets slower with every transfer.'
    findings.push(serious('autovacuum_off', `Autovacuum is off for ${where}.`, cure))
  }
  for (const { table, deadRows, liveRows, vacuumedMs } of tables) {
    if (deadRows < limits.deadRows || deadRows < limits.deadShare * liveRows) continue
    const last = vacuumedMs === null ? 'never' : `${formatDuration(vacuumedMs)} ago`
    const what = `${table} has ${deadRows} dead rows beside ${liveRows} live ones; it was vacuumed ${last}.`
    const cure = `Run: vacuum ${table}. If the finding returns, end long transactions or give autovacuum more workers.`
    findings.push(warning('vacuum_lag', what, cure))
  }
  return findings
}
