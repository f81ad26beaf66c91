import type { Environment } from '../environment/environment.ts'
import { sumMost } from '../plan/players.ts'
import type { Violation, Watch } from '../violation.ts'

/** Names of the limits that are set. */
export const [accountLimit, hostLimit] = ['sums-account', 'sums-host']

/** What was charged in one statement and so one snapshot, without what a person let go beyond a limit. */
const chargedText = `select c.counter, c.scope, sum(c.amount)::text as charged, count(*)::integer as transfers
  from outlay.limit_charge c
  where not exists (
    select from outlay.audit a where a.transfer_id = c.transfer_id and a.command = 'transfers.release')
  group by c.counter, c.scope, c.began_at
  having sum(c.amount) > case when c.counter like $1 || ' %' then $2::numeric else 2 * $2::numeric end`

interface Charged {
  readonly counter: string
  readonly scope: string
  readonly charged: string
  readonly transfers: number
}

/** Compares what was charged in each day with what may leave in it, repeatedly: it is given back, and forgotten, later. */
export function watchLimits(environment: Pick<Environment, 'host'>): Watch {
  const violations: Violation[] = []
  return {
    violations,
    async check() {
      // Postgres may just be restarting.
      const { rows } = await environment.host
        .query<Charged>(chargedText, [accountLimit, sumMost])
        .catch(() => ({ rows: [] as Charged[] }))
      for (const { counter, scope, charged, transfers } of rows)
        violations.push({
          invariant: 'within_limits',
          detail: `${transfers} transfers charged ${charged} to ${counter} of ${scope}`,
        })
    },
  }
}
