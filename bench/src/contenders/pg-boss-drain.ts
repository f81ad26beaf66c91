import { type Job, PgBoss } from 'pg-boss'
import { openDatabase } from '../database.ts'
import type { Drainer, DrainShape } from '../drainer.ts'

const queue = 'empty'
const insertSize = 5_000

/** pg-boss without a handler: fetches a batch, completes it, fetches the next. */
export async function openPgBossDrain(serverUrl: string, { loops, batch }: DrainShape): Promise<Drainer> {
  const database = await openDatabase(serverUrl, `bench_boss_drain_${loops}x${batch}`, 20)
  const boss = new PgBoss({
    db: { executeSql: (text, values) => database.pool.query(text, values) },
    schema: 'boss',
    schedule: false,
    supervise: false,
  })
  boss.on('error', (error) => process.stderr.write(`${error.message}\n`))
  await boss.start()
  await boss.createQueue(queue, { policy: 'standard', partition: true })
  const drainOne = async (onJob: (job: Job<unknown>) => void) => {
    for (;;) {
      const jobs = await boss.fetch(queue, { batchSize: batch })
      if (jobs.length === 0) return
      for (const job of jobs) onJob(job)
      await boss.complete(
        queue,
        jobs.map((job) => job.id),
      )
    }
  }
  return {
    name: `pg-boss fetch ${batch} + complete, ${loops === 1 ? '1 loop' : `${loops} loops`}`,
    database,
    async fill(count: number) {
      await database.admin.query('delete from boss.job')
      for (let from = 0; from < count; from += insertSize) {
        await boss.insert(
          queue,
          Array.from({ length: Math.min(insertSize, count - from) }, () => ({})),
        )
      }
    },
    async drain() {
      const ids = new Set<string>()
      await Promise.all(Array.from({ length: loops }, () => drainOne(({ id }) => void ids.add(id))))
      return ids.size
    },
    countDone: () => database.count(`select count(*) from boss.job where state = 'completed' and retry_count = 0`),
    close: async () => {
      await boss.stop({ graceful: false, close: false })
      await database.close()
    },
  }
}
