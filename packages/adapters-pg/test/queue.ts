import { Id } from '@outlay/core'
import type pg from 'pg'

/*
 * All that tests of this package know of the queue beyond the functions of its room. A test names transfers, and calls these functions
 * for their jobs; without an id they concern every job.
 */

/** Name of the schema of the queue. */
export const queueSchema = 'outlay_queue'

/** Name of the table of jobs, for statements in which it is one of several. */
export const jobTable = `${queueSchema}.job`

/** Condition on rows of Postgres's statistics: the tables that hold jobs. */
export const holdsJobs = `schemaname = '${queueSchema}' and relname like 'j%'`

type Session = Pick<pg.ClientBase, 'query'>

/** The job of a transfer. */
export interface Job {
  readonly transferId: string
  readonly state: string
  readonly isDue: boolean
  readonly dueAt: Date
  /** Minutes until it is due, by the clock of Postgres. */
  readonly dueInMinutes: number
  readonly place: number
  readonly heartbeatAt: Date | null
  readonly secondsSinceHeartbeat: number | null
  readonly createdAt: Date
  /** Changes with every write of the row. */
  readonly version: string
  /** The transaction that locked the row, or `0`. */
  readonly lockedBy: string
}

/** Reads jobs, in the order of their transfers' ids. */
export async function readJobs(session: Session, ...ids: readonly string[]): Promise<readonly Job[]> {
  const { rows } = await session.query(
    `select id, state, start_after <= now() as "isDue", start_after as "dueAt", -priority as place, heartbeat_on as "heartbeatAt",
       round(extract(epoch from start_after - now()) / 60)::integer as "dueInMinutes",
       extract(epoch from now() - heartbeat_on)::float as "secondsSinceHeartbeat",
       created_on as "createdAt", xmin::text as version, xmax::text as "lockedBy"
     from ${jobTable} where ${named} order by id`,
    [toJobs(ids)],
  )
  return rows.map(({ id, ...job }) => ({ transferId: Id.fromUuid(id), ...job }))
}

/** Counts all jobs. */
export async function countJobs(session: Session): Promise<number> {
  return (await session.query(`select count(*)::integer as count from ${jobTable}`)).rows[0].count
}

/** Removes jobs, as a restore or an operator's mistake may. */
export const removeJobs = (session: Session, ...ids: readonly string[]) =>
  session.query(`delete from ${jobTable} where ${named}`, [toJobs(ids)])

/** Makes jobs due after an interval of Postgres, such as `10 years`; nobody has fetched them then. */
export const deferJobs = (session: Session, interval: string, ...ids: readonly string[]) =>
  session.query(
    `update ${jobTable} set start_after = now() + $2::interval, heartbeat_on = null,
       state = case when state = 'active' then 'retry' else state end where ${named}`,
    [toJobs(ids), interval],
  )

/** Makes jobs due at once and gives them back, as the supervision does with those of a worker whose heartbeats have stopped. */
export const loseJobs = (session: Session, ...ids: readonly string[]) => deferJobs(session, '0', ...ids)

/** Moves the times at which jobs are due, as a clock that is wrong does. */
export const postponeJobs = (session: Session, interval: string) =>
  session.query(`update ${jobTable} set start_after = start_after + $1::interval`, [interval])

/** Lets a worker have fetched these jobs without having claimed the transfers, and returns them as it has them. */
export async function fetchJobs(session: Session, ...ids: readonly string[]) {
  const { rows } = await session.query(
    `update ${jobTable} set state = 'active', started_on = now(), heartbeat_on = now() where ${named} returning id, retry_count`,
    [toJobs(ids)],
  )
  return rows.map((row) => ({ id: row.id as string, retryCount: row.retry_count as number, claim: undefined }))
}

/** Makes the last heartbeat of every job older. */
export const ageHeartbeats = (session: Session, interval: string) =>
  session.query(`update ${jobTable} set heartbeat_on = now() - $1::interval`, [interval])

/** Moves every job to one place in the order of dispatch. */
export const moveJobs = (session: Session, place: number) =>
  session.query(`update ${jobTable} set priority = -$1::integer`, [place])

/** Adds a due job that has no transfer. */
export const addStrayJob = (session: Session, place: number) =>
  session.query(`insert into ${jobTable} (id, name, priority) values (gen_random_uuid(), 'submit', -$1::integer)`, [
    place,
  ])

/** Makes the supervision believe that it ran, by an interval from now. */
export const setSupervised = (session: Session, interval: string) =>
  session.query(`update ${queueSchema}.queue set monitor_on = now() + $1::interval`, [interval])

/** Whether a time of the supervision is in the future. */
export async function isSupervisedAhead(session: Session): Promise<boolean> {
  return (await session.query(`select 1 from ${queueSchema}.queue where monitor_on > now()`)).rowCount !== 0
}

/** Writes another version of the queue's schema. */
export const setQueueVersion = (session: Session, version: number) =>
  session.query(`update ${queueSchema}.version set version = $1`, [version])

const named = `(cardinality($1::uuid[]) = 0 or id = any ($1::uuid[]))`

const toJobs = (ids: readonly string[]): readonly string[] => ids.map(Id.toUuid)
