import { readFile } from 'node:fs/promises'
import type { Pool } from 'pg'
import { quantile } from '../site/quantile.ts'
import type { Site } from '../site/site.ts'

/** How things stand at one moment. Every member is a number by name, so that two samples can be compared. */
export interface Sample {
  /** Since everything runs, in milliseconds. */
  readonly atMs: number
  /** Payouts that were written so far. */
  readonly payouts: number
  /** Resident memory of each process, in bytes. Empty where the system does not report it. */
  readonly memory: Readonly<Record<string, number>>
  /** Table with its indexes and what it keeps aside, in bytes. */
  readonly tables: Readonly<Record<string, number>>
  /** Rows that are dead and not yet cleared away, by table. */
  readonly deadRows: Readonly<Record<string, number>>
  /** Of what happened since the sample before, in milliseconds; absent where nothing happened. */
  readonly latencies: Readonly<Record<string, number>>
}

/** Takes a sample. `sinceMs` is the time of the previous one, by the clock of this machine. */
export async function measure(site: Site, beganMs: number, sinceMs: number): Promise<Sample> {
  const [payouts, memory, host, service, polled] = await Promise.all([
    site.host.query<{ readonly count: number }>('select count(*)::integer as count from payout'),
    readMemory(site),
    readTables(site.host),
    readTables(site.service),
    readLatencies(site.host, new Date(sinceMs)),
  ])
  const tables = [...host, ...service]
  return {
    atMs: Date.now() - beganMs,
    payouts: payouts.rows[0]?.count ?? 0,
    memory,
    tables: Object.fromEntries(tables.map(({ name, bytes }) => [name, bytes])),
    deadRows: Object.fromEntries(tables.map(({ name, dead }) => [name, dead])),
    latencies: withoutHoles({
      ...halfAndMost('host transaction', site.promises.tookMs.splice(0)),
      ...polled,
    }),
  }
}

/** Reads from Linux's own files how much memory the processes use. */
async function readMemory(site: Site): Promise<Readonly<Record<string, number>>> {
  const programs = [site.provider, ...site.workers.map(({ program }) => program), ...site.writers]
  const read = programs.map(async ({ name, pid }) => {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
    return [name, Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024] as const
  })
  return Object.fromEntries((await Promise.all(read)).filter(([, bytes]) => Number.isFinite(bytes)))
}

interface TableSize {
  readonly name: string
  readonly bytes: number
  readonly dead: number
}

/** Every table of a database that Outlay, its queue or the host has made. */
async function readTables(pool: Pool): Promise<readonly TableSize[]> {
  const { rows } = await pool.query<TableSize>(
    `select schemaname || '.' || relname as name, pg_total_relation_size(relid)::float8 as bytes, n_dead_tup::float8 as dead
     from pg_stat_user_tables`,
  )
  // The queue names its tables by a hash; there is one that counts.
  return rows.map((row) => ({ ...row, name: row.name.replace(/\.j[0-9a-f]{56}$/, '.job of submit') }))
}

/** From the enqueue until the service took a transfer on, and until it was over; of those to which that happened since. */
async function readLatencies(pool: Pool, since: Date): Promise<Readonly<Record<string, number | undefined>>> {
  const accepted = await pool.query<{ readonly ms: number }>(
    `select extract(epoch from a.answered_at - t.created_at)::float8 * 1000 as ms
     from outlay.attempt a join outlay.transfer t on t.id = a.transfer_id
     where a.answered_at > $1 and a.outcome = 'accepted'`,
    [since],
  )
  const settled = await pool.query<{ readonly ms: number }>(
    `select extract(epoch from updated_at - created_at)::float8 * 1000 as ms from outlay.transfer
     where updated_at > $1 and stage = 'settled' and archive_page is null`,
    [since],
  )
  return {
    ...halfAndMost(
      'enqueue to accepted',
      accepted.rows.map(({ ms }) => ms),
    ),
    ...halfAndMost(
      'enqueue to settled',
      settled.rows.map(({ ms }) => ms),
    ),
  }
}

const halfAndMost = (name: string, values: readonly number[]): Record<string, number | undefined> => ({
  [`${name}, p50`]: quantile(values, 0.5),
  [`${name}, p99`]: quantile(values, 0.99),
})

const withoutHoles = (record: Readonly<Record<string, number | undefined>>): Record<string, number> =>
  Object.fromEntries(Object.entries(record).filter((entry): entry is [string, number] => entry[1] !== undefined))
