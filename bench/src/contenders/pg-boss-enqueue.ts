import { PgBoss } from 'pg-boss'
import { openDatabase } from '../database.ts'
import { createHostTable, type EnqueueHost, pgTransact } from '../enqueue-host.ts'
import { createTransferTable, insertTransfer } from './plain-insert.ts'

const queue = 'transfer'

/**
 * A host on node-postgres that writes a transfer and sends a pg-boss job with its id in its transaction. The queue has its own table and no NOTIFY, the
 * queue cache is warm, and no maintenance runs. With `prepared` the statement is named, which pg-boss does not do.
 */
export async function openPgBoss(
  serverUrl: string,
  clients: number,
  options: { readonly prepared: boolean },
): Promise<EnqueueHost> {
  const name = options.prepared ? 'INSERT + boss.send, prepared' : 'INSERT + boss.send'
  const database = await openDatabase(serverUrl, options.prepared ? 'bench_boss_prepared' : 'bench_boss', clients)
  await createHostTable(database.admin)
  await createTransferTable(database.admin)
  const boss = new PgBoss({ connectionString: database.url, schema: 'boss', supervise: false, schedule: false, max: 2 })
  boss.on('error', (error) => {
    throw error
  })
  await boss.start()
  await boss.createQueue(queue, { policy: 'standard', partition: true })
  await boss.getQueue(queue)
  const statement = options.prepared ? { name: 'boss_send' } : {}
  return {
    name,
    database,
    transact: pgTransact(database, async (client, n) => {
      const db = {
        executeSql: (text: string, values?: unknown[]) => client.query({ ...statement, text, values: values ?? [] }),
      }
      const { id, statement: insert } = insertTransfer(n)
      await client.query(insert)
      if ((await boss.send(queue, { id }, { db })) === null) throw new Error('boss.send sent nothing.')
    }),
    countComplete: () =>
      database.count(
        `select count(*) from invoice i join transfer t on t.idempotency_key = 'invoice-' || i.id
         join boss.job j on j.data ->> 'id' = t.id`,
      ),
    countRest: async () => [
      await database.count('select count(*) from transfer'),
      await database.count('select count(*) from boss.job'),
    ],
    close: async () => {
      await boss.stop({ graceful: false })
      await database.close()
    },
  }
}
