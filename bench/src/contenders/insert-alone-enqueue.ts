import { openDatabase } from '../database.ts'
import { createHostTable, type EnqueueHost, hostTransact } from '../enqueue-host.ts'
import type { HostLibrary } from './host-library.ts'
import { createTransferTable } from './plain-insert.ts'

/**
 * The limit of a library: the host's row and one row of a transfer's size, in a table with nothing but a primary key. No validation,
 * no uniqueness of keys, no event, no job: nothing could send this transfer.
 */
export async function openInsertAlone<Tx>(
  serverUrl: string,
  clients: number,
  library: HostLibrary<Tx>,
): Promise<EnqueueHost> {
  const database = await openDatabase(serverUrl, `bench_insert_${library.name}`, clients)
  const writer = library.open(database, clients)
  await createHostTable(database.admin)
  await createTransferTable(database.admin)
  return {
    name: library.name === 'pg' ? 'INSERT alone' : `INSERT alone, ${library.name}`,
    database,
    transact: hostTransact(writer, writer.insertTransfer),
    countComplete: () =>
      database.count(`select count(*) from invoice i join transfer t on t.idempotency_key = 'invoice-' || i.id`),
    countRest: async () => [await database.count('select count(*) from transfer')],
    close: async () => {
      await writer.close()
      await database.close()
    },
  }
}
