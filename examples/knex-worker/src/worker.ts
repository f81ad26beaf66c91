/** The worker process: submits enqueued transfers, polls them until they are final, and marks statements. Run as many as needed. */
import { createRoyaltyEngine, readService } from './engine.ts'
import { openDatabase } from './schema.ts'

const db = openDatabase(process.env.DATABASE_URL ?? '')
const engine = createRoyaltyEngine(db, readService(process.env))
await engine.start()

process.on('SIGINT', () => {}) // Ctrl-C reaches the whole group; main ends its children in order, with SIGTERM.
process.once('SIGTERM', async () => {
  await engine.stop()
  await db.destroy()
})
console.log(JSON.stringify({ ready: true }))
