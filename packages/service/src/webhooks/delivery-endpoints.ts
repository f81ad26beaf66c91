import type { ServiceContext } from '../context.ts'
import { isLocked } from '../database/passing-error.ts'
import { type Executor, run, statement } from '../database/statement.ts'

/** What one attempt says about the endpoint it went to. */
export interface EndpointReport {
  readonly registrationId: string
  /** Whose failures it counts with. */
  readonly owner: string
  /** The URL without its query. */
  readonly endpoint: string
  /** Scheme, host and port. */
  readonly host: string
  /** Whether the registration is known to have succeeded before. */
  readonly proven: boolean
  /** Whether the endpoint or its host has failed since its last success, or the host for others. */
  readonly failing: boolean
  readonly succeeded: boolean
}

/**
 * From how many failures in a row on deliveries are held, and the longest hold in milliseconds: of one URL, and of a host. A host may
 * serve many receivers, so that the first delivery to a new one does not wait long for the others.
 */
const rules = { endpoint: { tolerance: 8, longestMs: 3_600_000 }, host: { tolerance: 32, longestMs: 300_000 } }

const firstHoldMs = 5_000

/**
 * Writes what the attempts of one flush say about their endpoints; a success outweighs failures beside it. From the eighth failure in a
 * row on, everything of that owner to that URL is held, for 5 seconds and twice as long after each probe that fails, up to an hour. From the 32nd
 * one on what it sends to its host is, up to 5 minutes, except for registrations that have worked; from the first one on, if the host has failed as
 * often for all owners together. Nobody waits for the failures or the probes of another owner, who may name any URL. Writes nothing for an
 * endpoint that works.
 */
export async function reportEndpoints(
  executor: Executor,
  context: ServiceContext,
  reports: readonly EndpointReport[],
  now: Date,
): Promise<void> {
  const succeeded = reports.filter((report) => report.succeeded)
  const working = new Set(succeeded.flatMap(keysOf))
  const failed = new Map<string, Failures>()
  const count = (key: string, rule: (typeof rules)[keyof typeof rules], host?: string): void => {
    if (!working.has(key)) failed.set(key, { ...rule, key, host, failures: (failed.get(key)?.failures ?? 0) + 1 })
  }
  for (const report of reports) {
    if (report.succeeded) continue
    const [endpoint, host, all] = keysOf(report)
    count(endpoint, rules.endpoint)
    count(host, rules.host, all)
    count(all, rules.host)
  }
  const recovered = [...new Set(succeeded.filter(({ failing }) => failing).flatMap(keysOf))]
  const proven = [...new Set(succeeded.filter((one) => !one.proven).map(({ registrationId }) => registrationId))]
  if (proven.length > 0) await run(executor, context, markProven, [proven])
  if (recovered.length > 0) await run(executor, context, deleteRecovered, [recovered])
  if (failed.size > 0) {
    const values = [JSON.stringify([...failed.values()]), now, firstHoldMs]
    try {
      await run(executor, context, countFailures, values)
    } catch (error) {
      if (!isLocked(error)) throw error
      await run(executor, context, countFreeFailures, values)
    }
  }
}

/** The endpoint and the host of an owner, and the host for all, which holds nothing by itself. */
function keysOf({ owner, endpoint, host }: EndpointReport): readonly [string, string, string] {
  return [`${owner} ${endpoint}`, `${owner} ${host}`, host]
}

interface Failures {
  readonly key: string
  /** Where one failure is enough while this has failed too often. */
  readonly host: string | undefined
  readonly failures: number
  readonly tolerance: number
  readonly longestMs: number
}

/** Deletes what is known of endpoints that were not tried again since `before`. Returns how many. */
export async function pruneEndpoints(executor: Executor, context: ServiceContext, before: Date): Promise<number> {
  return (await run(executor, context, deleteForgotten, [before])).length
}

// A registration that is locked is being changed or removed, which may take seconds: a later success proves it.
const markProven = statement(
  'webhook_registration_prove',
  `with chosen as materialized (
     select id from {{schema}}.webhook_registration where id = any ($1) and not proven for no key update skip locked
   )
   update {{schema}}.webhook_registration r set proven = true from chosen where r.id = chosen.id`,
)

// One that is locked is deleted after a later success.
const deleteRecovered = statement(
  'webhook_endpoint_recover',
  `with chosen as materialized (
     select key from {{schema}}.webhook_endpoint where key = any ($1) order by key for update skip locked
   )
   delete from {{schema}}.webhook_endpoint e using chosen where e.key = chosen.key`,
)

/** What fails while its endpoint is held was sent before, and holds it no longer. Locks are taken in the order of the keys. */
const countText = (before = '', where = '') =>
  `${before}
   insert into {{schema}}.webhook_endpoint as e (key, tolerance, longest_hold_ms, failures, holds, held_until)
   select given.key, least(tolerance, enough), "longestMs", failures,
          case when failures >= least(tolerance, enough) then 1 else 0 end,
          case when failures >= least(tolerance, enough) then $2::timestamptz + $3 * interval '1 millisecond' else $2 end
     from jsonb_to_recordset($1::jsonb) as given
            (key text, host text, failures integer, tolerance smallint, "longestMs" integer)
     left join lateral (
       select 1::smallint as enough from {{schema}}.webhook_endpoint a where a.key = given.host and a.failures >= a.tolerance
     ) a on true
    ${where}
    order by given.key
   on conflict (key) do update
      set tolerance = excluded.tolerance,
          (failures, holds, held_until, probing) = (
        select least(e.failures + excluded.failures, 1000000),
               case when is_over then least(e.holds + 1, 100) else e.holds end,
               case when is_over then $2::timestamptz + least($3 * power(2, least(e.holds, 20)), e.longest_hold_ms) * interval '1 millisecond'
                    else e.held_until end,
               e.probing and not is_over
          from (
            select e.failures + excluded.failures >= excluded.tolerance and (e.probing or e.held_until <= $2::timestamptz) as is_over
          ) decision
      )`

const countFailures = statement('webhook_endpoint_fail', countText())

/** Those that another transaction has locked are not counted this time: the counts of others must not be lost with them. */
const countFreeFailures = statement(
  'webhook_endpoint_fail_free',
  countText(
    `with free as materialized (
     select key from {{schema}}.webhook_endpoint
      where key = any (array(select g.key from jsonb_to_recordset($1::jsonb) as g (key text)))
      order by key
        for update skip locked
   )`,
    `where given.key in (select free.key from free)
       or not exists (select from {{schema}}.webhook_endpoint k where k.key = given.key)`,
  ),
)

const deleteForgotten = statement(
  'webhook_endpoint_prune',
  'delete from {{schema}}.webhook_endpoint where held_until < $1 returning true as deleted',
)
