import type { Backlog } from '@outlay/core'
import { simulate } from '../environment/tenant.ts'
import { grant } from '../environment/tenant-access.ts'
import { countJobs, hasDueJob } from '../queue.ts'
import { startWorker, type Worker } from '../workers/worker.ts'
import { approveAll } from './approvals.ts'
import { noteUnwoken, resumeBatches, unwoken } from './batches.ts'
import { endHolds } from './holds.ts'
import { tenantOf } from './host-payouts.ts'
import { useOwnPool } from './host-pools.ts'
import { endMoves } from './moves.ts'
import type { Run } from './run-state.ts'

/** Most rounds of time that a run gets to come to rest. */
const mostRounds = 30

/** After so many rounds what waited for a batch goes on: later than that, the sweep of what is unknown for a day hides that nobody has woken it. */
const wakingRounds = 12

/** How far the time of the engines goes on in each round, in seconds; the last one again and again. */
const roundSeconds = [2, 15, 60, 400, 1_000, 4_000]

/** Pause between two checks of the backlog, in milliseconds. */
const checkMs = 20

/** How long all rounds together wait for work that is due and does not move, in checks: a busy machine is slow to begin. */
const patience = 500

/** Ends every fault, gives money to who lacks it, and lets time pass until nothing is left to do. Says how long it took. */
export async function settle(at: Run): Promise<string> {
  await heal(at)
  await approveAll(at)
  let left = patience
  for (let round = 0; round < mostRounds; round += 1) {
    // A worker sweeps when it starts, and a new one each round is what a host with restarts is like.
    const worker = await startWorker(at, { isSteady: true, pollIntervalMs: 250 })
    left = await comeToRest(at, worker, left)
    await worker.stop()
    if (round === wakingRounds) await noteUnwoken(at)
    // In this order, since what is adopted is work that is left. A job may outlive its transfer until somebody fetches it.
    if (
      (await areOthersDone(at)) &&
      isDone(await at.office.engine.backlog(), await countDecisions(at)) &&
      (await countJobs(at.environment.host)) === 0
    )
      return `settled in ${round + 1} rounds`
    await release(at)
    // Another client of the tenant may have begun what is unknown. Some transfers are due in every second round only.
    if (round % 2 === 1) for (const tenant of at.tenants) tenant.changeClient()
    await at.environment.travel(roundSeconds[Math.min(round, roundSeconds.length - 1)] ?? 0)
    await simulate(at.environment, tenantOf(at, 0), 'clock/advance', { seconds: 86_400 })
  }
  return `not settled after ${mostRounds} rounds`
}

async function heal(at: Run): Promise<void> {
  const { environment, office } = at
  at.handlersToFail = 0
  await endHolds(at)
  await endMoves(at)
  at.misconduct.heal()
  at.verdicts.length = 0
  environment.proxy.faults.clear()
  at.watch()
  environment.webhookProxy.mischief = 'none'
  await environment.webhookProxy.handOutLate()
  for (const worker of at.workers.values()) {
    await useOwnPool(at, worker)
    worker.letGo()
    // What was planned for them and has not come about must not befall them while they stop.
    worker.faultSchedule.forgive()
    at.retired.push(worker)
  }
  at.workers.clear()
  for (const worker of at.retired) await worker.stop()
  at.faults += at.retired.splice(0).reduce((sum, { faultSchedule }) => sum + faultSchedule.befell.length, 0)
  for (const tenant of at.tenants) {
    tenant.isLockedOut = false
    await grant(environment, tenant)
    // A refusal for a lost login proves nothing about an earlier attempt, so it would be refused again for ever.
    await tenant.bank?.relink()
    await tenant.fund(100_000)
    await office.transaction(tenant.accountId, async (tx) => {
      await office.engine.accounts.resume(tx, tenant.accountId)
      await office.engine.accounts.retryCredentials(tx, tenant.accountId)
      await office.engine.accounts.fundsArrived(tx, tenant.accountId)
      const unlimited = { ratePerSecond: null, concurrency: null, weight: null }
      await office.engine.accounts.configure(tx, tenant.accountId, unlimited)
    })
  }
  await resumeBatches(at)
}

/** Waits until the backlog stands still and nothing in it is due. Returns what is left of the patience with what is. */
async function comeToRest(at: Run, { engine }: Worker, patienceLeft: number): Promise<number> {
  let left = patienceLeft
  let last = ''
  let still = 0
  for (let check = 0; check < 200 + patience; check += 1) {
    const backlog = await engine.backlog()
    if (isDone(backlog)) return left
    const now = JSON.stringify(backlog)
    still = now === last ? still + 1 : 0
    // What a dead worker held stands still until its heartbeat lapses.
    if (still >= (backlog.submitting === 0 ? 4 : 12)) {
      if (left <= 0 || !(await isDue(at))) return left
      left -= 1
    }
    last = now
    await new Promise((resolve) => setTimeout(resolve, checkMs))
  }
  return left
}

/** Whether a worker could go on with something now. */
async function isDue({ environment }: Run): Promise<boolean> {
  const { rows } = await environment.host.query<{ readonly due: boolean }>(
    `select exists (select from outlay.transfer t where t.stage = 'queued' and ${hasDueJob})
       or exists (select from outlay.transfer where stage = 'submitted' and next_poll_at <= now())
       or exists (select from outlay.screening s join outlay.transfer t on t.id = s.transfer_id and t.stage = 'held' where not s.on_hold and s.due_at <= now())
       or exists (select from outlay.delivery where not dead and due_at <= now())
       or exists (${unwoken}) as due`,
  )
  return rows.some(({ due }) => due)
}

/** Whether nothing is left but what waits for a person to decide. */
const isDone = (backlog: Backlog, decisions = 0): boolean =>
  backlog.queued +
    backlog.held +
    backlog.submitting +
    backlog.awaitingFunds +
    backlog.submitted +
    backlog.blocked +
    backlog.undelivered ===
  decisions

/** Transfers whose keys are too old to be sent again: a person has to find out what became of them, and none does here. */
async function countDecisions({ environment }: Run): Promise<number> {
  const { rows } = await environment.host.query<{ readonly count: number }>(
    `select count(*)::integer as count from outlay.transfer where stage = 'blocked' and reason = 'key_expired'`,
  )
  return rows.reduce((sum, { count }) => sum + count, 0)
}

/** Whether every transfer has ended at the service, also those that no worker polls, and others' transfers are adopted where they must be. */
async function areOthersDone(at: Run): Promise<boolean> {
  const made = [...at.foreign.keys()]
  // What may be that of a transfer which waits for a decision is nobody else's until then.
  const { rows: undecided } = await at.environment.host.query<{ readonly account_id: string }>(
    `select account_id from outlay.transfer where stage = 'blocked' and reason = 'key_expired'`,
  )
  const isUndecided = (accountId?: string) => undecided.some(({ account_id }) => account_id === accountId)
  const due = made.filter((id) => at.foreign.get(id)?.watched && !isUndecided(at.foreign.get(id)?.accountId))
  const { rows: open } = await at.environment.service.query(
    `select 1 from outlay_service.transfer where account_id = any ($1) and status in ('pending', 'processing')`,
    [at.tenants.map(({ accountId }) => accountId)],
  )
  const { rows: adopted } = await at.environment.host.query(
    'select 1 from outlay.transfer where remote_id = any ($1)',
    [due],
  )
  return open.length === 0 && adopted.length >= due.length
}

/** An operator checks what is blocked and sends the same key again. */
async function release(at: Run): Promise<void> {
  const { rows } = await at.environment.host.query<{ readonly id: string; readonly account_id: string }>(
    `select id, account_id from outlay.transfer where stage = 'blocked' and reason is distinct from 'key_expired'`,
  )
  for (const { id, account_id } of rows)
    await at.office.transaction(account_id, (tx) => at.office.engine.transfers.release(tx, id))
  await approveAll(at)
}
