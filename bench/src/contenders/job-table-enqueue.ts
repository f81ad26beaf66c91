import { openDatabase } from '../database.ts'
import { createHostTable, type EnqueueHost, pgTransact } from '../enqueue-host.ts'
import { createJobTable, insertJob } from './job-table.ts'

/** A host on node-postgres that writes one row of a table of jobs in its transaction: the transfer is its payload. */
export async function openJobTable(serverUrl: string, clients: number): Promise<EnqueueHost> {
  const database = await openDatabase(serverUrl, 'bench_job_table', clients)
  await createHostTable(database.admin)
  await createJobTable(database.admin)
  return {
    name: 'one table, SKIP LOCKED',
    database,
    transact: pgTransact(database, (client, n) => client.query(insertJob(n))),
    countComplete: () =>
      database.count(`select count(*) from invoice i
        join jobs j on j.payload ->> 'idempotencyKey' = 'invoice-' || i.id and j.status = 'pending'`),
    countRest: async () => [await database.count('select count(*) from jobs')],
    close: () => database.close(),
  }
}
