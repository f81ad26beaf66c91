/** Runs the marketplace beside the service until Ctrl-C. In a real host, the engine also runs in a worker process. */

import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { runExample } from '@outlay/example-sandbox/run'
import { listen } from '@outlay/example-sandbox/server'
import { createApp } from './app.ts'
import { createWithdrawalEngine } from './engine.ts'
import { migrateDatabase, openDatabase, seller } from './schema.ts'

await runExample(async ({ databaseUrl, sandbox, running }) => {
  const db = openDatabase(databaseUrl)
  running.defer(() => db.$client.end())
  const engine = running.use(createWithdrawalEngine(db, sandbox.access))
  await migrateDatabase(db)
  await engine.migrate()

  const app = createApp({ db, engine, service: sandbox.access })
  const { url } = running.use(await listen(createServer(getRequestListener(app.fetch)), 3000))
  await sandbox.registerWebhooks(url)
  await engine.start()

  await db.insert(seller).values({ id: 'ada', bankId: await sandbox.registerBank('Ada Park'), balance: '1000.00' })
  console.log(`Ada has 1,000.00 USD. Pay some of it out, twice if you like, and read it after two seconds:

curl -X PUT ${url}/sellers/ada/withdrawals/first -H 'content-type: application/json' -d '{"amount": "250.00"}'
curl ${url}/sellers/ada/withdrawals/first`)
})
