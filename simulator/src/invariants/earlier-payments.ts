import type { Asked } from '@outlay/judge'
import type { Environment } from '../environment/environment.ts'
import type { Violation, Watch } from '../violation.ts'
import type { Evidence } from './evidence.ts'

/** Names of the policies about earlier payments. */
export const [firstPolicy, likePolicy] = ['first-payment', 'paid-twice']

/** What a host calls a payee: an id, or what it is paid at. */
export const payeesOf = ({ destination }: Asked): readonly string[] => {
  const { address, payee } = destination as { readonly address?: string; readonly payee?: string }
  return [address, payee].filter((one) => one !== undefined)
}

/** The same payee and the same amount, as hosts have written them down. */
const isAlike = (one: string, other: string) => `${one}.account_id = ${other}.account_id
  and coalesce(${one}.asked #>> '{destination,payee}', ${one}.asked #>> '{destination,address}')
    = coalesce(${other}.asked #>> '{destination,payee}', ${other}.asked #>> '{destination,address}')
  and (${one}.asked #>> '{amount,value}')::numeric = (${other}.asked #>> '{amount,value}')::numeric`

/** A first payment is sent after somebody else than its creator has approved it. Of those that are alike one is sent, and others after a person let them go. */
export async function checkEarlierPayments(
  at: Pick<Evidence, 'environment' | 'firstPayments' | 'toCompare'>,
): Promise<readonly Violation[]> {
  const { firstPayments = new Set(), toCompare = new Set() } = at
  const { host } = at.environment
  const { rows: unapproved } = await host.query<{ readonly id: string }>(
    `select t.id from outlay.transfer t where t.id = any ($1) and t.attempt > 0 and not exists (
       select from outlay.approval a left join outlay.transfer_creator c on c.transfer_id = a.transfer_id
       where a.transfer_id = t.id and lower(a.actor) is distinct from lower(c.created_by))`,
    [[...firstPayments]],
  )
  // One that has failed or was canceled, for a time at least, is no earlier payment; nor is one of more than a month ago.
  const { rows: alike } = await host.query<{ readonly id: string; readonly other: string }>(
    `with sent as (
       select t.id, t.created_at, p.account_id, p.asked from outlay.transfer t join payout p on p.transfer_id = t.id
       where t.id = any ($1) and t.attempt > 0 and t.status not in ('failed', 'canceled')
         and not exists (select from effect e where e.transfer_id = t.id and e.type in ('transfer.failed', 'transfer.canceled'))
         and not exists (
           select from outlay.audit a where a.transfer_id = t.id and a.command = 'transfers.release'
             and a.after -> 'released' @> jsonb_build_array(jsonb_build_object('policy', $2::text))))
     select a.id, b.id as other from sent a join sent b on a.id < b.id and ${isAlike('a', 'b')}
       and abs(extract(epoch from a.created_at - b.created_at)) < 30 * 86400`,
    [[...toCompare], likePolicy],
  )
  return [
    ...unapproved.map(({ id }) => `${id}, a first payment, was sent, and nobody else has approved it`),
    ...alike.map(({ id, other }) => `${id} and ${other} are alike, and both were sent without a person`),
  ].map((detail) => ({ invariant: 'earlier_payments', detail }))
}

/** Whatever is held as a payment that looks like another one does, repeatedly: people let it go. Of others' payments there is no row. */
export function watchLookalikes(environment: Pick<Environment, 'host'>): Watch {
  const violations: Violation[] = []
  return {
    violations,
    async check() {
      // Postgres may just be restarting.
      const { rows } = await environment.host
        .query<{ readonly id: string }>(
          `select p.transfer_id as id from outlay.hold h join payout p on p.transfer_id = h.transfer_id
           where h.policy = $1 and not exists (select from payout o where o.transfer_id <> p.transfer_id and ${isAlike('o', 'p')})
             and not exists (
               select from outlay.transfer t where t.account_id = p.account_id and not exists (select from payout f where f.transfer_id = t.id))`,
          [likePolicy],
        )
        .catch(() => ({ rows: [] }))
      for (const { id } of rows)
        violations.push({ invariant: 'earlier_payments', detail: `${id} is held, and no payment looks like it` })
    },
  }
}
