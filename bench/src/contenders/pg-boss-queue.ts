import type { Pool } from 'pg'
import { PgBoss } from 'pg-boss'
import { createHostTable } from '../enqueue-host.ts'
import { openQueueDatabase } from '../queue-database.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import { type JobQueue, leaseSeconds, workerConnections } from './job-queue.ts'
import { numberOf } from './outlay-stage.ts'

const queue = 'transfer'

/** The layout of a hundred slots that dispatches most under a heavy tail: loops × batch. */
const shape = { loops: 50, batch: 2 } as const

/** Often enough that no job fails for good because its worker lost a connection. */
const retryLimit = 1_000

interface Payload {
  readonly idempotencyKey: string
}

/** pg-boss's own `work()` with its shortest polling interval, its burst modes and heartbeats. Done jobs stay, as they do by default. */
export async function openPgBossQueue(serverUrl: string, workload: string): Promise<JobQueue> {
  const database = await openQueueDatabase(serverUrl, `bench_${workload}_boss`, workerConnections)
  const makeBoss = async (pool: Pool, supervise: boolean) => {
    const boss = new PgBoss({
      db: { executeSql: (text, values) => pool.query(text, values) },
      schema: 'boss',
      schedule: false,
      supervise,
      superviseIntervalSeconds: 5,
      monitorIntervalSeconds: 5,
      queueCacheIntervalSeconds: 1,
    })
    // It goes on after each of them: connections are lost here.
    boss.on('error', () => undefined)
    await boss.start()
    return boss
  }
  await createHostTable(database.admin)
  const sender = await makeBoss(database.host, false)
  await sender.createQueue(queue, { policy: 'standard', partition: true, heartbeatSeconds: leaseSeconds, retryLimit })
  await sender.getQueue(queue)
  let running: PgBoss | undefined
  return {
    name: `work ${shape.loops}×${shape.batch}`,
    database,
    async send(client, numbers) {
      const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values ?? []) }
      const [first = 0, ...more] = numbers
      if (more.length > 0) {
        return sender.insert(
          queue,
          numbers.map((n) => ({ data: sampleTransfer(n) })),
          { db },
        )
      }
      if ((await sender.send(queue, sampleTransfer(first), { db })) === null) throw new Error('boss.send sent nothing.')
    },
    async start(handle) {
      running = await makeBoss(database.worker, true)
      const options = { localConcurrency: shape.loops, batchSize: shape.batch, pollingIntervalSeconds: 0.5 }
      await running.work<Payload>(queue, { ...options, burstWhenBatchFull: true }, async (jobs) => {
        await Promise.all(jobs.map((job) => handle(numberOf(job.data.idempotencyKey))))
      })
    },
    stop: async () => running?.stop({ graceful: true, timeout: 30_000, close: false }),
    countOpen: () => database.count(`select count(*) from boss.job where state < 'completed'`),
    async empty() {
      await sender.deleteAllJobs(queue)
    },
    tables: `c.relnamespace = 'boss'::regnamespace`,
    keepsAll: false,
    async close() {
      await sender.stop({ graceful: false, close: false })
      await database.close()
    },
  }
}
