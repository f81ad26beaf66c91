import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import type { Measurement } from './measurement.ts'

/** Pause between two samples, in milliseconds. */
const pauseMs = 10

/** What sessions wait for, by the name that a table gives it. What none of these names is counted under `other waits`. */
const kinds: Readonly<Record<string, RegExp>> = {
  running: /^$/,
  // The one that flushes, and those whose commit it flushes with its own.
  'commit flush': /^(IO:Wal(Sync|Write)|LWLock:WALWrite)$/,
  'WAL insert': /^LWLock:WALInsert$/,
  'page latch': /^(LWLock:Buffer(Content|Mapping)|Buffer.*)$/,
  'row or table lock': /^Lock:(transactionid|tuple|relation|extend|page|virtualxid)$/,
  // pg_notify holds one lock of the whole server until its commit.
  'notification lock': /^(Lock:object|LWLock:Notify.*)$/,
}

/** The mean number of sessions in so many samples, by the kind of what they wait for. */
export function groupWaits(counts: ReadonlyMap<string, number>, samples: number): Readonly<Record<string, number>> {
  const sums = Object.fromEntries([...Object.keys(kinds), 'other waits'].map((name) => [name, 0]))
  for (const [event, count] of counts) {
    const name = Object.keys(kinds).find((kind) => kinds[kind]?.test(event)) ?? 'other waits'
    sums[name] = (sums[name] ?? 0) + count / Math.max(1, samples)
  }
  return sums
}

/**
 * Samples what the active sessions of a database wait for during a measurement. Adds the mean number of sessions for each kind of
 * wait, and the transactions for each flush of the write-ahead log, to its figures. Needs PostgreSQL 18, which counts the flushes.
 */
export async function sampleWaits(databaseUrl: string, measured: () => Promise<Measurement>): Promise<Measurement> {
  const client = new Client({ connectionString: databaseUrl, application_name: 'sampler' })
  await client.connect()
  const ending = new AbortController()
  const counts = new Map<string, number>()
  let samples = 0
  const sampling = (async () => {
    while (!ending.signal.aborted) {
      const { rows } = await client.query<{ event: string; sessions: number }>(sampleSql)
      for (const { event, sessions } of rows) counts.set(event, (counts.get(event) ?? 0) + sessions)
      samples += 1
      await sleep(pauseMs, undefined, { signal: ending.signal }).catch(() => undefined)
    }
  })()
  try {
    const before = await readFlushes(client)
    const measurement = await measured()
    ending.abort()
    await sampling
    const after = await readFlushes(client)
    const figures = {
      ...groupWaits(counts, samples),
      'commits per flush': (after.commits - before.commits) / (after.flushes - before.flushes),
    }
    return { ...measurement, figures: { ...measurement.figures, ...figures } }
  } finally {
    ending.abort()
    await sampling.catch(() => undefined)
    await client.end()
  }
}

const sampleSql = {
  name: 'sample_waits',
  text: `select coalesce(a.wait_event_type || ':' || a.wait_event, '') as event, count(*)::integer as sessions
    from pg_stat_activity a
    where a.datname = current_database() and a.backend_type = 'client backend' and a.state = 'active' and a.pid <> pg_backend_pid()
    group by 1`,
}

/** Commits of this database, and flushes of the log by all; sessions report both within a second. */
async function readFlushes(client: Client): Promise<{ readonly commits: number; readonly flushes: number }> {
  await sleep(1_100)
  const { rows } = await client.query<{ commits: string; flushes: string }>(
    `select d.xact_commit as commits,
       (select sum(i.fsyncs) from pg_stat_io i where i.object = 'wal' and i.backend_type = 'client backend') as flushes
     from pg_stat_database d where d.datname = current_database()`,
  )
  return { commits: Number(rows[0]?.commits), flushes: Number(rows[0]?.flushes) }
}
