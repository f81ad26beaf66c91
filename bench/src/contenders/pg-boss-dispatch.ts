import { PgBoss } from 'pg-boss'
import { openDatabase } from '../database.ts'
import type { DispatchWorker } from '../dispatch-worker.ts'
import { sampleTransfer } from '../sample-transfer.ts'

const queue = 'transfer'
const insertSize = 2_000

/** The layout of the slots of `boss.work`. */
export interface WorkShape {
  /** Loops that fetch side by side: `localConcurrency`. */
  readonly loops: number
  /** Jobs of one fetch; a loop waits for the slowest before it fetches again: `batchSize`. */
  readonly batch: number
}

interface Payload {
  readonly idempotencyKey: string
}

/**
 * pg-boss's own `work()`. The shortest polling interval, and its burst modes on, so that no loop pauses while there
 * is a backlog: without them every loop starts at most one batch per polling interval.
 */
export async function openPgBossDispatch(serverUrl: string, shape: WorkShape): Promise<DispatchWorker> {
  const { loops, batch } = shape
  const database = await openDatabase(serverUrl, `bench_boss_work_${loops}x${batch}`, 20)
  const makeBoss = async () => {
    const boss = new PgBoss({
      db: { executeSql: (text, values) => database.pool.query(text, values) },
      schema: 'boss',
      schedule: false,
      supervise: true,
      superviseIntervalSeconds: 5,
      monitorIntervalSeconds: 5,
      queueCacheIntervalSeconds: 1,
    })
    boss.on('error', (error) => process.stderr.write(`${error.message}\n`))
    await boss.start()
    return boss
  }
  const sender = await makeBoss()
  await sender.createQueue(queue, { policy: 'standard', partition: true, heartbeatSeconds: 10 })
  await sender.stop({ graceful: false, close: false })
  let running: PgBoss | undefined
  return {
    name: `work ${loops}×${batch}`,
    database,
    async fill(latenciesMs) {
      await database.admin.query(`delete from boss.job`)
      const boss = await makeBoss()
      for (let from = 0; from < latenciesMs.length; from += insertSize) {
        const jobs = latenciesMs
          .slice(from, from + insertSize)
          .map((_, index) => ({ data: sampleTransfer(from + index) }))
        await boss.insert(queue, jobs)
      }
      await boss.supervise(queue)
      await boss.stop({ graceful: false, close: false })
    },
    async start(handle) {
      running = await makeBoss()
      const bursts = batch > 1 ? { burstWhenBatchFull: true } : { burstWhenReadyExceeds: 1 }
      const options = { localConcurrency: loops, batchSize: batch, pollingIntervalSeconds: 0.5, ...bursts }
      await running.work<Payload>(queue, options, async (jobs) => {
        await Promise.all(jobs.map((job) => handle(Number(job.data.idempotencyKey.slice('invoice-'.length)))))
      })
    },
    stop: async () => running?.stop({ graceful: true, timeout: 30_000, close: false }),
    async countDone() {
      return {
        done: await database.count(`select count(*) from boss.job where state = 'completed'`),
        repeated: await database.count('select count(*) from boss.job where retry_count > 0'),
      }
    },
    close: () => database.close(),
  }
}
