import { waitUntil } from '@outlay/testing'
import { grant, revoke } from '../environment/tenant-access.ts'
import { answerWithPages } from '../plan/network.ts'
import type { PlayerStep } from '../plan/players.ts'
import { decide, setPolicies } from './approvals.ts'
import { commandBatch, fillBatch } from './batches.ts'
import { correct } from './corrections.ts'
import { misreportReturn } from './decided-returns.ts'
import { payAlike } from './earlier-payments.ts'
import { endHolds, hold } from './holds.ts'
import { findPayout, resubmitPayout, tenantOf } from './host-payouts.ts'
import { maintain, useOwnPool } from './host-pools.ts'
import { setLimits } from './limits.ts'
import { payOtherwise } from './other-amounts.ts'
import { payWithQuote } from './quoted-payouts.ts'
import { returnPayments } from './returned-payments.ts'
import type { Run } from './run-state.ts'
import { serve } from './served.ts'

/** Executes one step of a player; returns its result. */
export async function playStep(at: Run, step: PlayerStep): Promise<string> {
  switch (step.do) {
    case 'hold':
      return hold(at, step)
    case 'end_holds':
      await endHolds(at)
      return ''
    case 'page':
      at.faults += step.times
      return answerWithPages(at.environment.proxy, step)
    case 'revoke':
    case 'grant':
      return (step.do === 'revoke' ? revoke : grant)(at.environment, tenantOf(at, step.tenant))
    case 'idle':
      return idle(at, step.days, step.isKilled)
    case 'change_client':
      return tenantOf(at, step.tenant).changeClient()
    case 'stop':
      return stopWorker(at, step.worker)
    case 'misbehave':
      at.faults += 1
      at.misconduct.plan(tenantOf(at, step.tenant).accountId, step.place, step)
      return ''
    case 'firewall':
      return refusePayout(at, step)
    case 'maintain':
      at.faults += 1
      return maintain(at, step)
    case 'use_pool': {
      const worker = at.workers.get(step.worker)
      return worker === undefined ? 'it does not run' : useOwnPool(at, worker)
    }
    case 'return':
      at.returns = step
      return returnPayments(at, step)
    case 'quote':
      return payWithQuote(at, step)
    case 'resubmit_twice':
      return resubmitTwice(at, step.choice)
    case 'misreport_return':
      return misreportReturn(at, step)
    case 'pay_otherwise':
      return payOtherwise(at, step)
    case 'fill_batch':
      return fillBatch(at, step)
    case 'command_batch':
      return commandBatch(at, step)
    case 'correct':
      return correct(at, step)
    case 'set_limits':
      return setLimits(at, step.most)
    case 'set_policies':
    case 'set_screening':
    case 'set_payments':
      return setPolicies(at, changeOf(step))
    case 'pay_alike':
      return payAlike(at, step)
    case 'screen_as':
      return screenAs(at, step)
    case 'approve':
    case 'reject':
    case 'hold_back':
    case 'let_go':
      return decide(at, step.do, step.payout, step.by)
    case 'serve':
      return serve(at)
  }
}

async function refusePayout(
  at: Run,
  { payout, status }: Extract<PlayerStep, { readonly do: 'firewall' }>,
): Promise<string> {
  at.toRefuse.set(payout, status)
  const found = await findPayout(at, payout)
  if (found === undefined) return 'it is not there yet'
  at.misconduct.refuse(found.transfer_id, status)
  return ''
}

function changeOf(
  step: Extract<PlayerStep, { readonly do: 'set_policies' | 'set_screening' | 'set_payments' }>,
): Parameters<typeof setPolicies>[1] {
  if (step.do === 'set_policies') return { from: step.from ?? undefined }
  return step.do === 'set_screening' ? { screens: step.isOn } : { payments: step.rules }
}

function screenAs(at: Run, { result, times }: Extract<PlayerStep, { readonly do: 'screen_as' }>): string {
  at.verdicts.push(...Array<'hold' | 'refuse'>(times).fill(result))
  return ''
}

async function stopWorker(at: Run, place: number): Promise<string> {
  const worker = at.workers.get(place)
  if (worker === undefined) return 'it does not run'
  at.workers.delete(place)
  at.retired.push(worker)
  await worker.stop()
  return ''
}

/** Days without workers; the service keeps its retention. */
async function idle(at: Run, days: number, isKilled: boolean): Promise<string> {
  // No host keeps a transaction open for days.
  await endHolds(at)
  at.misconduct.hangUp()
  for (const worker of at.workers.values()) {
    worker.letGo()
    if (isKilled) worker.faultSchedule.kill()
    at.retired.push(worker)
  }
  at.workers.clear()
  for (const worker of at.retired) await worker.stop()
  await at.closeCommonGateway()
  await waitUntil(() => at.environment.proxy.connections === 0, { timeoutMs: 3_000 }).catch(() => undefined)
  await waitUntil(() => isDatabaseQuiet(at), { timeoutMs: 10_000 }).catch(() => undefined)
  await at.environment.travel(days * 86_400)
  const forgotten = await at.environment.forgetKeys(days)
  if (forgotten > 0) at.forgottenAt.push(new Date())
  return `${forgotten} keys forgotten`
}

/**
 * Whether no statement of anybody else runs. Postgres ends the one of a killed worker, and what that writes after a journey has the
 * times from before it.
 */
async function isDatabaseQuiet({ environment }: Run): Promise<boolean> {
  const { rowCount } = await environment.host.query(
    `select from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend' and xact_start is not null`,
  )
  return rowCount === 0
}

/** Payouts that have failed; undefined while there are none. */
async function findFailed({ environment }: Run) {
  const { rows } = await environment.host.query<{
    readonly number: number
    readonly transfer_id: string
    readonly account_id: string
    readonly asked: object | null
  }>(
    `select p.number, p.transfer_id, p.account_id, p.asked from payout p join outlay.transfer t on t.id = p.transfer_id
     where t.stage = 'settled' and t.status in ('failed', 'canceled') and p.number < 1000 order by p.number, t.id`,
  )
  return rows.length === 0 ? undefined : rows
}

/** Two of the host's processes do the same at once, with one of those that failed. */
async function resubmitTwice(at: Run, choice: number): Promise<string> {
  const rows = await waitUntil(() => findFailed(at), { timeoutMs: 1_000 }).catch(() => [])
  const found = rows[choice % Math.max(1, rows.length)]
  if (found === undefined) return 'none has failed'
  const { number, account_id } = found
  const resubmit = () => at.office.transaction(account_id, (tx) => resubmitPayout(at, tx, found))
  const settled = await Promise.allSettled([resubmit(), resubmit()])
  const ids = new Set(settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])))
  if (ids.size > 1) {
    const detail = `payout ${number} was resubmitted twice at once: ${[...ids].join(' and ')}`
    at.mistakes.push({ invariant: 'one_effect', detail })
  }
  return `${ids.size} of payout ${number}`
}
