/** Runs the company beside the service until Ctrl-C. */
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { toEnvironment } from '@outlay/example-sandbox'
import { runExample } from '@outlay/example-sandbox/run'
import { listen } from '@outlay/example-sandbox/server'
import { handle } from './app.ts'
import { host, migrateDatabase } from './host.ts'
import { register } from './instrumentation.ts'

await runExample(async ({ databaseUrl, sandbox, running }) => {
  const { url } = running.use(await listen(createServer(getRequestListener(handle)), 3000))
  await sandbox.registerWebhooks(url)
  Object.assign(process.env, toEnvironment(databaseUrl, sandbox.access))

  const { prisma, engine } = running.use(host())
  await migrateDatabase(databaseUrl, engine)
  await register()

  const bankId = await sandbox.registerBank('Ada Park')
  await prisma.department.create({ data: { id: 'design', budget: '5000.00' } })
  await prisma.invoice.create({ data: { id: 'INV-42', departmentId: 'design', bankId, amount: '1250.00' } })
  console.log(`Ada wants 1,250.00 USD for her work. Pay her, twice if you like, and read the invoice after two seconds:

curl ${url}/api/invoices/INV-42/payment -d '{"memo": "Thank you"}'
curl ${url}/api/invoices/INV-42`)
})
