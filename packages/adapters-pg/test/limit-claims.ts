import type { PoolClient } from 'pg'

/** A zone in which it is about noon, so that no day and no month ends while a test runs. */
export const noonZone: string = zoneAhead(12 - new Date().getUTCHours())

/** `Etc/GMT-3` is three hours ahead. */
function zoneAhead(hours: number): string {
  return `Etc/GMT${hours > 0 ? '-' : '+'}${Math.abs(hours)}`
}

type Session = Pick<PoolClient, 'query'>

/** Fetches and claims up to so many that are ready, as the worker `slow` does, in two transactions or in those of the session; returns the ids of claimed transfers. */
export async function claimReady(session: Session, limit = 100): Promise<readonly string[]> {
  const { rows: found } = await session.query(
    `select job, retry_count, id from outlay.fetch_for_gateways($1, 'slow', null, null, array['default'])`,
    [limit],
  )
  const free: string[] = found.flatMap(({ id }) => id ?? [])
  const others = found.filter(({ id }) => id === null)
  if (others.length === 0) return free
  const { rows: claimed } = await session.query(
    `select c.id from (
       select array_agg(outlay.transfer_of_job(j.job)) as ids, array_agg(j.job) as jobs, array_agg(j.retry_count) as counts
       from unnest($1::uuid[], $2::integer[]) as j (job, retry_count)) n
     cross join lateral outlay.claim_for_gateways(n.ids, n.jobs, n.counts, 'slow', null, array['default']) c`,
    [others.map(({ job }) => job), others.map(({ retry_count: count }) => count)],
  )
  return [...free, ...claimed.map(({ id }) => id)].sort()
}

/** Gives back, releases and returns how many were released, as the sweep of a worker does. */
export async function sweepLimits(session: Session): Promise<number> {
  await session.query('select outlay.return_charges(1000)')
  const { rows: found } = await session.query(`select released from outlay.release_fitting('', '', 1000, 200)`)
  return found.reduce((sum, { released }) => sum + released, 0)
}
