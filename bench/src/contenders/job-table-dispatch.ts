import { setTimeout as sleep } from 'node:timers/promises'
import type { EnqueueRequest } from '@outlay/core'
import { openDatabase } from '../database.ts'
import type { DispatchWorker } from '../dispatch-worker.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import { createJobTable } from './job-table.ts'
import { numberOf } from './outlay-stage.ts'

/** Pause of a slot that has found nothing, in milliseconds. */
const idleMs = 50

const claim = {
  name: 'claim_job',
  text: `update jobs set status = 'active', attempts = attempts + 1, updated_at = now()
    where id = (select id from jobs where status = 'pending' order by id limit 1 for update skip locked)
    returning id, payload`,
}

const finish = {
  name: 'finish_job',
  text: `update jobs set status = 'done', updated_at = now() where id = $1`,
}

interface Job {
  readonly id: string
  readonly payload: EnqueueRequest & { readonly idempotencyKey: string }
}

/** One table without a library: each slot claims one pending job with `skip locked`, handles it, marks it done, and claims the next. */
export async function openJobTableDispatch(serverUrl: string, inFlight: number): Promise<DispatchWorker> {
  const database = await openDatabase(serverUrl, 'bench_job_table_dispatch', 20)
  await createJobTable(database.admin)
  let stopping = false
  let running: Promise<unknown> = Promise.resolve()
  const workSlot = async (handle: (job: number) => Promise<void>) => {
    while (!stopping) {
      const { rows } = await database.pool.query<Job>(claim)
      const [job] = rows
      if (job === undefined) {
        await sleep(idleMs)
        continue
      }
      await handle(numberOf(job.payload.idempotencyKey))
      await database.pool.query({ ...finish, values: [job.id] })
    }
  }
  return {
    name: 'one table, SKIP LOCKED',
    database,
    async fill(latenciesMs) {
      await database.admin.query('truncate jobs')
      await database.admin.query(
        'insert into jobs (payload) select p.payload from jsonb_array_elements($1) with ordinality as p (payload, n) order by p.n',
        [JSON.stringify(latenciesMs.map((_, n) => sampleTransfer(n)))],
      )
    },
    async start(handle) {
      stopping = false
      running = Promise.all(Array.from({ length: inFlight }, () => workSlot(handle)))
    },
    async stop() {
      stopping = true
      await running
    },
    countDone: async () => ({
      done: await database.count(`select count(*) from jobs where status = 'done'`),
      repeated: await database.count('select count(*) from jobs where attempts > 1'),
    }),
    close: () => database.close(),
  }
}
