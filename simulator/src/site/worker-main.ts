/** A host application with a worker: it submits, polls, and writes each event in the transaction of its delivery. */
import process from 'node:process'
import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine } from '@outlay/core'
import { Pool } from 'pg'
import { subscriptions } from '../environment/subscriptions.ts'
import { gatewayOf } from './customer.ts'
import { fromEnvironment, type WorkerSettings } from './settings.ts'

const { databaseUrl, serviceUrl, customers } = fromEnvironment<WorkerSettings>(process.env)

const pool = new Pool({ connectionString: databaseUrl, max: 10 })
pool.on('error', () => undefined)
const engine = createEngine({
  backend: postgres({ driver: pgDriver(pool) }),
  gateway: gatewayOf(serviceUrl, customers),
})
for (const { name, types } of subscriptions) {
  engine.subscribe(
    name,
    types,
    async (event, tx) => {
      const { status, failure, remoteId } = event.transfer
      await tx.query(
        `insert into effect (subscription, event_id, type, transfer_id, sequence, account_id, status, retriable, remote_id)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
        [
          ...[name, event.id, event.type, event.transferId, event.sequence, event.accountId],
          ...[status, failure?.retriable === true, remoteId],
        ],
      )
    },
    { batchSize: 20 },
  )
}
await engine.start({ concurrency: 20 })

process.once('SIGTERM', async () => {
  await engine.stop()
  await pool.end()
  process.exit(0)
})
process.stdout.write(`${JSON.stringify({ ready: true })}\n`)
