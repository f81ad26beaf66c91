import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import { createHostTable } from '../enqueue-host.ts'
import { openQueueDatabase } from '../queue-database.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import { type JobQueue, leaseSeconds, slots, workerConnections } from './job-queue.ts'
import { numberOf } from './outlay-stage.ts'

/** Pauses of the loops, in milliseconds: while the queue is empty, while few slots are free, after an error, and of the reaper. */
const pauseMs = { empty: 50, busy: 3, failed: 100, reaper: 1_000 } as const

/** Free slots that are worth a fetch. */
const worthFetching = slots / 10

const createTable = `
  create table job (
    id bigint generated always as identity primary key,
    status text not null default 'queued' check (status in ('queued', 'running')),
    locked_at timestamptz,
    payload jsonb not null
  );
  create index job_queued on job (id) where status = 'queued';
  create index job_running on job (locked_at) where status = 'running'`

const insert = {
  name: 'insert_jobs',
  text: 'insert into job (payload) select p from jsonb_array_elements($1::jsonb) p',
}

const fetch = {
  name: 'fetch_jobs',
  text: `update job set status = 'running', locked_at = clock_timestamp()
    where id = any (array(select id from job where status = 'queued' order by id limit $1 for update skip locked))
    returning id, payload ->> 'idempotencyKey' as key`,
}

const finish = { name: 'finish_job', text: 'delete from job where id = $1' }

const reap = {
  name: 'reap_jobs',
  text: `update job set status = 'queued', locked_at = null
    where status = 'running' and locked_at < clock_timestamp() - $1 * interval '1 second'`,
}

/**
 * A queue as many teams write it themselves: one table with a status, a fetch by `skip locked`, and a reaper of old locks. With
 * care: it fetches for many slots at once, repeats what fails with a connection, and deletes what is done.
 */
export async function openSkipLockedQueue(serverUrl: string, workload: string): Promise<JobQueue> {
  const database = await openQueueDatabase(serverUrl, `bench_${workload}_skip_locked`, workerConnections)
  await createHostTable(database.admin)
  await database.admin.query(createTable)
  let running: SkipLockedWorker | undefined
  return {
    name: 'one table, SKIP LOCKED',
    database,
    send: (client, numbers) => client.query({ ...insert, values: [JSON.stringify(numbers.map(sampleTransfer))] }),
    async start(handle) {
      running = startWorker(database.worker, handle)
    },
    stop: async () => running?.stop(),
    countOpen: () => database.count('select count(*) from job'),
    empty: async () => void (await database.admin.query('truncate job')),
    tables: `c.oid = 'job'::regclass`,
    keepsAll: false,
    close: () => database.close(),
  }
}

interface SkipLockedWorker {
  stop(): Promise<void>
}

function startWorker(pool: Pool, handle: (n: number) => Promise<void>): SkipLockedWorker {
  const underWay = new Set<Promise<void>>()
  let stopped = false
  const work = async ({ id, key }: FetchedRow) => {
    await handle(numberOf(key))
    await untilDone(() => pool.query({ ...finish, values: [id] }))
  }
  const loop = async (turn: () => Promise<number>) => {
    while (!stopped) await sleep(await turn().catch(() => pauseMs.failed))
  }
  const fetching = loop(async () => {
    const free = slots - underWay.size
    if (free < worthFetching) return pauseMs.busy
    const { rows } = await pool.query<FetchedRow>({ ...fetch, values: [free] })
    for (const row of rows) {
      const done = work(row).finally(() => underWay.delete(done))
      underWay.add(done)
    }
    return rows.length === 0 ? pauseMs.empty : pauseMs.busy
  })
  const reaping = loop(async () => {
    await pool.query({ ...reap, values: [leaseSeconds] })
    return pauseMs.reaper
  })
  return {
    async stop() {
      stopped = true
      await Promise.all([fetching, reaping])
      await Promise.all(underWay)
    },
  }
}

interface FetchedRow {
  readonly id: string
  readonly key: string
}

async function untilDone(work: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await work()
      return
    } catch {
      await sleep(pauseMs.failed)
    }
  }
}
