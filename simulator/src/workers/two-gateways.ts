import type { EngineOptions, Gateway } from '@outlay/core'
import type { Pool, PoolClient } from 'pg'
import { type Tenant, unknownPayee } from '../environment/tenant.ts'

/** The gateways of a host that has two. */
export type GatewayName = 'default' | 'second'

/** Which gateway a payout is routed to, by its note. */
const gatewayOf = (note: string | undefined): GatewayName => (/[13579]$/.test(note ?? '') ? 'second' : 'default')

/**
 * The options of an engine with two gateways. Both lead to one service, each with a client of its own, to which its keys belong: what leaves
 * through both is paid twice. The list of an account has the transfers of both, so neither reads it. What the first refuses for good, the second takes
 * over, which knows the payee that the service does not.
 */
export function pairOf(
  first: Gateway,
  second: Gateway,
  payeeOf: (accountId: string) => string | undefined,
): Pick<EngineOptions<PoolClient>, 'gateways' | 'route' | 'failover'> {
  return {
    gateways: { default: withoutList(first), second: withoutList(knowing(second, payeeOf)) },
    route: ({ note }) => gatewayOf(note),
    failover: ({ gateway }) => (gateway === 'default' ? 'second' : undefined),
  }
}

const withoutList = ({ list: _, ...gateway }: Gateway): Gateway => gateway

/** The same gateway, with an id of its own for the payee of what the first one has refused. */
const knowing = (gateway: Gateway, payeeOf: (accountId: string) => string | undefined): Gateway => ({
  ...gateway,
  async submit(submission, options) {
    const { request, accountId } = submission
    const { note, destination } = request
    if (gatewayOf(note) === 'second' || destination.addressId !== unknownPayee)
      return gateway.submit(submission, options)
    const addressId = payeeOf(accountId) ?? unknownPayee
    const known = { ...request, destination: { ...destination, addressId } }
    return gateway.submit({ ...submission, request: known }, options)
  },
})

/** Notes what the second gateway took over as payouts of the host, each with the one that it stands for, as a handler of the host would. */
export async function noteTakeovers(
  host: Pick<Pool, 'query'>,
  tenants: readonly Pick<Tenant, 'accountId' | 'payeeId'>[],
): Promise<void> {
  const payees = Object.fromEntries(tenants.map(({ accountId, payeeId }) => [accountId, payeeId]))
  await host.query(
    `insert into payout (number, transfer_id, account_id, asked, batch_id)
     select 1000 + p.number % 1000, s.id, p.account_id, a.asked || jsonb_build_object('repeats', p.transfer_id), s.batch_id
     from payout p join outlay.resubmission r on r.transfer_id = p.transfer_id join outlay.transfer s on s.id = r.successor_id
     cross join lateral (select case when p.asked #>> '{destination,address}' = $1
       then jsonb_set(p.asked, '{destination,address}', $2::jsonb -> p.account_id) else coalesce(p.asked, '{}') end as asked) a
     where s.gateway = 'second' and s.idempotency_key like '%:at:second' and not exists (select from payout o where o.transfer_id = s.id)`,
    [unknownPayee, JSON.stringify(payees)],
  )
}
