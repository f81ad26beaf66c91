import { type Driver, pgDriver } from '@outlay/adapters-pg'
import { Client, type PoolClient } from 'pg'
import { createHostTable, type EnqueueHost, pgTransact } from '../enqueue-host.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import { acceptingGateway, openOutlayStage } from './outlay-stage.ts'
import { countJobs, outboxTable } from './queue.ts'

/** Connections that receive every wake-up, like those of so many worker processes. */
const listeners = 4

/** When an enqueue wakes the workers: as the engine decides, never, or at every commit. */
export type WakeUps = 'debounced' | 'none' | 'each'

const names: Readonly<Record<WakeUps, string>> = {
  debounced: 'outlay',
  none: 'no wake-up',
  each: 'a wake-up at every commit',
}

/** A host that enqueues while so many connections listen. No worker runs, so only the wake-up is measured. */
export async function openWakeUpHost(serverUrl: string, clients: number, wakeUps: WakeUps): Promise<EnqueueHost> {
  const stage = await openOutlayStage(serverUrl, `bench_wake_up_${wakeUps}`, clients)
  const { database } = stage
  await createHostTable(database.admin)
  const engine = stage.makeEngine(
    acceptingGateway(() => undefined),
    { driver: withWakeUps(pgDriver(database.pool), wakeUps) },
  )
  let received = 0
  const listening = await Promise.all(
    Array.from({ length: listeners }, async () => {
      const client = new Client({ connectionString: database.url })
      await client.connect()
      await client.query('listen outlay_wake')
      client.on('notification', () => {
        received += 1
      })
      return client
    }),
  )
  let before = 0
  return {
    name: names[wakeUps],
    database,
    transact: pgTransact(database, (client, n) => engine.transfers.enqueue(client, sampleTransfer(n))),
    async countComplete() {
      const isSilent = received === before
      before = received
      if (isSilent !== (wakeUps === 'none')) throw new Error(`${names[wakeUps]}: ${received} wake-ups were received.`)
      return database.count(`select count(*) from invoice i
        join outlay.transfer t on t.idempotency_key = 'invoice-' || i.id
        join ${outboxTable} o on o.id = outlay.job_id(t.id)`)
    },
    countRest: async () => [await database.count('select count(*) from outlay.transfer'), await countJobs(database)],
    close: async () => {
      for (const client of listening) await client.end()
      await database.close()
    },
  }
}

/** The driver with another decision about the wake-up, since the engine has no option for it. */
function withWakeUps(driver: Driver<PoolClient>, wakeUps: WakeUps): Driver<PoolClient> {
  if (wakeUps === 'debounced') return driver
  return {
    ...driver,
    execute(tx, statement, values) {
      // The one flag among the values of a single enqueue says whether to wake the workers.
      const place = values.findIndex((value) => typeof value === 'boolean')
      if (place < 0) throw new Error(`${statement.text} decides about no wake-up.`)
      return driver.execute(tx, statement, values.with(place, wakeUps === 'each'))
    },
  }
}
