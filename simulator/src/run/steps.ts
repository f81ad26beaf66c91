import { OutlayError, type TransferDestination } from '@outlay/core'
import { simulate, type Tenant } from '../environment/tenant.ts'
import { breakNetwork } from '../plan/network.ts'
import type { Step } from '../plan/plan.ts'
import { removeWaitingJobs } from '../queue.ts'
import { enqueue, findPayout, resubmitPayout, tenantOf } from './host-payouts.ts'
import { moveStep } from './moves.ts'
import { playStep } from './player-steps.ts'
import type { Run } from './run-state.ts'
import { restart } from './worker-starts.ts'

/** Executes one step; returns its result. */
export async function runStep(at: Run, step: Step): Promise<string> {
  switch (step.do) {
    case 'enqueue':
      return enqueue(at, step.tenant, step.payouts, step.rollBack)
    case 'enqueue_unsure': {
      // The host does not know whether its first transaction committed, so it does the same again.
      const first = await enqueue(at, step.tenant, step.payouts, (step.payouts[0]?.number ?? 0) % 2 === 0)
      return `${first}, then ${await enqueue(at, step.tenant, step.payouts, false)}`
    }
    case 'repeat':
      return repeat(at, step.payout, step.changed)
    case 'cancel':
    case 'release':
    case 'resubmit':
      return command(at, step.do, step.payout)
    case 'pause':
    case 'resume':
    case 'fund':
    case 'funds_arrived':
      return commandAccount(at, step.do, tenantOf(at, step.tenant))
    case 'watch':
    case 'foreign':
    case 'limit':
    case 'archive':
      return administer(at, step)
    case 'lock_out':
    case 'let_in':
    case 'lose_login':
    case 'relink':
      return changeAccess(at, step.do, tenantOf(at, step.tenant))
    case 'lose_jobs':
      return loseJobs(at)
    case 'hold':
    case 'end_holds':
    case 'page':
    case 'revoke':
    case 'grant':
    case 'idle':
    case 'change_client':
    case 'stop':
    case 'misbehave':
    case 'firewall':
    case 'maintain':
    case 'use_pool':
    case 'return':
    case 'quote':
    case 'resubmit_twice':
    case 'misreport_return':
    case 'pay_otherwise':
    case 'fill_batch':
    case 'command_batch':
    case 'correct':
    case 'set_policies':
    case 'set_limits':
    case 'set_screening':
    case 'screen_as':
    case 'set_payments':
    case 'pay_alike':
    case 'approve':
    case 'reject':
    case 'hold_back':
    case 'let_go':
    case 'serve':
      return playStep(at, step)
    default:
      return disturb(at, step)
  }
}

/** What a host has locked stays: its transaction may be open for as long as the plan. */
async function loseJobs({ environment }: Run): Promise<string> {
  const { rowCount } = await environment.host.query(removeWaitingJobs)
  return `${rowCount} jobs`
}

/** What others do to an account, and operators to it and to the tables. */
async function administer(
  at: Run,
  step: Extract<Step, { readonly do: 'watch' | 'foreign' | 'limit' | 'archive' }>,
): Promise<string> {
  const { engine, transaction } = at.office
  switch (step.do) {
    case 'watch': {
      const { accountId } = tenantOf(at, step.tenant)
      // Lists of the one service have the transfers of both gateways.
      if (at.twoGateways) return 'nobody watches two gateways'
      await transaction(accountId, (tx) => engine.accounts.watch(tx, accountId))
      at.watched.add(accountId)
      return ''
    }
    case 'foreign': {
      const tenant = tenantOf(at, step.tenant)
      const { accountId, idempotencyKey, createdBy: _creator, ...request } = tenant.request(step.payout)
      const destination = request.destination as TransferDestination
      const watched = at.watched.has(accountId)
      const made = await tenant.client.transfers.create(
        accountId,
        { ...request, destination },
        {
          idempotencyKey: `foreign-${idempotencyKey}`,
        },
      )
      at.foreign.set(made.id, { accountId, watched })
      return watched ? 'to be adopted' : ''
    }
    case 'limit': {
      const { ratePerSecond, concurrency, weight } = step
      const { accountId } = tenantOf(at, step.tenant)
      await transaction(accountId, (tx) =>
        engine.accounts.configure(tx, accountId, { ratePerSecond, concurrency, weight }),
      )
      return ''
    }
    case 'archive': {
      const { archived } = await engine.archive({ olderThanMs: step.olderThanMs })
      return `${archived} archived`
    }
  }
}

/** What becomes of the credentials of a host, and of the login at a bank. */
async function changeAccess(
  at: Run,
  what: 'lock_out' | 'let_in' | 'lose_login' | 'relink',
  tenant: Tenant,
): Promise<string> {
  if (what === 'lose_login' || what === 'relink') {
    if (tenant.bank === undefined) return 'no bank is linked'
    await (what === 'relink' ? tenant.bank.relink() : tenant.bank.loseLogin())
    return ''
  }
  tenant.isLockedOut = what === 'lock_out'
  if (tenant.isLockedOut) return ''
  const { engine, transaction } = at.office
  await transaction(tenant.accountId, (tx) => engine.accounts.retryCredentials(tx, tenant.accountId))
  return ''
}

/** Steps that no host executes. */
async function disturb(at: Run, step: Step): Promise<string> {
  switch (step.do) {
    case 'move':
    case 'enqueue_across':
    case 'end_moves':
      return moveStep(at, step)
    case 'network':
      at.faults += step.times
      return breakNetwork(at.environment.proxy, step)
    case 'kill':
    case 'lose_connection':
      at.workers.get(step.worker)?.faultSchedule.plan(step.moment, step.do)
      return ''
    case 'stall':
      at.workers.get(step.worker)?.stall()
      return ''
    case 'wake_stalled':
      for (const worker of at.workers.values()) worker.letGo()
      return ''
    case 'start':
      return restart(at, step)
    case 'webhooks':
      at.environment.webhookProxy.mischief = step.mischief
      if (step.mischief === 'none') await at.environment.webhookProxy.handOutLate()
      return ''
    case 'handlers_fail':
      at.handlersToFail += step.times
      at.faults += step.times
      return ''
    case 'travel':
      await at.environment.travel(step.seconds)
      return ''
    case 'rails':
      await simulate(at.environment, tenantOf(at, 0), 'clock/advance', { seconds: step.seconds })
      return ''
    case 'wait':
      await new Promise((resolve) => setTimeout(resolve, step.ms))
      return ''
    case 'restart_postgres':
      at.faults += 1
      await at.environment.postgres.restart({ mode: 'immediate' })
      return ''
    default:
      return ''
  }
}

async function repeat(at: Run, number: number, changed: boolean): Promise<string> {
  const found = await findPayout(at, number)
  const tenant = at.tenants.find(({ accountId }) => accountId === found?.account_id)
  const planned = at.plan.steps.flatMap((step) => ('payouts' in step ? step.payouts : []))
  const payout = planned.find((one) => one.number === number)
  if (found === undefined || tenant === undefined || payout === undefined) return 'nothing to repeat'
  const request = tenant.request(payout)
  const wanted = changed ? { ...request, note: 'changed' } : request
  return at.office
    .transaction(tenant.accountId, async (tx) => {
      const { id, reused } = await at.office.engine.transfers.enqueue(tx, wanted)
      if (changed || !reused || id !== found.transfer_id) {
        at.mistakes.push({ invariant: 'keys', detail: `Repeating payout ${number} gave ${id}` })
      }
      return 'reused'
    })
    .catch((error: unknown) => {
      if (!changed || !OutlayError.is(error, 'idempotency_key_mismatch')) throw error
      return 'refused'
    })
}

async function command(at: Run, what: 'cancel' | 'release' | 'resubmit', number: number): Promise<string> {
  const found = await findPayout(at, number)
  if (found === undefined) return 'there is none'
  const { transfers } = at.office.engine
  try {
    await at.office.transaction(found.account_id, async (tx) => {
      if (what !== 'resubmit') return transfers[what](tx, found.transfer_id)
      return resubmitPayout(at, tx, { ...found, number })
    })
    // Every second host that cancels thinks better of it.
    if (what === 'cancel' && number % 2 === 0) return `done, and again: ${await command(at, 'resubmit', number)}`
    return 'done'
  } catch (error) {
    if (OutlayError.is(error, 'transfer_not_cancelable') || OutlayError.is(error, 'conflict')) return 'refused'
    throw error
  }
}

async function commandAccount(
  at: Run,
  what: 'pause' | 'resume' | 'fund' | 'funds_arrived',
  tenant: Tenant,
): Promise<string> {
  const { accounts } = at.office.engine
  if (what === 'fund') await tenant.fund(100)
  if (what === 'fund') return ''
  await at.office.transaction(tenant.accountId, async (tx) => {
    if (what === 'pause') return accounts.pause(tx, tenant.accountId)
    if (what === 'resume') return accounts.resume(tx, tenant.accountId)
    return accounts.fundsArrived(tx, tenant.accountId)
  })
  return ''
}
