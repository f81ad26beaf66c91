import { openDatabase } from '../database.ts'
import { createHostTable, type EnqueueHost, pgTransact } from '../enqueue-host.ts'
import { createDbosClient, dbosQueue, migrateDbos, workflowFor } from './dbos.ts'

/**
 * A host on node-postgres that enqueues a workflow of DBOS Transact in its transaction, with `enqueueInTransaction` of its client: the
 * transfer is the workflow's input and its key the workflow's id, so there is no other row of it. DBOS names no statement.
 */
export async function openDbos(serverUrl: string, clients: number): Promise<EnqueueHost> {
  const database = await openDatabase(serverUrl, 'bench_dbos', clients)
  await createHostTable(database.admin)
  await migrateDbos(database.url)
  const dbos = await createDbosClient(database.url)
  await dbos.registerQueue(dbosQueue)
  return {
    name: 'DBOS enqueueInTransaction',
    database,
    transact: pgTransact(database, (client, n) => {
      const { options, input } = workflowFor(n)
      return dbos.enqueueInTransaction(client, options, input)
    }),
    countComplete: () =>
      database.count(`select count(*) from invoice i
        join dbos.workflow_status w on split_part(w.workflow_uuid, '/', 2) = 'invoice-' || i.id
        join dbos.workflow_input d on d.workflow_uuid = w.workflow_uuid
        where w.status = 'ENQUEUED' and w.queue_name = '${dbosQueue}' and d.inputs like '%"invoice-' || i.id || '"%'`),
    countRest: async () => [
      await database.count('select count(*) from dbos.workflow_status'),
      await database.count('select count(*) from dbos.workflow_input'),
    ],
    close: async () => {
      await dbos.destroy()
      await database.close()
    },
  }
}
