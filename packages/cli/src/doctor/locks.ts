import type { TableLock } from '@outlay/adapters-pg'
import { formatDuration } from '../output/duration.ts'
import { type Finding, serious } from './finding.ts'

/** A lock that a migration holds is shorter, in milliseconds. */
const longMs = 5_000

/** Finds locks of whole tables that have been held, or waited for, for long: payments wait for them. */
export const diagnoseLocks = (locks: readonly TableLock[]): readonly Finding[] =>
  locks.filter(({ ageMs }) => ageMs === null || ageMs >= longMs).map(describeLock)

/** Names who keeps the doctor from reading, as far as that is known. */
export function diagnoseUnchecked(locks: readonly TableLock[]): readonly Finding[] {
  const unread =
    'The rest could not be checked within five seconds, since another session has something locked that it needs.'
  const cure =
    locks.length === 0 ? 'Run it again; "pg_locks" in psql shows locks.' : 'End what holds the lock, and run it again.'
  return [...locks.map(describeLock), serious('not_checked', unread, cure)]
}

function describeLock({ pid, gid, detail, mode, granted, blockedBy, tables, ageMs }: TableLock): Finding {
  const who = pid === null ? `The prepared transaction "${gid ?? 'not known'}"` : `Process ${pid}`
  const age = ageMs === null ? '' : `open for ${formatDuration(ageMs)}`
  const notes = [detail, age].filter((note) => note !== '').join(', ')
  const others = mode === 'AccessExclusiveLock' ? 'Everybody else waits, readers too' : 'Whoever writes there waits'
  const names = tables.join(', ')
  const does = granted
    ? `has locked ${names}`
    : `waits to lock ${names}${blockedBy.length === 0 ? '' : ` for process ${blockedBy.join(', ')}`}`
  return serious(
    'table_locked',
    `${who}${notes === '' ? '' : ` (${notes})`} ${does} (${mode}). ${others}.`,
    cureOf(pid, gid),
  )
}

function cureOf(pid: number | null, gid: string | null): string {
  const end = pid === null ? `rollback prepared '${gid ?? '…'}'` : `select pg_terminate_backend(${pid})`
  return `Let it end, or end it: "${end}" in psql; its transaction is rolled back.`
}
