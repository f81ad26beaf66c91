import type { Client } from 'pg'
import { readServerTimeUs } from './server-time.ts'
import { quantile } from './spread.ts'

/** The result of one turn of one contender. */
export interface Measurement {
  readonly operations: number
  readonly elapsedMs: number
  readonly perSecond: number
  /** Processor time of the process that the statements come from, per operation, in microseconds. */
  readonly clientCpuUs: number
  /** Processor time of the server's sessions per operation, in microseconds; null where it cannot be read. */
  readonly serverCpuUs: number | null
  /** Write-ahead log per operation, in bytes. */
  readonly walBytes: number
  /** Transaction ids per operation: transactions and subtransactions that wrote. */
  readonly transactions: number
  /** Statements sent per operation. */
  readonly statements: number
  /** Half of the operations took less; null where the duration is given rather than measured. */
  readonly p50Ms: number | null
  /** 99 of a hundred took less; null likewise. */
  readonly p99Ms: number | null
  /** Additional figures of this workload, by name with its unit. */
  readonly figures?: Readonly<Record<string, number>> | undefined
}

/** Figures that every measurement has, by the names that tables and charts give them. */
const shared: Readonly<Record<string, (measurement: Measurement) => number | null>> = {
  'per second': (measurement) => measurement.perSecond,
  'server µs': (measurement) => measurement.serverCpuUs,
  'p50 ms': (measurement) => measurement.p50Ms,
  'p99 ms': (measurement) => measurement.p99Ms,
  'WAL bytes': (measurement) => measurement.walBytes,
  statements: (measurement) => measurement.statements,
}

/** One figure of a measurement by its name; `undefined` when it has none of that name. */
export function figureOf(measurement: Measurement, name: string): number | undefined {
  return measurement.figures?.[name] ?? shared[name]?.(measurement) ?? undefined
}

/** The usage of the server's client up to one moment. */
export interface ClientUsage {
  /** Processor time, in microseconds. */
  readonly cpuUs: number
  readonly statements: number
}

/** The counters at one moment. */
interface Reading extends ClientUsage {
  readonly atMs: number
  readonly walBytes: number
  readonly transactions: number
}

/** The result of a stretch of work. */
export interface Stretch {
  readonly operations: number
  /** How long each operation took, in milliseconds; null where that is given rather than measured. */
  readonly latenciesMs: readonly number[] | null
  /** Additional figures of this workload, by name with its unit. */
  readonly figures?: Readonly<Record<string, number>> | undefined
}

/** Usage of a contender that works in this process; `statements` counts what it sent so far. */
export function usageHere(statements: () => number): () => Promise<ClientUsage> {
  return async () => {
    const cpu = process.cpuUsage()
    return { cpuUs: cpu.user + cpu.system, statements: statements() }
  }
}

/** Measures a stretch of work. `admin` is a connection to the server; `usage` returns the usage of its client so far. */
export async function measure(
  admin: Pick<Client, 'query'>,
  usage: () => Promise<ClientUsage>,
  work: () => Promise<Stretch>,
): Promise<Measurement> {
  const serverUs = await readServerTimeUs(admin)
  const before = { ...(await read(admin, usage)), serverUs }
  const { operations, latenciesMs, figures } = await work()
  const after = { ...(await read(admin, usage)), serverUs: await readServerTimeUs(admin) }
  if (operations === 0) throw new Error('Nothing was done in a whole round.')
  const elapsedMs = after.atMs - before.atMs
  return {
    operations,
    elapsedMs,
    perSecond: (operations / elapsedMs) * 1000,
    clientCpuUs: (after.cpuUs - before.cpuUs) / operations,
    serverCpuUs:
      before.serverUs === null || after.serverUs === null ? null : (after.serverUs - before.serverUs) / operations,
    walBytes: (after.walBytes - before.walBytes) / operations,
    transactions: (after.transactions - before.transactions) / operations,
    statements: (after.statements - before.statements) / operations,
    p50Ms: latenciesMs && quantile(latenciesMs, 0.5),
    p99Ms: latenciesMs && quantile(latenciesMs, 0.99),
    ...(figures === undefined ? {} : { figures }),
  }
}

async function read(admin: Pick<Client, 'query'>, usage: () => Promise<ClientUsage>): Promise<Reading> {
  const { rows } = await admin.query<{ wal: string; xid: string }>(
    `select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as wal, pg_snapshot_xmax(pg_current_snapshot()) as xid`,
  )
  return {
    ...(await usage()),
    atMs: performance.now(),
    walBytes: Number(rows[0]?.wal),
    transactions: Number(rows[0]?.xid),
  }
}
