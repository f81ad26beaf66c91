import type { Asked } from '@outlay/judge'
import { addresses } from '@outlay/testing'
import { payeesOf } from '../invariants/earlier-payments.ts'
import type { Run } from './run-state.ts'

/** Ids of the complete transfers of an account to any of these, of which nothing came back. */
export async function completedTo(
  { environment }: Pick<Run, 'environment'>,
  accountId: string,
  payees: readonly string[],
  isReturnedToo = false,
): Promise<readonly string[]> {
  const { rows } = await environment.host.query<{ readonly id: string }>(
    `select t.id from payout p join outlay.transfer t on t.id = p.transfer_id
     where p.account_id = $1 and t.status = 'complete'
       and (p.asked #>> '{destination,address}' = any ($2) or p.asked #>> '{destination,payee}' = any ($2))
       and ($3 or not exists (select from outlay.transfer_return r where r.transfer_id = t.id))`,
    [accountId, payees, isReturnedToo],
  )
  return rows.map(({ id }) => id)
}

/**
 * Notes a transfer that was enqueued, if policies about earlier payments must hold it. Whoever was never paid is new. Of what somebody else has paid, and
 * of two gateways, these rows say too little.
 */
export async function noteEarlier(at: Run, transferId: string, accountId: string, asked: object | null): Promise<void> {
  const { paymentRules = [], environment, tenants } = at
  if (asked === null || paymentRules.length === 0 || at.twoGateways) return
  if (paymentRules.includes('alike')) at.toCompare.add(transferId)
  if (!paymentRules.includes('new') || [...at.foreign.values()].some((one) => one.accountId === accountId)) return
  const payees = payeesOf(asked as Asked)
  const ada = [tenants.find((one) => one.accountId === accountId)?.payeeId ?? '', addresses.evm[0]]
  // She may be registered under both.
  const all = payees.some((one) => ada.includes(one)) ? [...payees, ...ada] : payees
  if ((await completedTo({ environment }, accountId, all, true)).length === 0) at.firstPayments.add(transferId)
}
