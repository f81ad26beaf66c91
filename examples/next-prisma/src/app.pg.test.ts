import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { migrateSandbox, openSandbox, toEnvironment } from '@outlay/example-sandbox'
import { listen } from '@outlay/example-sandbox/server'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, expect, it } from 'vitest'
import { handle } from './app.ts'
import { host, migrateDatabase } from './host.ts'
import { register } from './instrumentation.ts'

const { url: serviceUrl } = await testDatabase({ key: 'example-service', prepare: migrateSandbox })
const { url: databaseUrl } = await testDatabase()
const running = new AsyncDisposableStack()
afterAll(() => running.disposeAsync())

const sandbox = running.use(await openSandbox(serviceUrl))
const { url } = running.use(await listen(createServer(getRequestListener(handle))))
await sandbox.registerWebhooks(url)
Object.assign(process.env, toEnvironment(databaseUrl, sandbox.access))
const { prisma, engine } = running.use(host())
await migrateDatabase(databaseUrl, engine)
await register()
const bankId = await sandbox.registerBank('Ada Park')

/** Every invoice is one of a department of its own. */
async function receive(id: string, amount: string, budget = '10000.00') {
  await prisma.department.create({ data: { id, budget } })
  await prisma.invoice.create({ data: { id, departmentId: id, bankId, amount } })
}
const pay = (id: string, memo?: string) =>
  fetch(`${url}/api/invoices/${id}/payment`, { method: 'POST', body: JSON.stringify({ memo }) })
const read = async (id: string) => (await fetch(`${url}/api/invoices/${id}`)).json()
const budgetOf = async (id: string) => (await prisma.department.findUnique({ where: { id } }))?.budget.toFixed(2)

it('pays an invoice, and receives its webhook', async () => {
  await receive('logo', '1250.00')
  const answer = await pay('logo', 'Thank you')
  expect(answer.status).toBe(202)
  expect(await answer.json()).toMatchObject({ id: 'logo', amount: '1250.00', status: 'on_its_way' })
  await sandbox.settle(engine)
  expect(await read('logo')).toMatchObject({ status: 'paid' })
  expect(await budgetOf('logo')).toBe('8750.00')
})

it('answers a memo that is too long with its field', async () => {
  await receive('poem', '1250.00')
  const answer = await pay('poem', 'long '.repeat(30))
  expect(answer.status).toBe(422)
  expect(await answer.json()).toMatchObject({ code: 'wire_memo_too_long', field: 'destination.wireMemo' })
})

it('sends nothing when the budget is too small, though the payout was enqueued by then', async () => {
  await receive('statue', '1250.00', '1249.99')
  expect((await pay('statue')).status).toBe(409)
  expect(await engine.transfers.getByKey(sandbox.access.accountId, 'invoice/statue')).toBeUndefined()
  expect(await read('statue')).toMatchObject({ status: 'received', transferId: null })
})

it('pays a repeated request once, at once or later', async () => {
  await receive('site', '400.00')
  const [one, other] = await Promise.all([1, 2].map(() => pay('site')))
  const later = await pay('site')
  const [first, second, third] = await Promise.all([one, other, later].map((answer) => answer?.json()))
  expect([second, third]).toEqual([first, first])
  expect((await pay('site', 'another memo')).status).toBe(422)
  expect(await budgetOf('site')).toBe('9600.00')
})

it('returns the money of a rejected payment to the budget', async () => {
  // The sandbox rejects a payment of this amount after it was accepted.
  await receive('film', '6660.01')
  expect((await pay('film')).status).toBe(202)
  expect(await budgetOf('film')).toBe('3339.99')
  await sandbox.settle(engine)
  expect(await read('film')).toMatchObject({ status: 'unpaid' })
  expect(await budgetOf('film')).toBe('10000.00')
})

it('refuses forged webhooks, and has created only the expected transfers', async () => {
  for (const body of ['{"type":"transfer.completed"}', '']) {
    const forged = { method: 'POST', body }
    expect((await fetch(`${url}/webhooks/outlay/${sandbox.access.accountId}`, forged)).status).toBe(401)
  }
  await sandbox.settle(engine)
  expect(await sandbox.notes()).toEqual(['invoice film', 'invoice logo', 'invoice site'])
})
