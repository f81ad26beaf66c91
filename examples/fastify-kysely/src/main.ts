/** Runs the insurer beside the service until Ctrl-C. In a real host, the engine also runs in a worker process. */
import { runExample } from '@outlay/example-sandbox/run'
import { createApp } from './app.ts'
import { createClaimEngine } from './engine.ts'
import { migrateDatabase, openDatabase } from './schema.ts'

await runExample(async ({ databaseUrl, sandbox, running }) => {
  const database = openDatabase(databaseUrl)
  running.defer(() => database.db.destroy())
  const engine = running.use(createClaimEngine(database, sandbox.access))
  await migrateDatabase(database)
  await engine.migrate()

  const app = createApp({ database, engine, service: sandbox.access })
  running.defer(() => app.close())
  const url = await app.listen({ host: '127.0.0.1', port: 3000 })
  await sandbox.registerWebhooks(url)
  await engine.start()

  const bank_id = await sandbox.registerBank('Ada Park')
  await database.db.insertInto('policy').values({ id: 'home', bank_id, limit: '5000.00' }).execute()
  await database.db.insertInto('claim').values({ id: 'roof', policy_id: 'home' }).execute()
  console.log(`A roof is damaged, and the policy covers 5,000.00 USD. Settle the claim, and read it after two seconds:

curl ${url}/claims/roof/settlement -H 'content-type: application/json' -d '{"amount": "1800.00"}'
curl ${url}/claims/roof`)
})
