/** Runs the shop beside the service until Ctrl-C. In a real host, the engine also runs in a worker process. */
import { createServer } from 'node:http'
import { runExample } from '@outlay/example-sandbox/run'
import { listen } from '@outlay/example-sandbox/server'
import { createApp } from './app.ts'
import { createRefundEngine } from './engine.ts'
import { migrateDatabase, openDatabase } from './schema.ts'

await runExample(async ({ databaseUrl, sandbox, running }) => {
  const pool = openDatabase(databaseUrl)
  running.defer(() => pool.end())
  const engine = running.use(createRefundEngine(pool, sandbox.access))
  await migrateDatabase(pool)
  await engine.migrate()

  const app = createApp({ pool, engine, service: sandbox.access })
  const { url } = running.use(await listen(createServer(app), 3000))
  await sandbox.registerWebhooks(url)
  await engine.start()

  const bankId = await sandbox.registerBank('Ada Park')
  await pool.query('insert into purchase (id, bank_id, total) values ($1, $2, $3)', ['bike', bankId, '900.00'])
  console.log(`Ada bought a bike for 900.00 USD. Refund some of it, twice if you like; ACH takes two banking days, a minute or two here:

curl -X PUT ${url}/purchases/bike/refunds/saddle -H 'content-type: application/json' -d '{"amount": "45.00"}'
curl ${url}/purchases/bike/refunds/saddle`)
})
