/** The web process: closes periods and receives webhooks. */
import { listen } from '@outlay/example-sandbox/server'
import { createApp } from './app.ts'
import { createRoyaltyEngine, readService } from './engine.ts'
import { openDatabase } from './schema.ts'

const service = readService(process.env)
const db = openDatabase(process.env.DATABASE_URL ?? '')
const engine = createRoyaltyEngine(db, service)
const server = await listen(createApp({ db, engine, service }), Number(process.env.PORT ?? 3000))

process.on('SIGINT', () => {}) // Ctrl-C reaches the whole group; main ends its children in order, with SIGTERM.
process.once('SIGTERM', async () => {
  await server[Symbol.asyncDispose]()
  await engine.stop()
  await db.destroy()
})
console.log(JSON.stringify({ ready: true, url: server.url }))
