import type pg from 'pg'

/* All that tests of this package know of the queue behind the engine. */

type Session = Pick<pg.Pool, 'query'>

/** Name of the schema of the queue. */
export const queueSchema = 'outlay_queue'

/** Name of the table of jobs. */
export const jobTable = `${queueSchema}.job`

/** Removes all jobs, and what waits. */
export const removeJobs = (session: Session) =>
  session.query(`with removed as (delete from ${jobTable}) delete from outlay.outbox`)

/** Makes what waits due since an interval. */
export const makeJobsDue = (session: Session, since: string) =>
  session.query(`update outlay.outbox set due_at = now() - $1::interval, ready = true`, [since])

/** Lets everything that waits be under way, at a worker whose last heartbeat is an interval ago. */
export async function leaveJobs(session: Session, since: string) {
  await session.query(
    `with taken as (delete from outlay.outbox returning id, fetches)
     select outlay.queue_activate(array_agg(id), array_agg(fetches)) from taken`,
  )
  return session.query(`update ${jobTable} set heartbeat_on = now() - $1::interval`, [since])
}

/** Makes the last supervision an interval old. */
export const setSupervised = (session: Session, ago: string) =>
  session.query(
    `update ${queueSchema}.queue set monitor_on = now() - $1::interval, monitor_claim_on = now() - $1::interval`,
    [ago],
  )

/** Writes another version of the queue's schema. */
export const setQueueVersion = (session: Session, version: number) =>
  session.query(`update ${queueSchema}.version set version = $1`, [version])
