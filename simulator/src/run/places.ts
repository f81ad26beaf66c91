import { directory } from '@outlay/adapters-pg'
import type { Environment } from '../environment/environment.ts'
import type { Tenant } from '../environment/tenant.ts'
import type { Run } from './run-state.ts'

/** Gives each account a node, where there are several. */
export async function placeAccounts({ system, nodes }: Environment, tenants: readonly Tenant[]): Promise<void> {
  if (system === undefined) return
  const route = directory({ pool: system.directory })
  for (const [place, { accountId }] of tenants.entries())
    await route.assign(accountId, nodes[place % nodes.length]?.name ?? '')
  await route.close()
}

/** The run as everybody sees it who takes all nodes for one database, once it is noted what of an account is on several, or not on its own. */
export async function gatherAccounts(at: Run): Promise<Run> {
  const { system, nodes } = at.environment
  if (system === undefined) return at
  const note = (detail: string) => at.mistakes.push({ invariant: 'moved_whole', detail })
  for (const detail of await system.gathered.gather()) note(detail)
  const { rows } = await system.directory.query<{ readonly account_id: string; readonly node: string }>(
    'select account_id, node from outlay_directory.account',
  )
  const places = Object.fromEntries(rows.map(({ account_id, node }) => [account_id, node]))
  for (const { name, host } of nodes) {
    const { rows: astray } = await host.query<{ readonly account_id: string; readonly what: string }>(
      `select t.account_id, count(*) || ' transfers' as what from outlay.transfer t where $1::jsonb ->> t.account_id <> $2 group by 1
       union all
       select m.account_id, count(*) || ' rows of ' || m.kind || ' on their way' from outlay.moved_row m group by m.account_id, m.kind
       union all
       select d.account_id, 'the state ' || d.state from outlay.departed_account d
       where (d.state = 'here') <> ($1::jsonb ->> d.account_id = $2) or d.state not in ('here', 'departed')`,
      [JSON.stringify(places), name],
    )
    for (const { account_id, what } of astray)
      note(`${name} has ${what} of ${account_id}, which is on ${places[account_id]}`)
  }
  return { ...at, environment: { ...at.environment, host: system.gathered.host } }
}
