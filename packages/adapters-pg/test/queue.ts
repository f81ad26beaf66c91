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

/** Name of the table of what waits. */
export const outboxTable = 'outlay.outbox'

/** Condition on rows of Postgres's statistics: the tables that hold jobs. */
export const holdsJobs = `(schemaname = '${queueSchema}' and relname like 'j%' or relid = 'outlay.outbox'::regclass)`

type Session = Pick<pg.ClientBase, 'query'>

/** What waits of a transfer, or its job while it is under way. */
export interface Job {
  readonly transferId: string
  /** `waiting` in the outbox, or the state of its job in the queue. */
  readonly state: string
  readonly isDue: boolean
  readonly dueAt: Date
  /** Minutes until it is due, by the clock of Postgres. */
  readonly dueInMinutes: number
  readonly heartbeatAt: Date | null
  readonly secondsSinceHeartbeat: number | null
  /** Changes with every write of the row. */
  readonly version: string
  /** The transaction that locked the row, or `0`. */
  readonly lockedBy: string
}

const jobs = `(
  select id, 'waiting' as state, due_at, null::timestamptz as heartbeat_on, xmin, xmax from ${outboxTable}
  union all select id, state::text, start_after, heartbeat_on, xmin, xmax from ${jobTable}) j`

/** Reads jobs and what waits, in the order of their transfers' ids. */
export async function readJobs(session: Session, ...ids: readonly string[]): Promise<readonly Job[]> {
  const { rows } = await session.query(
    `select id, state, due_at <= now() as "isDue", due_at as "dueAt", heartbeat_on as "heartbeatAt",
       round(extract(epoch from due_at - now()) / 60)::integer as "dueInMinutes",
       extract(epoch from now() - heartbeat_on)::float as "secondsSinceHeartbeat", xmin::text as version, xmax::text as "lockedBy"
     from ${jobs} where ${named} order by id`,
    [toJobs(ids)],
  )
  return rows.map(({ id, ...job }) => ({ transferId: Id.fromUuid(id), ...job }))
}

/** Counts all jobs, and what waits. */
export async function countJobs(session: Session): Promise<number> {
  return (await session.query(`select count(*)::integer as count from ${jobs}`)).rows[0].count
}

/** Removes jobs and what waits, as a restore or an operator's mistake may. */
export const removeJobs = (session: Session, ...ids: readonly string[]) =>
  session.query(`with removed as (delete from ${jobTable} where ${named}) delete from ${outboxTable} where ${named}`, [
    toJobs(ids),
  ])

/** Makes jobs wait, and what waits due after an interval of Postgres, such as `10 years`; nobody has fetched them then. */
export const deferJobs = (session: Session, interval: string, ...ids: readonly string[]) =>
  session.query(
    `with lost as (delete from ${jobTable} where ${named} returning id, retry_count)
     insert into ${outboxTable} as o (id, account_id, due_at, ready, fetches)
     select w.id, t.account_id, now() + $2::interval, $2::interval <= '0', max(w.fetches)
     from (select id, retry_count + 1 as fetches from lost union all select id, fetches from ${outboxTable} where ${named}) w
     join outlay.transfer t on t.id = outlay.transfer_of_job(w.id) group by w.id, t.account_id
     on conflict (id) do update set due_at = excluded.due_at, ready = excluded.ready`,
    [toJobs(ids), interval],
  )

/** Makes jobs due at once and gives them back, as the supervision does with those of a worker whose heartbeats have stopped. */
export const loseJobs = (session: Session, ...ids: readonly string[]) => deferJobs(session, '0', ...ids)

/** Moves the times at which what waits is due, as a clock that is wrong does. */
export const postponeJobs = (session: Session, interval: string) =>
  session.query(`update ${outboxTable} set due_at = due_at + $1::interval, ready = false`, [interval])

/** Lets a worker have fetched these jobs without having claimed the transfers, and returns them as it has them. */
export async function fetchJobs(session: Session, ...ids: readonly string[]) {
  await loseJobs(session, ...ids)
  const { rows } = await session.query(
    `with taken as (delete from ${outboxTable} where ${named} returning id, fetches)
     select array_agg(id) as ids, array_agg(fetches) as "retryCounts", outlay.queue_activate(array_agg(id), array_agg(fetches)) from taken`,
    [toJobs(ids)],
  )
  const { ids: taken, retryCounts } = rows[0]
  return ((taken ?? []) as readonly string[]).map((id, at) => ({
    id,
    retryCount: retryCounts[at] as number,
    claim: undefined,
  }))
}

/** Makes the last heartbeat of every job older. */
export const ageHeartbeats = (session: Session, interval: string) =>
  session.query(`update ${jobTable} set heartbeat_on = now() - $1::interval`, [interval])

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
