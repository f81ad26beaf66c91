import { createHash } from 'node:crypto'
import type { Logger } from '@outlay/core'
import { OutlayError } from '@outlay/core'
import { getConstructionPlans, PgBoss } from 'pg-boss'
import type { Driver } from '../database/driver.ts'
import { isLockTimeout } from '../database/lock-timeout.ts'
import type { Row } from '../database/statement.ts'

/** Version of pg-boss's own schema that this release was tested with. */
export const queueSchemaVersion = 43

/** Name of the queue whose jobs are transfers to submit; a job has its transfer's id, as a UUID. */
const submitQueue = 'submit'

/** Seconds without a heartbeat after which a job goes back to the queue. */
export const heartbeatSeconds = 10

const queueOptions = {
  policy: 'standard',
  partition: true,
  heartbeatSeconds,
  // A worker that hangs but lives is caught by the stop and HTTP timeouts; this is the last resort.
  expireInSeconds: 23 * 3600,
  retryLimit: 1_000_000_000,
  retryDelay: 0,
  retryBackoff: false,
  retentionSeconds: 3_000_000_000 / 10,
} as const

/** Columns of pg-boss's job table that our SQL names. */
const jobColumns = [
  'id',
  'name',
  'state',
  'retry_limit',
  'expire_seconds',
  'heartbeat_seconds',
  'heartbeat_on',
  'keep_until',
  'policy',
  'start_after',
  'completed_on',
] as const

/**
 * SQL that gives a job to each transfer of `$1::text[]` that has none which is alive, due now or at the transfer's own time. Where
 * an attempt has no answer, its worker may believe for another heartbeat that it has the job, so the new one is due after that.
 */
export const ensureJobsText = `insert into {{queue_table}} as j
    (id, name, start_after, retry_limit, expire_seconds, heartbeat_seconds, keep_until, policy)
  select {{schema}}.job_id(t.id), '{{queue}}', greatest(t.not_before, clock_timestamp() + case
      when exists (select from {{schema}}.attempt a where a.transfer_id = t.id and a.answered_at is null)
      then interval '{{heartbeat_seconds}} seconds' else interval '0' end), {{retry_limit}}, {{expire_seconds}},
    {{heartbeat_seconds}}, clock_timestamp() + interval '100 years', 'standard'
  from {{schema}}.transfer t where t.id = any ($1::text[])
  on conflict (name, id) do update set state = 'retry', start_after = excluded.start_after, completed_on = null
  where j.state > 'active'
  returning j.id`

/**
 * SQL that makes the waiting jobs of the transfers of `$1::text[]` due, now or at the transfer's own time. Where an attempt has no
 * answer, none is due earlier than {@link ensureJobsText} makes it due, unless it was. The caller has locked the transfers, and with
 * them their jobs.
 */
export const wakeJobsText = `update {{queue_table}} j set start_after = greatest(clock_timestamp(), t.not_before, case
      when exists (select from {{schema}}.attempt a where a.transfer_id = t.id and a.answered_at is null)
      then least(j.start_after, clock_timestamp() + interval '{{heartbeat_seconds}} seconds') end)
  from {{schema}}.transfer t
  where t.id = any ($1::text[]) and j.name = '{{queue}}' and j.id = {{schema}}.job_id(t.id) and j.state < 'active'`

/** Values for the tokens of our SQL that concern the queue. */
export function queueTokens(queueSchema: string): Readonly<Record<string, string>> {
  const table = `j${createHash('sha224').update(submitQueue).digest('hex')}`
  return {
    queue: submitQueue,
    queue_table: `"${queueSchema}"."${table}"`,
    retry_limit: String(queueOptions.retryLimit),
    expire_seconds: String(queueOptions.expireInSeconds),
    heartbeat_seconds: String(heartbeatSeconds),
  }
}

/** SQL text that creates pg-boss's schema, for a database that has none. */
export function queueInstallSql(queueSchema: string): string {
  return getConstructionPlans(queueSchema)
}

/** SQL text that creates our queue in pg-boss's schema; safe to run again. */
export function queueCreateSql(queueSchema: string): string {
  return `select "${queueSchema}".create_queue('${submitQueue}', '${JSON.stringify(queueOptions)}'::jsonb);`
}

/**
 * SQL text that removes from our queue's table what only other queues use; safe to run again. Every enqueue would pay for it:
 *
 * - foreign keys to the table of queues, for which each insert locks the one row of our queue, in every host transaction at
 *   once, though that row is never deleted;
 * - a check that repeats the bound of the partition;
 * - indexes of singletons, groups, dependencies and redriven jobs, of which we have none.
 */
export function queueTrimSql(queueSchema: string): string {
  const { queue_table: table } = queueTokens(queueSchema)
  return `do $$
declare
  v_name text;
begin
  for v_name in select conname from pg_constraint
    where conrelid = '${table}'::regclass and (contype = 'f' or conname = 'cjc')
  loop
    execute format('alter table ${table} drop constraint %I', v_name);
  end loop;
  for v_name in select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indrelid = '${table}'::regclass and c.relname ~ '_i(4|7|9|12)$'
  loop
    execute format('drop index "${queueSchema}".%I', v_name);
  end loop;
end
$$;`
}

/** SQL that finds whether the queue is there with all that {@link queueCreateSql} and {@link queueTrimSql} do. */
export function queueReadySql(queueSchema: string): string {
  const { queue_table: table } = queueTokens(queueSchema)
  return `select exists (select 1 from "${queueSchema}".queue q where q.name = '${submitQueue}')
    and not exists (select 1 from pg_constraint
      where conrelid = to_regclass('${table}') and (contype = 'f' or conname = 'cjc'))
    and not exists (select 1 from pg_index i join pg_class c on c.oid = i.indexrelid
      where i.indrelid = to_regclass('${table}') and c.relname ~ '_i(4|7|9|12)$') as ready`
}

/**
 * Refuses a queue that the functions of the engine's schema do not use. Where only some of the code uses it, what waits there is never
 * woken, and no worker reports it.
 * @throws OutlayError `invalid_request`
 */
export async function checkSameQueue(
  run: (text: string, values: readonly unknown[]) => Promise<{ rows: readonly Row[] }>,
  schema: string,
  queueSchema: string,
): Promise<void> {
  const own = queueTokens(queueSchema)['queue_table'] ?? ''
  const table = own.slice(own.indexOf('.'))
  const { rows } = await run(
    `select p.proname::text as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where n.nspname = $1 and position($2 in p.prosrc) > 0 and position($3 in p.prosrc) = 0 limit 1`,
    [schema, table, own],
  )
  if (rows.length === 0) return
  const message = `is not that of the schema "${schema}", whose functions use another queue than the one in "${queueSchema}"; give the name with which the schema was migrated`
  throw OutlayError.fromIssues([{ field: 'queueSchema', code: 'invalid_request', message }])
}

/** Throws `not_migrated` or `queue_version_untested` unless pg-boss's schema is the one that our SQL was written for. */
export async function checkQueue<Tx>(driver: Driver<Tx>, queueSchema: string): Promise<void> {
  const found = await driver.run(
    `select attname::text as name from pg_attribute
     where attrelid = to_regclass($1) and attnum > 0 and not attisdropped`,
    [`"${queueSchema}".job`],
  )
  const columns = new Set(found.rows.map((row) => row['name']))
  if (columns.size === 0) {
    throw new OutlayError(
      'not_migrated',
      `The schema "${queueSchema}" has no queue; run "outlay migrate" or engine.migrate() first.`,
    )
  }
  const missing = jobColumns.filter((column) => !columns.has(column))
  const { rows } = await driver.run(`select version from "${queueSchema}".version`)
  const version = Number(rows[0]?.['version'])
  if (version !== queueSchemaVersion || missing.length > 0) {
    throw new OutlayError(
      'queue_version_untested',
      `The queue in "${queueSchema}" has version ${version}${missing.length > 0 ? ` without ${missing.join(', ')}` : ''}, and this release was tested with version ${queueSchemaVersion} only; install the pg-boss version that this package pins, or give the engine a schema of its own.`,
    )
  }
}

/** Starts pg-boss on the driver's connections: it supervises heartbeats and never migrates. */
export async function startQueue<Tx>(driver: Driver<Tx>, queueSchema: string, logger: Logger): Promise<PgBoss> {
  const boss = new PgBoss({
    db: { executeSql: (text, values) => driver.run(lockTimeout(text), values) },
    schema: queueSchema,
    migrate: false,
    createSchema: false,
    schedule: false,
    supervise: true,
    superviseIntervalSeconds: 5,
    monitorIntervalSeconds: 5,
  })
  boss.on('error', (error) => {
    logger.warn({ error: error.message }, 'The queue reported an error; it goes on.')
    if (isLockTimeout(error)) void driver.run(reviveText(queueSchema)).catch(() => undefined)
  })
  boss.on('warning', (warning) => logger.debug({ warning: warning.message }, 'The queue reported a warning.'))
  try {
    await boss.start()
    // pg-boss caches the queue's row on first use; a miss later would cost a query at a bad time.
    await boss.getQueue(submitQueue)
    return boss
  } catch (error) {
    await boss.stop({ graceful: false, close: false }).catch(() => undefined)
    throw error
  }
}

/**
 * SQL that gives back the jobs whose workers are gone, except locked ones. The supervision of pg-boss does so for all or none: a host
 * that has canceled one of them and not committed would keep all others from coming back.
 */
const reviveText = (queueSchema: string): string => {
  const { queue, queue_table: table } = queueTokens(queueSchema)
  return `with lost as (
      select j.id from ${table} j
      where j.name = '${queue}' and j.state = 'active' and j.heartbeat_on + j.heartbeat_seconds * interval '1 second' < clock_timestamp()
      for update skip locked
    )
    update ${table} j set state = 'retry', heartbeat_on = null, start_after = clock_timestamp()
    from lost l where j.name = '${queue}' and j.id = l.id`
}

/**
 * The same text with a shorter lock timeout: a host may have locked a job for as long as its transaction is open, and
 * transactions whose jobs the queue has locked by then would wait too.
 */
const lockTimeout = (text: string): string =>
  text.replace(/SET LOCAL lock_timeout = \d+/, 'SET LOCAL lock_timeout = 250')
