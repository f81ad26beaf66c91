import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { type Row, statements } from '../database/statement.ts'
import type { DatabaseNames } from '../schema/database-names.ts'

/** Somebody who holds a lock on tables of the engine behind which its writes wait, or waits for one with all others behind. */
export interface TableLock {
  /** Process of the server; null for a prepared transaction. */
  readonly pid: number | null
  /** Global id of a prepared transaction; null for a process. */
  readonly gid: string | null
  /** Program, user and state, as far as they may be read. */
  readonly detail: string
  /** Such as `AccessExclusiveLock`, for which readers wait too. */
  readonly mode: string
  /** False when it waits for the lock itself. */
  readonly granted: boolean
  /** Whom it waits for. */
  readonly blockedBy: readonly number[]
  /** Tables and views, with their schemas. */
  readonly tables: readonly string[]
  /** Age of its transaction, in milliseconds; null when that may not be read. */
  readonly ageMs: number | null
}

const texts = {
  // Reads the lock table and the catalogs alone, so it waits for nobody who has a table of the engine.
  table_locks: `select l.pid, p.gid,
      coalesce(concat_ws(', ', nullif(s.application_name, ''), coalesce(s.usename, p.owner), s.state), '') as detail,
      l.mode, l.granted, to_jsonb(case when not l.granted then pg_blocking_pids(l.pid) else '{}' end) as blocked_by,
      (array_agg(distinct format('%s.%s', n.nspname, c.relname)))[1:5] as tables,
      round(extract(epoch from clock_timestamp() - coalesce(s.xact_start, p.prepared)) * 1000)::float8 as age_ms
    from pg_locks l join pg_class c on c.oid = l.relation join pg_namespace n on n.oid = c.relnamespace
    left join pg_stat_activity s on s.pid = l.pid
    left join pg_prepared_xacts p on l.pid is null and l.virtualtransaction like '%/' || p.transaction::text
    where l.locktype = 'relation' and l.database = (select d.oid from pg_database d where d.datname = current_database())
      and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
      and n.nspname = any (array[$1, $2]) and c.relkind in ('r', 'p', 'v') and l.pid is distinct from pg_backend_pid()
    group by l.pid, p.gid, s.application_name, s.usename, p.owner, s.state, l.mode, l.granted, s.xact_start, p.prepared
    order by l.granted desc, age_ms desc nulls last, l.pid limit 20`,
} as const

/** Makes the read of who locks whole tables. */
export function createLockRead<Tx>(driver: Driver<Tx>, { schema, queueSchema, tokens }: DatabaseNames) {
  const sql = statements(tokens, texts)
  return {
    /** Who holds a lock on whole tables of the engine or its queue, or waits for one. Waits for none of them. */
    async locks(): Promise<readonly TableLock[]> {
      return (await driver.query(sql.table_locks, [schema, queueSchema])).map(readLock)
    },
  }
}

const readLock: (row: Row) => TableLock = rowDecoder('lock', {
  pid: Column.nullable(Column.integer),
  gid: Column.nullable(Column.text),
  detail: Column.text,
  mode: Column.text,
  granted: Column.boolean,
  blockedBy: Column.json<readonly number[]>(),
  tables: Column.texts,
  ageMs: Column.nullable(Column.number),
})
