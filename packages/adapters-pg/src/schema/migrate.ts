import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { SqlSession } from '../database/driver.ts'
import { fillTokens } from '../database/statement.ts'
import { sqlFiles } from '../generated/sql.ts'
import { asOneTransaction, isConcurrent, runConcurrently } from './migrate-statements.ts'

/**
 * One file of SQL. Numbered ones are DDL: they run once and never change. Repeatable ones hold one function or view each, and
 * are replaced as a whole whenever they changed.
 */
export interface Migration {
  /** Path in its folder without the ending: `0001_baseline`, `functions/claim`. */
  readonly name: string
  /** SQL text with `{{tokens}}`. */
  readonly sql: string
  readonly repeatable: boolean
}

/** Makes migrations of files of SQL, given by their paths below `migrations/`, `functions/` and `views/`, in the order in which they run. */
export function toMigrations(files: Readonly<Record<string, string>>): readonly Migration[] {
  return Object.entries(files)
    .map(([file, sql]) => {
      const name = file.slice(0, -'.sql'.length).replace(/^migrations\//, '')
      return { name, sql, repeatable: !/^\d/.test(name) }
    })
    .sort((a, b) => rankOf(a) - rankOf(b) || (a.name < b.name ? -1 : 1))
}

/** The migrations of the engine's schema in this release. */
export const engineMigrations: readonly Migration[] = toMigrations(below(''))

/** The migrations of the directory of accounts in this release. */
export const directoryMigrations: readonly Migration[] = toMigrations(below('directory/'))

/** The files of SQL of a schema: those of the engine stand in no folder of their own. */
function below(folder: string): Readonly<Record<string, string>> {
  const files = Object.entries(sqlFiles).filter(([path]) =>
    folder === '' ? !/^(directory|optional)\//.test(path) : path.startsWith(folder),
  )
  return Object.fromEntries(files.map(([path, sql]) => [path.slice(folder.length), sql]))
}

/**
 * Keeps what a migration makes in this database alone, where Citus would repeat it on every node of its cluster. Without Citus nobody reads it.
 */
const localDdl = { begin: 'set citus.enable_ddl_propagation = off', end: 'reset citus.enable_ddl_propagation' }

/** The same around SQL text for the host's own migration tool, whose session goes on after it. */
export const asLocalDdl = (text: string): string => `${localDdl.begin};\n${text}\n${localDdl.end};\n`

/**
 * Functions of triggers come before the tables with those triggers. All others come after the tables, so that no worker runs a
 * function whose columns do not exist yet, and views come last. Bodies are checked when they run.
 */
function rankOf({ name, sql, repeatable }: Migration): number {
  if (!repeatable) return 1
  if (name.startsWith('views/')) return 3
  return /\breturns trigger\b/.test(sql) ? 0 : 2
}

/** Where and what to migrate. */
export interface MigrateOptions {
  /** Unquoted schema name. */
  readonly schema: string
  readonly migrations: readonly Migration[]
  /** Values of the tokens; `schema` is added. */
  readonly tokens?: Readonly<Record<string, string>> | undefined
  /** Called with the name of each migration before it runs. */
  readonly onStep?: ((name: string) => void) | undefined
  /** How long a migration tries to get the locks that it needs, in milliseconds. Default two minutes. */
  readonly patienceMs?: number | undefined
}

/**
 * Waits for one lock, in milliseconds: at first shorter than Postgres's `deadlock_timeout`, so that the migration gives way, then
 * longer and longer, for hosts whose transactions always last that long.
 */
const lockTimeoutMs = { first: 500, longest: 15_000 }

/** Pause between two tries, in milliseconds, in which transactions that waited behind the migration go on. */
const retryPauseMs = 250

const defaultPatienceMs = 120_000

/**
 * Applies the missing migrations, each in its own transaction or, where its file asks for it, statement by statement. Functions are made and
 * replaced in one transaction: workers go on with those of the earlier release, and one that calls another of this release finds it. It holds an
 * advisory lock, so that several processes may call it at once. The connection must not be in a transaction. Returns the
 * names of what ran.
 *
 * It may run while workers and hosts go on: a migration that does not get a lock within half a second releases all its locks
 * and tries again, a little longer each time, so that no transaction waits behind it for longer than others make it wait.
 *
 * Where a later release has migrated already, the repeatable migrations are that release's and do not change.
 * @throws Error when a numbered migration that has run was changed since.
 * @throws Error when a migration did not get its locks in time; it names the transactions that have been open longest.
 */
export async function applyMigrations(session: SqlSession, options: MigrateOptions): Promise<readonly string[]> {
  const { schema } = options
  // With nothing to do, neither the lock nor the right to create anything is needed.
  const known = await readApplied(session, schema)
  if (known !== undefined && findPending(known, options).length === 0) return []
  return withMigrationLock(session, schema, async () => {
    await session.query(bookkeepingSql(schema))
    const applied = (await readApplied(session, schema)) ?? new Map()
    const ran: string[] = []
    for (const step of splitIntoSteps(findPending(applied, options))) {
      for (const { name } of step) options.onStep?.(name)
      await runBesideOthers(session, step, options)
      ran.push(...step.map(({ name }) => name))
    }
    return ran
  })
}

/** Checksums of the migrations that have run, by name; undefined where none ever has. */
async function readApplied(session: SqlSession, schema: string): Promise<ReadonlyMap<unknown, unknown> | undefined> {
  const { rows: found } = await session.query('select to_regclass($1) as found', [`"${schema}".migration`])
  if (found[0]?.['found'] === null) return undefined
  const { rows } = await session.query(`select name, checksum from "${schema}".migration`)
  return new Map(rows.map((row) => [row['name'], row['checksum']]))
}

function findPending(
  applied: ReadonlyMap<unknown, unknown>,
  { schema, migrations }: MigrateOptions,
): readonly Migration[] {
  const isAhead = unknownNumbered(applied.keys(), migrations).length > 0
  const pending = migrations.filter((migration) => {
    if (applied.get(migration.name) === checksum(migration)) return false
    if (!applied.has(migration.name)) return true
    if (migration.repeatable) return !isAhead
    throw new Error(
      `The migration ${migration.name} has run in "${schema}" with another text; migrations never change.`,
    )
  })
  // What is replaced may call what is new, and hosts go on meanwhile.
  const isReplaced = (migration: Migration) => Number(rankOf(migration) === 2 && applied.has(migration.name))
  return pending.toSorted((a, b) => rankOf(a) - rankOf(b) || isReplaced(a) - isReplaced(b))
}

/** Migrations that run in one transaction: functions, which call each other, and every other one alone. */
type Step = readonly [Migration, ...Migration[]]

function splitIntoSteps(pending: readonly Migration[]): readonly Step[] {
  const steps: Step[] = []
  for (const migration of pending) {
    const last = steps.at(-1)
    if (last !== undefined && rankOf(migration) === 2 && rankOf(last[0]) === 2)
      steps.splice(-1, 1, [...last, migration])
    else steps.push([migration])
  }
  return steps
}

async function runBesideOthers(session: SqlSession, step: Step, options: MigrateOptions): Promise<void> {
  const patienceMs = options.patienceMs ?? defaultPatienceMs
  const [first] = step
  const run = async (lockTimeoutMs: number) => {
    if (!isConcurrent(first.sql)) {
      await session.query(inTransaction(step, options, `set local lock_timeout = ${lockTimeoutMs};`))
      return
    }
    // No transaction waits behind these statements, so they may wait without a limit.
    await session.query(`set lock_timeout = ${patienceMs}`)
    await runConcurrently(session, options.schema, fillTokens(first.sql, tokensOf(options)))
    await session.query(migrationText({ ...first, sql: '' }, options, checksum(first)))
  }
  await retryWhileLocked(session, `The migration ${first.name}`, run, patienceMs)
}

/**
 * Runs a function that locks, again and again with longer lock timeouts, until it gets its locks or `patienceMs` are over.
 * @throws Error when it did not; it names `what` and the transactions that have been open longest.
 */
export async function retryWhileLocked(
  session: SqlSession,
  what: string,
  run: (lockTimeoutMs: number) => Promise<unknown>,
  patienceMs = defaultPatienceMs,
): Promise<void> {
  const began = performance.now()
  for (let timeoutMs = lockTimeoutMs.first; ; timeoutMs = Math.min(timeoutMs * 2, lockTimeoutMs.longest)) {
    try {
      await run(timeoutMs)
      return
    } catch (error) {
      if (!isContention(error)) throw error
      await session.query('rollback')
      if (performance.now() - began > patienceMs) throw await contentionError(session, what, error)
      await delay(retryPauseMs)
    }
  }
}

/** Whether a statement failed for the locks of others: `lock_not_available` or `deadlock_detected`. */
const isContention = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === '55P03' || error.code === '40P01')

async function contentionError(session: SqlSession, what: string, cause: unknown): Promise<Error> {
  const { rows } = await session.query(
    `select pid, application_name, extract(epoch from now() - xact_start)::integer as seconds from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and xact_start < now() - interval '1 second'
     order by xact_start limit 5`,
  )
  const open = rows.map((row) => `process ${row['pid']} (${row['application_name'] || 'no name'}, ${row['seconds']} s)`)
  return new Error(
    `${what} did not get the locks that it needs. Transactions open longest: ${open.join(', ') || 'none now'}. End them, or migrate again at a quieter time.`,
    { cause },
  )
}

/** Numbered migrations that have run and that this release does not know: those of a later one. */
export function unknownNumbered(applied: Iterable<unknown>, migrations: readonly Migration[]): readonly string[] {
  const known = new Set(migrations.map((one) => one.name))
  return [...applied].map(String).filter((name) => /^\d/.test(name) && !known.has(name))
}

/** Runs `work` while no other process migrates the same schema. */
export async function withMigrationLock<T>(session: SqlSession, schema: string, work: () => Promise<T>): Promise<T> {
  const lock = lockKey(schema)
  const { rows } = await session.query(`select current_setting('lock_timeout') as limit`)
  // A statement that waits keeps an index from being built concurrently, so this does not wait within one.
  while (!(await tryLock(session, lock))) await delay(retryPauseMs)
  try {
    // The queue's own functions have backslashes in their texts, and a role or a database may read those as escapes.
    await session.query('set standard_conforming_strings = on')
    await session.query(localDdl.begin)
    return await work()
  } finally {
    await session.query('rollback')
    // The caller may have set a limit.
    await session.query(`select set_config('lock_timeout', $1, false)`, [rows[0]?.['limit']])
    await session.query(`reset standard_conforming_strings; ${localDdl.end}`)
    await session.query('select pg_advisory_unlock($1)', [lock])
  }
}

async function tryLock(session: SqlSession, lock: string): Promise<boolean> {
  const { rows } = await session.query('select pg_try_advisory_lock($1) as taken', [lock])
  return rows[0]?.['taken'] === true
}

/** All migrations as one SQL text, for the host's own migration tool and an empty database. */
export function migrationScript(options: MigrateOptions): string {
  return [
    bookkeepingSql(options.schema),
    ...options.migrations.map((one) =>
      migrationText({ ...one, sql: asOneTransaction(one.sql) }, options, checksum(one)),
    ),
  ].join('\n')
}

/** The guard keeps code that does not check whether it is behind from restoring its own functions. */
function bookkeepingSql(schema: string): string {
  return `create schema if not exists "${schema}";
create table if not exists "${schema}".migration (
  name text primary key, checksum text not null, applied_at timestamptz not null default now()
);
create or replace function "${schema}".guard_migration() returns trigger language plpgsql as $$
begin
  if current_setting('outlay.migrating', true) is distinct from 'yes' then
    raise exception 'A later release of Outlay has migrated the schema "${schema}"; only that release may migrate it.';
  end if;
  return new;
end
$$;
create or replace trigger guard_migration before insert or update on "${schema}".migration
for each row execute function "${schema}".guard_migration();
`
}

const tokensOf = (options: MigrateOptions) => ({ ...options.tokens, schema: `"${options.schema}"` })

const migrationText = (migration: Migration, options: MigrateOptions, sum: string): string =>
  inTransaction([migration], options, '', sum)

function inTransaction(step: Step, options: MigrateOptions, settings: string, sum?: string): string {
  const texts = step.map(
    (migration) => `${fillTokens(migration.sql, tokensOf(options))}
insert into "${options.schema}".migration (name, checksum) values ('${migration.name}', '${sum ?? checksum(migration)}')
  on conflict (name) do update set checksum = excluded.checksum, applied_at = now();
`,
  )
  return `begin;
set local outlay.migrating = 'yes';${step[0].repeatable ? ' set local check_function_bodies = off;' : ''}${settings}
${texts.join('')}commit;
`
}

/** The mark by which a change of a migration's text is noticed. */
export function checksum(migration: Migration): string {
  return createHash('sha256').update(migration.sql).digest('hex')
}

function lockKey(schema: string): string {
  return createHash('sha256').update(`outlay:${schema}`).digest().readBigInt64BE(0).toString()
}
