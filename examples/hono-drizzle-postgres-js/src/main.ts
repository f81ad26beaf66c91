/** Runs the agency beside the service until Ctrl-C. In a real host, the engine also runs in a worker process. */
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { runExample } from '@outlay/example-sandbox/run'
import { listen } from '@outlay/example-sandbox/server'
import { createApp } from './app.ts'
import { createExpenseEngine, setPolicies } from './engine.ts'
import { employee, migrateDatabase, openDatabase } from './schema.ts'

await runExample(async ({ databaseUrl, sandbox, running }) => {
  const database = running.use(openDatabase(databaseUrl))
  const engine = running.use(createExpenseEngine(database, sandbox.access))
  await migrateDatabase(databaseUrl)
  await engine.migrate()
  const { db } = database
  await setPolicies(db, engine)

  const app = createApp({ db, engine, service: sandbox.access })
  const { url } = running.use(await listen(createServer(getRequestListener(app.fetch)), 3000))
  await sandbox.registerWebhooks(url)
  await engine.start()

  const bankId = await sandbox.registerBank('Ada Park')
  await db.insert(employee).values([
    { id: 'ada', role: 'designer', bankId },
    { id: 'fay', role: 'finance', bankId },
  ])
  const json = `-H 'content-type: application/json' -d`
  console.log(`Ada has bought a laptop. Claim it, try to approve it as Ada, approve it as Fay, and read it after two seconds:

curl -X PUT ${url}/expenses/laptop ${json} '{"employeeId": "ada", "amount": "1800.00"}'
curl -X POST ${url}/expenses/laptop/approval ${json} '{"by": "ada"}'
curl -X POST ${url}/expenses/laptop/approval ${json} '{"by": "fay"}'
curl ${url}/expenses/laptop`)
})
