import { PgBoss } from 'pg-boss'
import { openDatabase } from '../database.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import { createHostTable, type EnqueueHost, pgTransact } from '../workloads/enqueue-host.ts'

const queue = 'transfer'

/**
 * A host on node-postgres that sends a pg-boss job in its transaction. The queue has a table of its own and no NOTIFY, the
 * queue cache is warm, and no maintenance runs. With `prepared` the statement is named, which pg-boss does not do by itself.
 */
export async function openPgBoss(
  serverUrl: string,
  clients: number,
  options: { readonly prepared: boolean },
): Promise<EnqueueHost> {
  const name = options.prepared ? 'boss.send, prepared' : 'boss.send'
  const database = await openDatabase(serverUrl, options.prepared ? 'bench_boss_prepared' : 'bench_boss', clients)
  await createHostTable(database.admin)
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
      if ((await boss.send(queue, sampleTransfer(n), { db })) === null) throw new Error('boss.send sent nothing.')
    }),
    countComplete: () =>
      database.count(
        `select count(*) from invoice i join boss.job j on j.data ->> 'idempotencyKey' = 'invoice-' || i.id`,
      ),
    countRest: async () => [await database.count('select count(*) from boss.job')],
    close: async () => {
      await boss.stop({ graceful: false })
      await database.close()
    },
  }
}
