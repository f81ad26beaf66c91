import type { Environment } from '../environment/environment.ts'
import { sumMost } from '../plan/players.ts'
import type { Violation, Watch } from '../violation.ts'

/** Names of the limits that are set. */
export const [accountLimit, hostLimit] = ['sums-account', 'sums-host']

/** What was charged in one statement and so one snapshot, without what a person let go beyond a limit. */
const chargedText = `select c.counter, c.scope, c.began_at::text as began, sum(c.amount)::text as charged, count(*)::integer as transfers
  from outlay.limit_charge c
  where not exists (
    select from outlay.audit a where a.transfer_id = c.transfer_id and a.command = 'transfers.release')
  group by c.counter, c.scope, c.began_at`

interface Charged {
  readonly counter: string
  readonly scope: string
  readonly began: string
  readonly charged: string
  readonly transfers: number
}

/** Compares what was charged in each day with what may leave in it, repeatedly: it is given back, and forgotten, later. */
export function watchLimits(environment: Pick<Environment, 'host' | 'nodes'>): Watch {
  const violations: Violation[] = []
  return {
    violations,
    async check() {
      // Postgres may just be restarting.
      const { rows } = await environment.host.query<Charged>(chargedText).catch(() => ({ rows: [] as Charged[] }))
      // What an account has on several nodes counts as one.
      for (const all of Map.groupBy(rows, ({ counter, scope, began }) => `${counter} of ${scope} from ${began}`)) {
        const [name, parts] = all
        const charged = parts.reduce((sum, one) => sum + Number(one.charged), 0)
        const isOfAccount = name.startsWith(`${accountLimit} `)
        // Each node has a limit of its own for all of its accounts.
        const most = isOfAccount ? sumMost : 2 * sumMost * environment.nodes.length
        if (charged > most)
          violations.push({ invariant: 'within_limits', detail: `${charged} were charged to ${name}` })
      }
    },
  }
}
