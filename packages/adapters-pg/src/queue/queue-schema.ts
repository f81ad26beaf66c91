import { OutlayError } from '@outlay/core'
import type { Driver, SqlSession } from '../database/driver.ts'
import type { Row } from '../database/statement.ts'
import { hasTable, type RunText } from '../database/tables.ts'
import { queuePlans } from '../generated/queue-sql.ts'
import { queueOptions, queueTokens, submitQueue } from './queue.ts'

/** Version of pg-boss's own schema that this release was tested with. */
export const queueSchemaVersion = 43

/** Columns of pg-boss's job table that our SQL names. */
const jobColumns = [
  'id',
  'name',
  'priority',
  'state',
  'policy',
  'blocked',
  'retry_count',
  'retry_limit',
  'expire_seconds',
  'heartbeat_seconds',
  'heartbeat_on',
  'keep_until',
  'created_on',
  'start_after',
  'started_on',
  'completed_on',
] as const

/** SQL text that creates pg-boss's schema, for a database that has none. */
export function queueInstallSql(queueSchema: string): string {
  // pg-boss refuses longer ones, when workers start.
  if (queueSchema.length > 50)
    throw new Error(`queueSchema has at most 50 characters; "${queueSchema}" has ${queueSchema.length}.`)
  return queuePlans.replaceAll('{{queue_schema}}', queueSchema)
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

/** True where pg-boss's schema is there. */
export const isQueueInstalled = (session: SqlSession, queueSchema: string): Promise<boolean> =>
  hasTable((text, values) => session.query(text, values), `"${queueSchema}".version`)

/** True where the queue is there with all that {@link queueCreateSql} and {@link queueTrimSql} do. */
export async function isQueueReady(session: SqlSession, queueSchema: string): Promise<boolean> {
  if (!(await isQueueInstalled(session, queueSchema))) return false
  const { queue_table: table, queue_info: queues } = queueTokens(queueSchema)
  const { rows } = await session.query(`select exists (select 1 from ${queues} q where q.name = '${submitQueue}')
    and not exists (select 1 from pg_constraint
      where conrelid = to_regclass('${table}') and (contype = 'f' or conname = 'cjc'))
    and not exists (select 1 from pg_index i join pg_class c on c.oid = i.indexrelid
      where i.indrelid = to_regclass('${table}') and c.relname ~ '_i(4|7|9|12)$') as ready`)
  return rows[0]?.['ready'] === true
}

/** What pg-boss's schema has: its version, null when there is none, and whether our queue is in it. */
export async function readQueueState<Tx>(
  driver: Driver<Tx>,
  queueSchema: string,
): Promise<{ readonly version: number | null; readonly exists: boolean }> {
  const run: RunText = (text, values) => driver.run(text, values)
  const exists = await hasTable(run, queueTokens(queueSchema)['queue_table'] ?? '')
  if (!(await hasTable(run, `"${queueSchema}".version`))) return { version: null, exists }
  const version = await readVersion(run, queueSchema)
  return { version: typeof version === 'number' ? version : null, exists }
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
  const version = Number(await readVersion((text, values) => driver.run(text, values), queueSchema))
  if (version !== queueSchemaVersion || missing.length > 0) {
    throw new OutlayError(
      'queue_version_untested',
      `The queue in "${queueSchema}" has version ${version}${missing.length > 0 ? ` without ${missing.join(', ')}` : ''}, and this release was tested with version ${queueSchemaVersion} only; install the pg-boss version that this package pins, or give the engine a schema of its own.`,
    )
  }
}

async function readVersion(run: RunText, queueSchema: string): Promise<unknown> {
  return (await run(`select version from "${queueSchema}".version`)).rows[0]?.['version']
}
