import { runMigrations } from 'graphile-worker'
import { openDatabase } from '../database.ts'
import { createHostTable, type EnqueueHost, pgTransact } from '../enqueue-host.ts'
import { createTransferTable, insertTransfer } from './plain-insert.ts'

/** A host on node-postgres that writes a transfer and calls graphile-worker's `add_job` in its transaction, as named statements. */
export async function openGraphileWorker(serverUrl: string, clients: number): Promise<EnqueueHost> {
  const database = await openDatabase(serverUrl, 'bench_graphile_worker', clients)
  await createHostTable(database.admin)
  await createTransferTable(database.admin)
  await runMigrations({ connectionString: database.url })
  return {
    name: 'INSERT + add_job',
    database,
    transact: pgTransact(database, async (client, n) => {
      const { id, statement } = insertTransfer(n)
      await client.query(statement)
      await client.query({
        name: 'add_job',
        text: `select id from graphile_worker.add_job('transfer', $1::json)`,
        values: [JSON.stringify({ id })],
      })
    }),
    countComplete: () =>
      database.count(`select count(*) from invoice i join transfer t on t.idempotency_key = 'invoice-' || i.id
        join graphile_worker._private_jobs j on j.payload ->> 'id' = t.id`),
    countRest: async () => [
      await database.count('select count(*) from transfer'),
      await database.count('select count(*) from graphile_worker._private_jobs'),
    ],
    close: () => database.close(),
  }
}
