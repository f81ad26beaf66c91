/** Runs the savings app beside the service until Ctrl-C. In a real host, the engine also runs in a worker process. */
import { runExample } from '@outlay/example-sandbox/run'
import { createApp } from './app.ts'
import { migrateDatabase, openDatabase } from './database.ts'
import { createSavingsEngine } from './engine.ts'
import { Entry, Saver } from './entities.ts'

await runExample(async ({ databaseUrl, sandbox, running }) => {
  const database = running.use(await openDatabase(databaseUrl))
  const engine = running.use(createSavingsEngine(database, sandbox.access))
  await migrateDatabase(database)
  await engine.migrate()

  const app = createApp({ database, engine, service: sandbox.access })
  running.defer(() => app.close())
  // The other bank, played by this process.
  app.post<{ Params: { transferId: string } }>('/bank/returns/:transferId', async (request, reply) => {
    const transfer = await engine.transfers.get(request.params.transferId)
    await sandbox.returnPayment(transfer?.remoteId ?? '', 'R02')
    return reply.code(202).send()
  })
  const url = await app.listen({ host: '127.0.0.1', port: 3000 })
  await sandbox.registerWebhooks(url)
  await engine.start()

  const em = database.orm.em.fork()
  const ada = em.create(Saver, { id: 'ada', bankId: await sandbox.registerBank('Ada Park') })
  em.create(Entry, { saver: ada, amount: '1000.00', reason: 'deposit' })
  await em.flush()
  console.log(`Ada has saved 1,000.00 USD. Take some out, twice if you like; ACH takes two banking days, a minute or two here:

curl -X PUT ${url}/savers/ada/withdrawals/car -H 'content-type: application/json' -d '{"amount": "250.00"}'
curl ${url}/savers/ada

Once it is paid, let the bank return it, as for an account that was closed:

curl ${url}/savers/ada/withdrawals/car
curl -X POST ${url}/bank/returns/<transferId>
curl ${url}/savers/ada`)
})
