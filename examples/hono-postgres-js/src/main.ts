/** Runs the acquirer beside the service until Ctrl-C. In a real host, the engine also runs in a worker process. */
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { runExample } from '@outlay/example-sandbox/run'
import { listen } from '@outlay/example-sandbox/server'
import { createApp } from './app.ts'
import { createSettlementEngine } from './engine.ts'
import { migrateDatabase, openDatabase } from './schema.ts'

await runExample(async ({ databaseUrl, sandbox, running }) => {
  const database = running.use(openDatabase(databaseUrl))
  const engine = running.use(createSettlementEngine(database, sandbox.access))
  await migrateDatabase(database)
  await engine.migrate()

  const app = createApp({ database, engine, service: sandbox.access })
  const { url } = running.use(await listen(createServer(getRequestListener(app.fetch)), 3000))
  await sandbox.registerWebhooks(url)
  await engine.start()

  const { sql } = database
  const bank_id = await sandbox.registerBank('Ada Park')
  const day = '2026-11-02'
  const sale = (merchant_id: string, amount: string) => ({ day_id: day, merchant_id, amount })
  await sql`insert into merchant ${sql(['bakery', 'garage'].map((id) => ({ id, bank_id })))}`
  await sql`insert into day ${sql({ id: day, received: '1000.00' })}`
  await sql`insert into sale ${sql([sale('bakery', '12.50'), sale('bakery', '30.00'), sale('garage', '480.00')])}`
  console.log(`A bakery and a garage have sold something. Settle the day, twice if you like, and read it after two seconds:

curl -X POST ${url}/days/${day}/settlement
curl ${url}/days/${day}
curl ${url}/merchants/bakery/payouts`)
})
