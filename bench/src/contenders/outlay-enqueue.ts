import { postgres } from '@outlay/adapters-pg'
import { createEngine, type Gateway } from '@outlay/core'
import { openDatabase } from '../database.ts'
import { createHostTable, type EnqueueHost, hostTransact } from '../enqueue-host.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import type { HostLibrary } from './host-library.ts'
import { countJobs, outboxTable } from './queue.ts'

const closedGateway: Gateway = {
  submit: () => Promise.reject(new Error('Nothing is sent in this workload.')),
  get: () => Promise.resolve(undefined),
}

/** A host that enqueues with Outlay through its library. */
export async function openOutlayEnqueue<Tx>(
  serverUrl: string,
  clients: number,
  library: HostLibrary<Tx>,
  databaseName = `bench_outlay_${library.name}`,
): Promise<EnqueueHost> {
  const database = await openDatabase(serverUrl, databaseName, clients)
  const writer = library.open(database, clients)
  await createHostTable(database.admin)
  const engine = createEngine({ backend: postgres({ driver: writer.driver }), gateway: closedGateway })
  await engine.migrate()
  return {
    name: `outlay, ${library.name}`,
    database,
    transact: hostTransact(writer, (tx, n) => engine.transfers.enqueue(tx, sampleTransfer(n))),
    countComplete: () =>
      database.count(`select count(*) from invoice i
        join outlay.transfer t on t.idempotency_key = 'invoice-' || i.id
        join ${outboxTable} o on o.id = outlay.job_id(t.id)`),
    countRest: async () => [await database.count('select count(*) from outlay.transfer'), await countJobs(database)],
    close: async () => {
      await writer.close()
      await database.close()
    },
  }
}
