/** Runs the publisher's two processes beside the service until Ctrl-C. */
import { toEnvironment } from '@outlay/example-sandbox'
import { runExample } from '@outlay/example-sandbox/run'
import { spawnNode } from '@outlay/testing'
import { createRoyaltyEngine } from './engine.ts'
import { migrateDatabase, openDatabase } from './schema.ts'

await runExample(async ({ databaseUrl, sandbox, running }) => {
  const db = openDatabase(databaseUrl)
  running.defer(() => db.destroy())
  await migrateDatabase(db)
  await createRoyaltyEngine(db, sandbox.access).migrate()

  const url = 'http://127.0.0.1:3000'
  await sandbox.registerWebhooks(url)
  const env = { ...toEnvironment(databaseUrl, sandbox.access), PORT: '3000' }
  running.use(await spawnNode(new URL('web.ts', import.meta.url), { env }))
  running.use(await spawnNode(new URL('worker.ts', import.meta.url), { env }))

  const bank_id = await sandbox.registerBank('Ada Park')
  await db('author').insert(['ada', 'bob', 'cy'].map((id) => ({ id, bank_id, royalties: '120.50' })))
  await db('period').insert({ id: '2026-10', budget: '1000.00' })
  console.log(`Three authors have earned royalties. Pay them, twice if you like, and read them after two seconds:

curl ${url}/periods/2026-10/statements -d '{"memo": "Royalties for October"}'
curl ${url}/periods/2026-10/statements`)
})
