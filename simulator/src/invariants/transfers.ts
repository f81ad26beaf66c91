import { isAdopted } from '@outlay/core'
import { countJobs } from '../queue.ts'
import type { Violation } from '../violation.ts'
import type { Evidence } from './evidence.ts'
import { allAttempts } from './histories.ts'

interface HostTransfer {
  readonly id: string
  readonly account_id: string
  readonly idempotency_key: string
  /** What is sent; null while nothing was. */
  readonly submission_key: string | null
  readonly remote_id: string | null
  readonly stage: string
  readonly status: string
  readonly reason: string | null
  readonly attempt: number
  readonly amount: string
  readonly failure: { readonly code: string } | null
  readonly payouts: number
  /** Of the judge: unique to a payout, but for what was enqueued again. */
  readonly note: string | null
}

/** Waits for a person, since its key is too old to be sent again: it is known to nobody here whether it was paid. */
const awaitsDecision = ({ stage, reason }: Pick<HostTransfer, 'stage' | 'reason'>): boolean =>
  stage === 'blocked' && reason === 'key_expired'

const readHost = async (at: Evidence): Promise<readonly HostTransfer[]> =>
  (
    await at.environment.host.query<HostTransfer>(
      `select t.id, t.account_id, t.idempotency_key, t.submission_key, t.remote_id, t.stage, t.status, t.reason, t.attempt,
         coalesce(t.paid -> 'amount', t.request -> 'amount') ->> 'value' as amount, t.failure, t.request ->> 'note' as note,
         coalesce(p.payouts, 0) as payouts
       from outlay.transfer t
       left join (select transfer_id, count(*)::integer as payouts from payout group by 1) p on p.transfer_id = t.id
       order by t.id`,
    )
  ).rows

interface ServiceTransfer {
  readonly id: string
  readonly account_id: string
  readonly status: string
  readonly amount: string
  readonly failure: { readonly code: string } | null
  readonly note: string | null
}

const readService = async (at: Evidence): Promise<readonly ServiceTransfer[]> =>
  (
    await at.environment.service.query<ServiceTransfer>(
      `select id, account_id, status, amount_value::text as amount, failure, note from outlay_service.transfer
       where account_id = any ($1)`,
      [at.tenants.map(({ accountId }) => accountId)],
    )
  ).rows

/** One transfer at the service for each committed payout, none for one that was rolled back. */
export async function checkOneEffect(at: Evidence): Promise<readonly Violation[]> {
  const found: string[] = []
  const host = await readHost(at)
  const service = new Map((await readService(at)).map((transfer) => [transfer.id, transfer]))
  const lost = await at.environment.host.query(
    'select number from payout p where not exists (select from outlay.transfer t where t.id = p.transfer_id)',
  )
  for (const { number } of lost.rows) found.push(`payout ${number} has no transfer`)
  for (const { id, payouts, remote_id, status, stage, reason, idempotency_key } of host) {
    const wanted = isAdopted({ idempotencyKey: idempotency_key }) ? 0 : 1
    if (wanted === 0 && !at.foreign.has(remote_id ?? '')) found.push(`transfer ${id} was adopted, and is no other's`)
    if (payouts !== wanted) found.push(`transfer ${id} has ${payouts} payouts`)
    if (remote_id === null) {
      if (!['failed', 'canceled'].includes(status) && !awaitsDecision({ stage, reason }))
        found.push(`transfer ${id} is ${status} and not at the service`)
    } else if (!service.delete(remote_id))
      found.push(`transfer ${id} names ${remote_id}, which is another's or nobody's`)
  }
  const undecided = host.filter(awaitsDecision)
  // What may be that of a transfer which waits for a decision is adopted after it.
  const accounts = new Set(undecided.map(({ account_id }) => account_id))
  for (const { id, account_id, note } of service.values()) {
    const foreign = at.foreign.get(id)
    const place = undecided.findIndex((one) => one.account_id === account_id && one.note === note)
    if (foreign === undefined && place >= 0) undecided.splice(place, 1)
    else if (foreign === undefined) found.push(`transfer ${id} of the service belongs to no payout`)
    else if (foreign.watched && !accounts.has(foreign.accountId))
      found.push(`transfer ${id} of the service was not adopted`)
  }
  found.push(...(await findRepeatedRegistrations(at)))
  return found.map((detail) => ({ invariant: 'one_effect', detail }))
}

/**
 * Counterparties that were registered more often than lost answers explain: once for each of the account's clients, and again when
 * the service has forgotten the key. It moves no money.
 */
async function findRepeatedRegistrations(at: Evidence): Promise<readonly string[]> {
  const { rows } = await at.environment.service.query<{
    readonly account_id: string
    readonly name: string
    readonly times: number
  }>(
    `select account_id, name, count(*)::integer as times from outlay_service.address
     where name like 'New payee %' and account_id = any ($1)
     group by account_id, name, kind, address_normal, width_bucket(created_at, $2::timestamptz[]) having count(*) > 1`,
    [at.tenants.map(({ accountId }) => accountId), at.forgottenAt ?? []],
  )
  const clients = new Map(at.tenants.map(({ accountId, clientIds }) => [accountId, clientIds?.length ?? 1]))
  return rows
    .filter(({ account_id, times }) => times > (clients.get(account_id) ?? 1))
    .map(({ account_id, name, times }) => `${name} of ${account_id} was registered ${times} times`)
}

/** Status, amount and failure are equal on both sides. */
export async function checkSides(at: Evidence): Promise<readonly Violation[]> {
  const service = new Map((await readService(at)).map((transfer) => [transfer.id, transfer]))
  const found: Violation[] = []
  for (const { id, remote_id, status, amount, failure } of await readHost(at)) {
    const other = service.get(remote_id ?? '')
    if (other === undefined) continue
    const [ours, theirs] = [
      `${status} ${Number(amount)} ${failure?.code}`,
      `${other.status} ${Number(other.amount)} ${other.failure?.code}`,
    ]
    if (ours !== theirs) found.push({ invariant: 'same_on_both_sides', detail: `${id}: ${ours} here, ${theirs} there` })
  }
  return found
}

/** In the end nothing is left, neither a transfer nor a job. */
export async function checkWaiting(at: Evidence): Promise<readonly Violation[]> {
  const left = (await readHost(at)).filter((one) => one.stage !== 'settled' && !awaitsDecision(one))
  const { rows } = await at.environment.host.query<{ readonly id: string; readonly answer: string }>(
    `select distinct on (transfer_id) transfer_id as id, concat_ws(' ', outcome, http_status, step, detail) as answer
     from outlay.attempt where transfer_id = any ($1) order by transfer_id, attempt desc`,
    [left.map(({ id }) => id)],
  )
  const answers = new Map(rows.map(({ id, answer }) => [id, answer]))
  const found = left.map(
    ({ id, stage, status, reason, attempt }) =>
      `${id} is ${stage}, ${status}, ${reason}, attempt ${attempt} was answered with ${answers.get(id)}`,
  )
  const jobs = await countJobs(at.environment.host)
  if (jobs > 0) found.push(`${jobs} jobs are left`)
  const deliveries = await at.environment.host.query('select count(*)::integer as count from outlay.delivery')
  if (deliveries.rows[0].count > 0) found.push(`${deliveries.rows[0].count} deliveries are left`)
  return found.map((detail) => ({ invariant: 'nothing_stuck', detail }))
}

/** No key stands for two requests, and the log of attempts has no holes. */
export async function checkKeys(at: Evidence): Promise<readonly Violation[]> {
  const found: string[] = []
  const host = await readHost(at)
  const known = new Set(host.map(({ submission_key }) => submission_key))
  for (const key of at.keysSeen)
    if (!known.has(key)) found.push(`the service got the key ${key}, which no transfer has`)
  const { rows } = await at.environment.host.query<{
    readonly id: string
    readonly count: number
    readonly accepted: number
  }>(
    `select a.transfer_id as id, count(*)::integer as count, count(*) filter (where a.outcome = 'accepted')::integer as accepted
     from ${allAttempts} a group by 1`,
  )
  const logged = new Map(rows.map((row) => [row.id, row]))
  for (const { id, attempt, remote_id, idempotency_key } of host) {
    if (isAdopted({ idempotencyKey: idempotency_key })) continue
    const log = logged.get(id)
    if ((log?.count ?? 0) !== attempt)
      found.push(`${id} had ${attempt} attempts, and ${log?.count ?? 0} are in the log`)
    if (remote_id !== null && (log?.accepted ?? 0) === 0)
      found.push(`${id} is at the service, and no attempt was accepted`)
  }
  return found.map((detail) => ({ invariant: 'keys', detail }))
}

/** Nothing of one tenant is seen by another. */
export async function checkTenants(at: Evidence): Promise<readonly Violation[]> {
  const found: string[] = []
  const host = await readHost(at)
  for (const tenant of at.tenants) {
    const own = new Set(host.filter((one) => one.account_id === tenant.accountId).map((one) => one.remote_id))
    for (const [id, { accountId }] of at.foreign) if (accountId === tenant.accountId) own.add(id)
    const undecided = new Set(
      host.filter((one) => one.account_id === tenant.accountId && awaitsDecision(one)).map((one) => one.note),
    )
    for await (const { id, note } of tenant.client.transfers.iterate(tenant.accountId)) {
      if (!own.has(id) && !undecided.has(note ?? null))
        found.push(`${tenant.accountId} is shown ${id}, which is not its own`)
    }
    const foreign = host.find((one) => one.account_id !== tenant.accountId && one.remote_id !== null)
    if (foreign === undefined) continue
    const strange = at.sharesClient === true ? [] : [foreign.account_id]
    for (const accountId of [tenant.accountId, ...strange]) {
      const seen = await tenant.client.transfers.get(accountId, foreign.remote_id ?? '').catch(() => undefined)
      if (seen !== undefined) found.push(`${tenant.accountId} reads ${foreign.remote_id} of ${foreign.account_id}`)
    }
  }
  return found.map((detail) => ({ invariant: 'tenants_apart', detail }))
}
