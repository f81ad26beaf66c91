import type { PoolClient } from 'pg'
import { PgBoss } from 'pg-boss'
import type { Database } from '../database.ts'
import type { Drainer, DrainShape } from '../drainer.ts'
import { type DrainQueue, openRecordedDrain } from './recorded-drain.ts'
import { beginTransfers, recordAccepted } from './transfer-records.ts'

const queue = 'transfer'
const insertSize = 5_000

interface Payload {
  readonly id: string
}

/**
 * pg-boss with a handler that records what it sends. Two transactions a batch: one fetches its jobs, claims their transfers and writes
 * their attempts before the requests leave; the other writes the answers with their events, and completes the jobs.
 */
export const openPgBossRecordsDrain = (serverUrl: string, { loops, batch }: DrainShape): Promise<Drainer> =>
  openRecordedDrain(
    serverUrl,
    { name: 'pg-boss with records', database: 'bench_boss_records_drain', loops },
    (database) => openQueue(database, batch),
  )

async function openQueue(database: Database, batch: number): Promise<DrainQueue> {
  const boss = new PgBoss({
    db: { executeSql: (text, values) => database.pool.query(text, values) },
    schema: 'boss',
    schedule: false,
    supervise: false,
  })
  boss.on('error', (error) => process.stderr.write(`${error.message}\n`))
  await boss.start()
  await boss.createQueue(queue, { policy: 'standard', partition: true })
  const fetchAndBegin = async (client: PoolClient) => {
    const jobs = await boss.fetch<Payload>(queue, { batchSize: batch, db: executorOf(client) })
    const ids = jobs.map(({ data }) => data.id)
    return { jobs: jobs.map(({ id }) => id), begun: ids.length === 0 ? [] : await beginTransfers(client, ids) }
  }
  return {
    async fill() {
      await database.admin.query('delete from boss.job')
      const { rows } = await database.admin.query<Payload>('select id from outlay.transfer order by id')
      for (let from = 0; from < rows.length; from += insertSize) {
        const batchOfJobs = rows.slice(from, from + insertSize).map((data) => ({ data }))
        await boss.insert(queue, batchOfJobs)
      }
    },
    makeLoop: () => async (client, submit) => {
      for (;;) {
        await client.query('begin')
        const { jobs, begun } = await fetchAndBegin(client)
        await client.query('commit')
        if (jobs.length === 0) return
        const remoteIds = await submit(begun)
        await client.query('begin')
        await recordAccepted(client, begun, remoteIds)
        await boss.complete(queue, jobs, null, { db: executorOf(client) })
        await client.query('commit')
      }
    },
    async prove(done) {
      const completed = await database.count(
        `select count(*) from boss.job where state = 'completed' and retry_count = 0`,
      )
      if (completed !== done) throw new Error(`${completed} jobs are completed, ${done} transfers are submitted.`)
    },
    close: () => boss.stop({ graceful: false, close: false }),
  }
}

/** Lets pg-boss send its statements on a client. */
const executorOf = (client: PoolClient) => ({
  executeSql: (text: string, values?: unknown[]) => client.query(text, values),
})
