/** A worker process: submits enqueued transfers, polls them until they are final, and marks payslips. Run as many as needed. */
import { openDatabase } from './database.ts'
import { createPayrollEngine } from './engine.ts'

const { DATABASE_URL = '', SERVICE_URL = '', CLIENT_ID = '', CLIENT_SECRET = '' } = process.env

const db = openDatabase(DATABASE_URL)
const engine = createPayrollEngine(db, {
  baseUrl: SERVICE_URL,
  credentials: { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET },
})

process.on('SIGINT', () => {}) // Ctrl-C reaches the whole group; main ends its workers in order, with SIGTERM.
process.once('SIGTERM', async () => {
  await engine.stop()
  await db.$client.end()
})

await engine.start({ concurrency: 50, subscriptionConcurrency: 1 })
console.log(JSON.stringify({ ready: true }))
