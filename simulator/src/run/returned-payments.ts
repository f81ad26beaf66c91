import { waitUntil } from '@outlay/testing'
import { simulate } from '../environment/tenant.ts'
import { checkReturns } from '../invariants/returns.ts'
import type { PlayerStep } from '../plan/players.ts'
import { startWorker } from '../workers/worker.ts'
import { decideReturns } from './decided-returns.ts'
import type { Run } from './run-state.ts'

type Return = Extract<PlayerStep, { readonly do: 'return' }>

/** A week: longer than credits by ACH may come back. */
const weekSeconds = 7 * 86_400

/** Most workers that are started one after the other. */
const mostRounds = 8

/** Lets banks return every `nth` payout by ACH that is complete and has not come back, whoever made it. Says how many. */
export async function returnPayments(
  { environment, tenants }: Run,
  { nth, code }: Omit<Return, 'do'>,
): Promise<string> {
  const { rows } = await environment.service.query<{ readonly id: string; readonly account_id: string }>(
    `select t.id, t.account_id from outlay_service.transfer t
     where t.account_id = any ($1) and t.status = 'complete' and t.destination_transfer_type = 'ach_credit'
       and not exists (select from outlay_service.transfer_return r where r.transfer_id = t.id) order by t.id`,
    [tenants.map(({ accountId }) => accountId)],
  )
  let count = 0
  for (const [place, { id, account_id }] of rows.entries()) {
    const tenant = tenants.find(({ accountId }) => accountId === account_id)
    if (tenant === undefined || place % nth !== 0) continue
    await simulate(environment, tenant, `transfers/${id}/return`, { code })
    count += 1
  }
  return `${count} of ${rows.length} came back`
}

/** Lets all others come back when everything is done, and waits for their events. Without webhooks, a week passes and polling finds them. */
export async function returnTheRest(at: Run): Promise<string> {
  const { environment, returns } = at
  const decided = await decideReturns(at)
  if (returns === undefined) {
    const isDelivered = async () => (await at.office.engine.backlog()).undelivered === 0
    if (decided > 0) await workUntil(at, isDelivered, 60)
    return ''
  }
  environment.webhookProxy.mischief = returns.webhooks
  const said = await returnPayments(at, { ...returns, nth: 1 })
  const isComplete = async () => {
    await decideReturns(at)
    return (await checkReturns(at)).length === 0
  }
  await isSoon(isComplete)
  await workUntil(at, isComplete, weekSeconds)
  // What polling has found is reported once more.
  environment.webhookProxy.mischief = 'none'
  await environment.webhookProxy.handOutLate()
  await workUntil(at, async () => (await at.office.engine.backlog()).undelivered === 0, 60)
  return `; ${said} afterwards`
}

/** Lets workers work, one after the other, with so much time between them, until something is so. */
export async function workUntil(at: Run, condition: () => Promise<boolean>, seconds: number): Promise<void> {
  for (let round = 0; round < mostRounds && !(await condition()); round += 1) {
    const worker = await startWorker(at, { isSteady: true, pollIntervalMs: 250 })
    await isSoon(condition)
    await worker.stop()
    await at.environment.travel(seconds)
  }
}

const isSoon = (condition: () => Promise<boolean>): Promise<unknown> =>
  waitUntil(condition, { timeoutMs: 2_000 }).catch(() => undefined)
