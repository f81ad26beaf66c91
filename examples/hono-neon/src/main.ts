/** Runs the remittance app beside the service until Ctrl-C. In a real host, the engine runs in a worker process. */
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { openNeonProxy } from '@outlay/example-sandbox/neon-proxy'
import { runExample } from '@outlay/example-sandbox/run'
import { listen } from '@outlay/example-sandbox/server'
import { createApp } from './app.ts'
import { createRemittanceEngine } from './engine.ts'
import { migrateDatabase, openDatabase } from './schema.ts'

await runExample(async ({ databaseUrl, sandbox, running }) => {
  running.use(await openNeonProxy(databaseUrl))
  const pool = openDatabase(databaseUrl)
  running.defer(() => pool.end())
  const engine = running.use(createRemittanceEngine(pool, sandbox.access))
  await migrateDatabase(pool)
  await engine.migrate()

  const app = createApp({ pool, engine, service: sandbox.access })
  const { url } = running.use(await listen(createServer(getRequestListener(app.fetch)), 3000))
  await sandbox.registerWebhooks(url)
  await engine.start()

  await pool.query('insert into customer (id, balance) values ($1, $2)', ['ada', '500.00'])
  const address = { streetLine1: '7 Lake View', city: 'Austin', state: 'TX', zip: '78701' }
  const bob = {
    name: 'Bob Lee',
    accountNumber: '1000004321',
    routingNumber: '021000021',
    address,
    bankAddress: address,
  }
  const body = JSON.stringify({ amount: '120.00', recipient: bob })
  console.log(`Ada has 500.00 USD, and sends some to Bob. Do it, twice if you like, and read it after two seconds:

curl -X PUT ${url}/customers/ada/remittances/bob -H 'content-type: application/json' -d '${body}'
curl ${url}/customers/ada/remittances/bob`)
})
