import type { Driver } from '@outlay/adapters-pg'
import type { Pool } from 'pg'
import { PgBoss } from 'pg-boss'

/* All that the simulator knows of the queue behind the engine. */

/** Name of the schema of the queue of the hosts, and of that of the service's own engine. */
export const queueSchema = 'outlay_queue'
export const serviceQueueSchema = 'outlay_service_engine_queue'

/** Text of SQL: the row of the transfer `t` in the outbox or, while it is under way, its job. */
export const jobOfTransfer = `from outlay.queue_jobs() j where j.job = outlay.job_id(t.id)`

/** Text of SQL: what a person reads of that. */
export const describeJob = `select string_agg(concat_ws(' ', 'job', j.state, 'due at', j.due_at, 'heartbeat at', j.heartbeat_at), '; ')
  ${jobOfTransfer}`

/** Text of SQL: whether a worker may fetch the transfer `t` now. */
export const hasDueJob = `exists (select ${jobOfTransfer} and j.is_waiting and j.due_at <= now())`

/** Text of SQL: the name of the table in which jobs are stored, which somebody may lock for maintenance. */
export const storedJobTable = `(select format('${queueSchema}.%I', tablename) from pg_tables
  where schemaname = '${queueSchema}' and tablename ~ '^j[0-9a-f]{56}$')`

/** Text of SQL: makes the transfer `$1` due, unless a worker has fetched it. */
export const makeJobDue = `update outlay.outbox set due_at = clock_timestamp() where id = outlay.job_id($1)`

/** Text of SQL: the timers of the supervision are due. */
export const makeSupervisionDue = `update ${queueSchema}.queue set monitor_on = null, monitor_claim_on = null`

/** Text of SQL: removes what waits and is not locked. */
export const removeWaitingJobs = `delete from outlay.outbox where id in (select o.id from outlay.outbox o for update skip locked)`

/** Counts what waits, and the jobs. */
export async function countJobs(pool: Pick<Pool, 'query'>): Promise<number> {
  const { rows } = await pool.query<{ readonly count: number }>(
    'select count(*)::integer as count from outlay.queue_jobs()',
  )
  return rows.reduce((sum, { count }) => sum + count, 0)
}

/** The engine waits no longer than that for locks: what holds jobs for long must not hold up the run. */
const withEnginesLockTimeout = (text: string): string =>
  text.replace(/SET LOCAL lock_timeout = \d+/, 'SET LOCAL lock_timeout = 250')

/** Supervises the queue once, as the timers of an engine do, over the engine's driver. */
export async function superviseQueue(driver: Pick<Driver<unknown>, 'run'>): Promise<void> {
  const boss = new PgBoss({
    db: { executeSql: (text, values) => driver.run(withEnginesLockTimeout(text), values) },
    schema: queueSchema,
    migrate: false,
    createSchema: false,
    supervise: false,
    schedule: false,
    monitorIntervalSeconds: 5,
  })
  boss.on('error', () => undefined)
  await boss.supervise()
}

/** pg-boss searches for stalled jobs on the engines' timers; a run asks for it when it has moved the time. */
export function supervisor(pool: Pool, schema: string): PgBoss {
  const boss = new PgBoss({
    db: { executeSql: (text, values) => pool.query(withEnginesLockTimeout(text), values as unknown[]) },
    schema,
    migrate: false,
    createSchema: false,
    supervise: false,
    schedule: false,
  })
  boss.on('error', () => undefined)
  return boss
}
