import { readFile } from 'node:fs/promises'
import type { Client } from 'pg'

/** Length of one tick of the kernel's process clock, in microseconds; the same on every Linux that Node runs on. */
export const tickUs = 10_000

/**
 * Processor time that the sessions of this database have used so far, in microseconds; null where it cannot be read: the
 * server is on another machine, or this one is no Linux. Unlike a rate it says little about what else the machine does.
 */
export async function readServerTimeUs(admin: Pick<Client, 'query'>): Promise<number | null> {
  if (process.platform !== 'linux') return null
  const { rows } = await admin.query<{ pid: number; local: boolean }>(
    `select pid, coalesce(host(inet_server_addr()) in ('127.0.0.1', '::1'), true) as local from pg_stat_activity
     where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`,
  )
  if (rows.some(({ local }) => !local)) return null
  const times = await Promise.all(
    rows.map(({ pid }) => readFile(`/proc/${pid}/stat`, 'utf8').then(parseTicks, () => null)),
  )
  // A server in a container has its own process ids, and another program's process must not count as a session.
  if (times.some((ticks) => ticks === null)) return null
  return times.reduce<number>((sum, ticks) => sum + (ticks ?? 0), 0) * tickUs
}

/** User and system time in a line of `/proc/<pid>/stat`, in ticks; null unless the process is a Postgres. */
export function parseTicks(stat: string): number | null {
  const end = stat.lastIndexOf(')')
  if (!stat.slice(0, end).includes('(postgres')) return null
  const fields = stat.slice(end + 2).split(' ')
  const ticks = Number(fields[11]) + Number(fields[12])
  return Number.isFinite(ticks) ? ticks : null
}
