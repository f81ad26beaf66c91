import type pg from 'pg'

/* All that tests of this package know of the queue behind the engine. */

type Session = Pick<pg.Pool, 'query'>

/** Name of the schema of the queue. */
export const queueSchema = 'outlay_queue'

/** Name of the table of jobs. */
export const jobTable = `${queueSchema}.job`

/** Removes all jobs. */
export const removeJobs = (session: Session) => session.query(`delete from ${jobTable}`)

/** Makes every job due since an interval. */
export const makeJobsDue = (session: Session, since: string) =>
  session.query(`update ${jobTable} set start_after = now() - $1::interval`, [since])

/** Lets every job be that of a worker whose last heartbeat is an interval ago. */
export const leaveJobs = (session: Session, since: string) =>
  session.query(`update ${jobTable} set state = 'active', heartbeat_on = now() - $1::interval`, [since])

/** Makes the last supervision an interval old. */
export const setSupervised = (session: Session, ago: string) =>
  session.query(
    `update ${queueSchema}.queue set monitor_on = now() - $1::interval, monitor_claim_on = now() - $1::interval`,
    [ago],
  )

/** Writes another version of the queue's schema. */
export const setQueueVersion = (session: Session, version: number) =>
  session.query(`update ${queueSchema}.version set version = $1`, [version])
