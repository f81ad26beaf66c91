/** Runs the bank with the service inside until Ctrl-C. */
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { listen } from '@outlay/example-sandbox/server'
import { createService } from '@outlay/service'
import { startPostgres } from '@outlay/testing'
import pg from 'pg'
import { createApp, migrateDatabase } from './app.ts'

const interruption = Promise.withResolvers<void>()
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interruption.resolve())

await using running = new AsyncDisposableStack()
const postgres = running.use(await startPostgres())
const pool = new pg.Pool({ connectionString: await postgres.createDatabase() })
running.defer(() => pool.end())

// A key for play money. SECURITY.md says where to store a real one.
const encryptionKey = createHash('sha256').update('an example').digest()
const service = createService({ pool, rails: 'simulated', encryptionKey })
running.defer(() => service.stop())
await migrateDatabase(pool)
await service.migrate()
await service.start()

const { url } = running.use(await listen(createServer(getRequestListener(createApp({ pool, service }).fetch)), 3000))
console.log(`The bank's own routes and those of the service are on one server:

curl ${url}/partners -d '{"name": "Acme"}'
curl ${url}/partners
curl ${url}/payouts/health
open ${url}/payouts/openapi.json`)
await interruption.promise
