/** Runs the platform beside the service until Ctrl-C. In a real host, the engine runs in a worker process. */
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { openNeonProxy } from '@outlay/example-sandbox/neon-proxy'
import { runExample } from '@outlay/example-sandbox/run'
import { listen } from '@outlay/example-sandbox/server'
import { createApp } from './app.ts'
import { createShiftEngine } from './engine.ts'
import { migrateDatabase, openDatabase, worker } from './schema.ts'

await runExample(async ({ databaseUrl, sandbox, running }) => {
  running.use(await openNeonProxy(databaseUrl))
  const db = openDatabase(databaseUrl)
  running.defer(() => db.$client.end())
  const engine = running.use(createShiftEngine(db, sandbox.access))
  await migrateDatabase(databaseUrl)
  await engine.migrate()

  const app = createApp({ db, engine, service: sandbox.access })
  const { url } = running.use(await listen(createServer(getRequestListener(app.fetch)), 3000))
  await sandbox.registerWebhooks(url)
  await engine.start()

  await db.insert(worker).values({ id: 'ada', bankId: await sandbox.registerBank('Ada Park'), payPerHour: '31.00' })
  const json = `-H 'content-type: application/json' -d`
  console.log(`Ada has worked two shifts. Pay one now, the other next year, withdraw that one, and read both after two seconds:

curl -X PUT ${url}/shifts/monday ${json} '{"workerId": "ada", "minutes": 470}'
curl -X PUT ${url}/shifts/tuesday ${json} '{"workerId": "ada", "minutes": 240, "paysAt": "${new Date().getFullYear() + 1}-01-04T14:00:00Z"}'
curl -X DELETE ${url}/shifts/tuesday/payment
curl ${url}/shifts/monday ${url}/shifts/tuesday`)
})
