import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine, type Engine, type Gateway, type Logger } from '@outlay/core'
import type { PoolClient } from 'pg'
import { openDatabase } from '../database.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import type { DispatchWorker } from '../workloads/dispatch-worker.ts'

const batchSize = 2_000

/** Outlay's dispatcher with a gateway that takes its time and then accepts. */
export async function openOutlayDispatch(serverUrl: string, inFlight: number): Promise<DispatchWorker> {
  const database = await openDatabase(serverUrl, 'bench_outlay_dispatch', 20)
  const makeEngine = (gateway: Gateway): Engine<PoolClient> =>
    createEngine({ backend: postgres({ driver: pgDriver(database.pool), logger: loudLogger }), gateway })
  const sender = makeEngine(gatewayOf(() => Promise.reject(new Error('This engine only enqueues.'))))
  await sender.migrate()
  let running: Engine<PoolClient> | undefined
  return {
    name: 'outlay',
    database,
    async fill(latenciesMs) {
      await database.admin.query('truncate outlay.transfer, outlay.event, outlay.attempt, outlay.delivery')
      await database.admin.query(`delete from outlay_queue.job`)
      for (let from = 0; from < latenciesMs.length; from += batchSize) {
        const batch = latenciesMs.slice(from, from + batchSize).map((_, index) => sampleTransfer(from + index))
        const client = await database.pool.connect()
        await client.query('begin')
        await sender.transfers.enqueueMany(client, batch)
        await client.query('commit')
        client.release()
      }
    },
    async start(handle) {
      running = makeEngine(gatewayOf(handle))
      await running.start({ concurrency: inFlight })
    },
    stop: async () => running?.stop(),
    async countDone() {
      const jobs = await database.count('select count(*) from outlay_queue.job')
      const transfers = await database.count('select count(*) from outlay.transfer')
      const submitted = await database.count(`select count(*) from outlay.transfer
        where stage = 'submitted' and remote_id = 'remote-' || idempotency_key`)
      if (transfers - jobs !== submitted)
        throw new Error(`${submitted} were submitted, ${transfers - jobs} jobs are gone.`)
      return {
        done: submitted,
        repeated: await database.count('select count(*) from outlay.attempt where attempt > 1'),
      }
    },
    close: () => database.close(),
  }
}

function gatewayOf(handle: (job: number) => Promise<void>): Gateway {
  return {
    async submit({ idempotencyKey }) {
      await handle(Number(idempotencyKey.slice('invoice-'.length)))
      return { outcome: 'accepted', remoteId: `remote-${idempotencyKey}` }
    },
    get: () => Promise.resolve(undefined),
  }
}

const loudLogger: Logger = {
  debug() {},
  info() {},
  warn: (fields, message) => process.stderr.write(`${message} ${JSON.stringify(fields)}\n`),
  error: (fields, message) => process.stderr.write(`${message} ${JSON.stringify(fields)}\n`),
}
