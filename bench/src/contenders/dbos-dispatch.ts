import { DBOS } from '@dbos-inc/dbos-sdk'
import type { EnqueueRequest } from '@outlay/core'
import { inTransaction, openDatabase } from '../database.ts'
import type { DispatchWorker } from '../dispatch-worker.ts'
import { configureDbos, createDbosClient, dbosQueue, dbosWorkflow, migrateDbos, workflowFor } from './dbos.ts'
import { numberOf } from './outlay-stage.ts'

/** Transactions that fill the backlog side by side, and the workflows of each. */
const fillers = 8
const fillSize = 500

/** Shortest pause between two polls of the queue, in milliseconds; by default it is a second. */
const pollingMs = 5

/**
 * DBOS Transact's queue with a limit for this worker, which it counts without a statement. The request is the workflow itself rather
 * than a step, which would be one more row: its key makes a second request harmless.
 */
export async function openDbosDispatch(serverUrl: string, inFlight: number): Promise<DispatchWorker> {
  const database = await openDatabase(serverUrl, 'bench_dbos_dispatch', 20)
  await migrateDbos(database.url)
  const client = await createDbosClient(database.url)
  await client.registerQueue(dbosQueue, { workerConcurrency: inFlight, minPollingIntervalMs: pollingMs })
  let submit: (job: number) => Promise<void> = () => Promise.reject(new Error('No worker is running.'))
  DBOS.registerWorkflow(
    ({ idempotencyKey }: EnqueueRequest & { readonly idempotencyKey: string }) => submit(numberOf(idempotencyKey)),
    { name: dbosWorkflow },
  )
  configureDbos(database.url, database.pool)
  return {
    name: 'DBOS queue',
    database,
    async fill(latenciesMs) {
      await database.admin.query('truncate dbos.workflow_status, dbos.workflow_input, dbos.operation_outputs cascade')
      let next = 0
      const filler = async () => {
        while (next < latenciesMs.length) {
          const from = next
          const to = Math.min(from + fillSize, latenciesMs.length)
          next = to
          await inTransaction(database.pool, async (tx) => {
            for (let n = from; n < to; n += 1) {
              const { options, input } = workflowFor(n)
              await client.enqueueInTransaction(tx, options, input)
            }
          })
        }
      }
      await Promise.all(Array.from({ length: fillers }, filler))
    },
    async start(handle) {
      submit = handle
      await DBOS.launch()
    },
    stop: () => DBOS.shutdown({ workflowCompletionTimeoutMS: 30_000 }),
    countDone: async () => ({
      done: await database.count(`select count(*) from dbos.workflow_status where status = 'SUCCESS'`),
      repeated: await database.count('select count(*) from dbos.workflow_status where recovery_attempts > 1'),
    }),
    close: async () => {
      await DBOS.shutdown({ deregister: true })
      await client.destroy()
      await database.close()
    },
  }
}
