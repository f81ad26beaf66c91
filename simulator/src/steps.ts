import { OutlayError, type TransferDestination } from '@outlay/core'
import type { PoolClient } from 'pg'
import type { PlannedPayout } from './draw.ts'
import { askedOf } from './judging/asked.ts'
import { breakNetwork } from './network.ts'
import type { PlannedStart, Step } from './plan.ts'
import { takePlayerStep } from './player-steps.ts'
import type { Run } from './run.ts'
import { simulate, type Tenant } from './tenant.ts'
import { startWorker } from './worker.ts'

/** Takes one step; answers with what came of it. */
export async function take(at: Run, step: Step): Promise<string> {
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
    case 'lose_jobs': {
      // What a host has locked stays: its transaction may be open for as long as the plan.
      const { rowCount } = await at.lane.host.query(
        `delete from outlay_queue.job where (name, id) in (
           select j.name, j.id from outlay_queue.job j where j.state < 'active' for update skip locked)`,
      )
      return `${rowCount} jobs`
    }
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
    case 'resubmit_twice':
    case 'serve':
      return takePlayerStep(at, step)
    default:
      return disturb(at, step)
  }
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
      await transaction((tx) => engine.accounts.watch(tx, accountId))
      at.watched.add(accountId)
      return ''
    }
    case 'foreign': {
      const tenant = tenantOf(at, step.tenant)
      const { accountId, idempotencyKey, ...request } = tenant.request(step.payout)
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
      await transaction((tx) => engine.accounts.configure(tx, accountId, { ratePerSecond, concurrency, weight }))
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
  await at.office.transaction((tx) => at.office.engine.accounts.credentialsMended(tx, tenant.accountId))
  return ''
}

/** Steps that no host takes. */
async function disturb(at: Run, step: Step): Promise<string> {
  switch (step.do) {
    case 'network':
      at.faults += step.times
      return breakNetwork(at.lane.proxy, step)
    case 'kill':
    case 'lose_connection':
      at.workers.get(step.worker)?.fate.plan(step.moment, step.do)
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
      at.lane.mailroom.mischief = step.mischief
      if (step.mischief === 'none') await at.lane.mailroom.handOutLate()
      return ''
    case 'handlers_fail':
      at.handlersToFail += step.times
      at.faults += step.times
      return ''
    case 'travel':
      await at.lane.travel(step.seconds)
      return ''
    case 'rails':
      await simulate(at.lane, tenantOf(at, 0), 'clock/advance', { seconds: step.seconds })
      return ''
    case 'wait':
      await new Promise((resolve) => setTimeout(resolve, step.ms))
      return ''
    case 'restart_postgres':
      at.faults += 1
      await at.lane.postgres.restart({ mode: 'immediate' })
      return ''
    default:
      return ''
  }
}

/** A tenant of a run by its number in the plan. */
export const tenantOf = (at: Run, index: number): Tenant => {
  const tenant = at.tenants[index % at.tenants.length]
  if (tenant === undefined) throw new Error('A run has a tenant at least.')
  return tenant
}

/** Starts a worker where no other one lives. */
export async function ensureWorker(at: Run): Promise<void> {
  if ([...at.workers.values()].some(({ fate }) => !fate.isDead)) return
  // A process that shares its gateway does so for every engine in it.
  const sharesGateway = at.plan.steps.some((step) => step.do === 'start' && step.sharesGateway === true)
  await restart(at, { worker: 0, skewSeconds: 0, sharesGateway })
}

async function restart(
  at: Run,
  { worker: number, ...how }: { readonly worker: number } & PlannedStart,
): Promise<string> {
  const old = at.workers.get(number)
  if (old !== undefined && !old.fate.isDead) return 'it runs'
  at.workers.delete(number)
  if (old !== undefined) at.retired.push(old)
  at.starts += 1
  at.workers.set(number, await startWorker(at, { ...how, name: `worker ${number}, start ${at.starts}` }))
  return ''
}

class RolledBack extends Error {}

async function enqueue(at: Run, index: number, payouts: readonly PlannedPayout[], rollBack: boolean): Promise<string> {
  const tenant = tenantOf(at, index)
  const requests = payouts.map((payout) => tenant.request(payout))
  try {
    await at.office.transaction(async (tx) => {
      const { enqueue, enqueueMany } = at.office.engine.transfers
      const [only] = requests
      const transfers =
        requests.length === 1 && only !== undefined ? [await enqueue(tx, only)] : await enqueueMany(tx, requests)
      for (const [place, { id }] of transfers.entries()) {
        const request = requests[place]
        const asked = request === undefined ? null : askedOf(request)
        await keepPayout(at, tx, payouts[place]?.number ?? -1, id, tenant.accountId, asked)
      }
      if (rollBack) throw new RolledBack()
    })
    return 'committed'
  } catch (error) {
    if (error instanceof RolledBack) return 'rolled back'
    throw error
  }
}

/** Writes a payout down beside its transfer, as hosts do, with what was asked for. */
export const keepPayout = (
  at: Run,
  tx: PoolClient,
  number: number,
  transferId: string,
  accountId: string,
  asked: object | null,
) => {
  at.numbers.set(transferId, number)
  return tx.query(
    `insert into payout (number, transfer_id, account_id, asked) select $1, $2, $3, $4
     where not exists (select from payout where transfer_id = $2)`,
    [number, transferId, accountId, asked],
  )
}

/** The payout of a plan as the host committed it; undefined when it was rolled back or comes later. */
export async function findPayout(at: Run, number: number) {
  interface Found {
    readonly transfer_id: string
    readonly account_id: string
    readonly asked: object | null
  }
  const { rows } = await at.lane.host.query<Found>(
    'select transfer_id, account_id, asked from payout where number = $1',
    [number],
  )
  return rows[0]
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
    .transaction(async (tx) => {
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
    await at.office.transaction(async (tx) => {
      if (what !== 'resubmit') return transfers[what](tx, found.transfer_id)
      const { id, reused } = await transfers.resubmit(tx, found.transfer_id)
      const asked = { ...found.asked, repeats: found.transfer_id }
      return reused ? undefined : keepPayout(at, tx, 1_000 + number, id, found.account_id, asked)
    })
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
  await at.office.transaction(async (tx) => {
    if (what === 'pause') return accounts.pause(tx, tenant.accountId)
    if (what === 'resume') return accounts.resume(tx, tenant.accountId)
    return accounts.fundsArrived(tx, tenant.accountId)
  })
  return ''
}
