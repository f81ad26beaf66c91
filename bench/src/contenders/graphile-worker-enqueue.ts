import { runMigrations } from 'graphile-worker'
import { openDatabase } from '../database.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import { createHostTable, type EnqueueHost, pgTransact } from '../workloads/enqueue-host.ts'

/** A host on node-postgres that calls graphile-worker's `add_job` in its transaction, as a named statement. */
export async function openGraphileWorker(serverUrl: string, clients: number): Promise<EnqueueHost> {
  const database = await openDatabase(serverUrl, 'bench_graphile_worker', clients)
  await createHostTable(database.admin)
  await runMigrations({ connectionString: database.url })
  return {
    name: 'graphile-worker add_job',
    database,
    transact: pgTransact(database, (client, n) =>
      client.query({
        name: 'add_job',
        text: `select id from graphile_worker.add_job('transfer', $1::json)`,
        values: [JSON.stringify(sampleTransfer(n))],
      }),
    ),
    countComplete: () =>
      database.count(`select count(*) from invoice i
        join graphile_worker._private_jobs j on j.payload ->> 'idempotencyKey' = 'invoice-' || i.id`),
    countRest: async () => [await database.count('select count(*) from graphile_worker._private_jobs')],
    close: () => database.close(),
  }
}
