/** A worker for all nodes, which writes each event beside the acknowledgement, on the node where it is delivered. */
import process from 'node:process'
import { subscriptions } from '../environment/subscriptions.ts'
import { fromEnvironment } from '../site/settings.ts'
import { openSystem, type SystemSettings } from './system.ts'

const system = openSystem(fromEnvironment<SystemSettings>(process.env))
for (const { name, types } of subscriptions) {
  system.shards.subscribe(name, types, async (event, tx) => {
    await tx.query('insert into effect (subscription, event_id, type, transfer_id) values ($1, $2, $3, $4)', [
      ...[name, event.id, event.type, event.transferId],
    ])
  })
}
await system.shards.start({ concurrency: 10 })

process.once('SIGTERM', async () => {
  await system[Symbol.asyncDispose]()
  process.exit(0)
})
process.stdout.write(`${JSON.stringify({ ready: true })}\n`)
