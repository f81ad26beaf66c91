/** Runs the lender beside the service until Ctrl-C. In a real host, the engine also runs in a worker process. */
import { createServer } from 'node:http'
import { runExample } from '@outlay/example-sandbox/run'
import { listen } from '@outlay/example-sandbox/server'
import { createApp } from './app.ts'
import { createLoanEngine } from './engine.ts'
import { migrateDatabase, openDatabase } from './schema.ts'

await runExample(async ({ databaseUrl, sandbox, running }) => {
  const database = running.use(openDatabase(databaseUrl))
  const engine = running.use(createLoanEngine(database, sandbox.access))
  await migrateDatabase(database)
  await engine.migrate()

  const app = createApp({ database, engine, service: sandbox.access })
  const { url } = running.use(await listen(createServer(app), 3000))
  await sandbox.registerWebhooks(url)
  await engine.start()

  // The sandbox's banks refuse wires to an account number with this end.
  const wrong = await sandbox.registerBank('Ada Park', '1000000500')
  const right = await sandbox.registerBank('Ada Park')
  await database.creditLines.create({ id: 'autumn', available: '50000.00' })
  await database.loans.create({ id: 'van', creditLineId: 'autumn', bankId: wrong, principal: '18000.00' })
  console.log(`Ada borrows 18,000.00 USD for a van, and has mistyped her account number. Disburse it, and read why it failed after two seconds:

curl -X POST ${url}/loans/van/disbursement
curl ${url}/loans/van

Then correct it, twice if you like, with the id of the transfer that failed:

curl -X PUT ${url}/loans/van/disbursements/<transferId>/correction -H 'content-type: application/json' -d '{"bankId": "${right}"}'
curl ${url}/loans/van`)
})
