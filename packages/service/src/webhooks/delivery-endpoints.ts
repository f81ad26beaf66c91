import type { ServiceContext } from '../context.ts'
import { type Executor, run, statement } from '../database/statement.ts'

/** What one attempt says about the endpoint it went to. */
export interface EndpointReport {
  readonly registrationId: string
  /** The URL without its query. */
  readonly endpoint: string
  /** Scheme, host and port. */
  readonly host: string
  /** Whether the registration is known to have succeeded before. */
  readonly proven: boolean
  /** Whether the endpoint or its host has failed since its last success. */
  readonly failing: boolean
  readonly succeeded: boolean
}

/**
 * From which failure in a row on deliveries are held, and the longest hold in milliseconds: of one URL, and of a host. A host may serve
 * many receivers, so that the first delivery to a new one does not wait long for the others.
 */
const rules = { endpoint: { tolerance: 2, longestMs: 3_600_000 }, host: { tolerance: 5, longestMs: 300_000 } }

const firstHoldMs = 5_000

/**
 * Writes what the attempts of one flush say about their endpoints. Those of one endpoint count as one failure if none of them succeeded.
 * From the second failure in a row on, everything to that URL is held, for 5 seconds and twice as long each time, up to an hour; from the fifth
 * one on its host is, up to 5 minutes, except for registrations that have worked. Writes nothing for an endpoint that works.
 */
export async function reportEndpoints(
  executor: Executor,
  context: ServiceContext,
  reports: readonly EndpointReport[],
  now: Date,
): Promise<void> {
  const succeeded = reports.filter((report) => report.succeeded)
  const working = new Set(succeeded.flatMap(({ endpoint, host }) => [endpoint, host]))
  const failed = new Map<string, { readonly key: string; readonly tolerance: number; readonly longestMs: number }>()
  for (const { endpoint, host, succeeded } of reports) {
    if (succeeded) continue
    if (!working.has(endpoint)) failed.set(endpoint, { key: endpoint, ...rules.endpoint })
    if (!working.has(host)) failed.set(host, { key: host, ...rules.host })
  }
  const recovered = [...new Set(succeeded.filter(({ failing }) => failing).flatMap((one) => [one.endpoint, one.host]))]
  const proven = [...new Set(succeeded.filter((one) => !one.proven).map(({ registrationId }) => registrationId))]
  if (proven.length > 0) await run(executor, context, markProven, [proven])
  if (recovered.length > 0) await run(executor, context, deleteRecovered, [recovered])
  if (failed.size > 0) {
    const values = [JSON.stringify([...failed.values()]), now, firstHoldMs]
    await run(executor, context, countFailures, values)
  }
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

// Locks are taken in the order of the keys, so that no two processes wait for each other.
const deleteRecovered = statement(
  'webhook_endpoint_recover',
  `with chosen as materialized (
     select key from {{schema}}.webhook_endpoint where key = any ($1) order by key for update
   )
   delete from {{schema}}.webhook_endpoint e using chosen where e.key = chosen.key`,
)

const countFailures = statement(
  'webhook_endpoint_fail',
  `insert into {{schema}}.webhook_endpoint as e (key, tolerance, longest_hold_ms, failures, held_until)
   select key, tolerance, "longestMs", 1, $2
     from jsonb_to_recordset($1::jsonb) as given (key text, tolerance smallint, "longestMs" integer)
    order by key
   on conflict (key) do update
      set failures = least(e.failures + 1, 100),
          held_until = case
            when e.failures + 1 < e.tolerance then $2
            else $2 + least($3 * power(2, least(e.failures + 1 - e.tolerance, 20)), e.longest_hold_ms) * interval '1 millisecond'
          end`,
)

const deleteForgotten = statement(
  'webhook_endpoint_prune',
  'delete from {{schema}}.webhook_endpoint where held_until < $1 returning true as deleted',
)
