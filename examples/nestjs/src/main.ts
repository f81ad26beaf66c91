/** Runs the delivery service beside the money-movement service until Ctrl-C. */
import { runExample } from '@outlay/example-sandbox/run'
import { DataSource } from 'typeorm'
import { createApp } from './app.ts'
import { Courier } from './entities.ts'

await runExample(async ({ databaseUrl, sandbox, running }) => {
  const app = await createApp({ databaseUrl, service: sandbox.access })
  running.defer(() => app.close())
  await app.listen(3000, '127.0.0.1')
  const url = await app.getUrl()
  await sandbox.registerWebhooks(url)

  const bankId = await sandbox.registerBank('Ada Park')
  await app.get(DataSource).manager.insert(Courier, { id: 'ada', bankId, balance: '180.00' })
  console.log(`Ada has earned 180.00 USD. Cash out some of it, twice if you like; ACH takes two banking days, a minute or two here:

curl -X PUT ${url}/couriers/ada/cash-outs/monday -H 'content-type: application/json' -d '{"amount": "45.00"}'
curl ${url}/couriers/ada/cash-outs/monday`)
})
