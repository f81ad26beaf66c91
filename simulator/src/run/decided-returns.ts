import { OutlayError } from '@outlay/core'
import { simulate } from '../environment/tenant.ts'
import type { PlayerStep } from '../plan/players.ts'
import type { Run } from './run-state.ts'

type Misreport = Extract<PlayerStep, { readonly do: 'misreport_return' }>

interface Complete {
  readonly id: string
  readonly account_id: string
  readonly remote_id: string
  readonly value: string
  readonly currency: string
}

/** What is complete here by ACH. */
async function findComplete({ environment }: Run): Promise<readonly Complete[]> {
  const { rows } = await environment.host.query<Complete>(
    `select t.id, t.account_id, t.remote_id, t.request -> 'amount' ->> 'value' as value, t.request -> 'amount' ->> 'currency' as currency
     from outlay.transfer t where t.status = 'complete' and t.request -> 'destination' ->> 'transferType' = 'ach_credit' order by t.id`,
  )
  return rows
}

/**
 * A report says that more came back of a payout than it was, which never happened. A person says so, or does not yet; the report comes again, also
 * behind one that shows something else instead. Every second one that was decided about comes back in truth later, which a person confirms.
 */
export async function misreportReturn(at: Run, { choice, isDecided, times }: Misreport): Promise<string> {
  // The report would be one of the first gateway, and the transfer may be of the second.
  if (at.twoGateways) return 'nobody reports'
  const rows = await findComplete(at)
  const found = rows[choice % Math.max(1, rows.length)]
  if (found === undefined) return 'none is complete'
  const { transfers } = at.office.engine
  const report = (code: string, more: number) => {
    const amount = { value: (Number(found.value) + more).toFixed(2), currency: found.currency }
    const returns = [{ code, amount, occurredAt: '2026-01-09T09:00:00.000Z' }]
    return { remoteId: found.remote_id, status: 'complete' as const, failure: null, returns }
  }
  let decided = 0
  for (let time = 0; time < times; time += 1) {
    const said = times > 2 && time === 1 ? report('R03', 2) : report('R10', 1)
    await at.office.transaction(found.account_id, (tx) => transfers.observe(tx, found.account_id, [said]))
    if (isDecided) decided += await decideReturns(at)
  }
  const after = isDecided && choice % 2 === 0 ? await returnInTruth(at, found) : ''
  return `${times} reports of ${found.id}, ${decided} decisions${after}`
}

/** The bank returns a payout of which returns were reported that never were. */
async function returnInTruth(at: Run, { account_id, remote_id }: Complete): Promise<string> {
  const { environment, tenants } = at
  const tenant = tenants.find(({ accountId }) => accountId === account_id)
  const { rowCount } = await environment.service.query(
    `select from outlay_service.transfer t where t.id = $1 and t.status = 'complete'
       and not exists (select from outlay_service.transfer_return r where r.transfer_id = t.id)`,
    [remote_id],
  )
  if (tenant === undefined || rowCount !== 1) return ', it came back before'
  await simulate(environment, tenant, `transfers/${remote_id}/return`, { code: 'R01' })
  // Polling finds it at last, whatever becomes of its webhook.
  at.returns ??= { do: 'return', nth: 1, code: 'R01', webhooks: 'none' }
  return ', and it came back'
}

interface Held {
  readonly id: string
  readonly account_id: string
  readonly identity: string
  readonly remote_id: string
  readonly code: string
  readonly amount: string | null
}

/** A person decides about every return that is held: the service has it, or it never happened. Returns how many there were. */
export async function decideReturns(at: Run): Promise<number> {
  const { rows: held } = await at.environment.host.query<Held>(
    `select r.transfer_id as id, t.account_id, r.identity, t.remote_id, r.code, r.amount::text as amount
     from outlay.transfer_return r join outlay.transfer t on t.id = r.transfer_id
     where r.problem is not null and r.resolved_at is null order by id, identity`,
  )
  for (const { id, account_id, identity, remote_id, code, amount } of held) {
    const { rowCount } = await at.environment.service.query(
      'select from outlay_service.transfer_return where transfer_id = $1 and code = $2 and amount_value = $3::numeric',
      [remote_id, code, amount],
    )
    const isThere = (rowCount ?? 0) > 0 && amount !== null
    if (at.dismissed.has(`${id} ${identity}`))
      at.mistakes.push({ invariant: 'returns_once', detail: `${identity} of ${id} was dismissed, and is held again` })
    try {
      await at.office.transaction(account_id, (tx) =>
        at.office.engine.transfers.resolveReturn(
          tx,
          id,
          isThere ? { identity, amount } : { identity, dismissed: true, reason: 'The service has never had it.' },
        ),
      )
      if (!isThere) at.dismissed.add(`${id} ${identity}`)
    } catch (error) {
      // Another report has replaced it meanwhile.
      if (!OutlayError.is(error, 'conflict')) throw error
    }
  }
  return held.length
}
