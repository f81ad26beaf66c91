import { migrateSandbox, openSandbox } from '@outlay/example-sandbox'
import { OutlayEngine } from '@outlay/nestjs'
import { testDatabase } from '@outlay/testing/vitest'
import { DataSource } from 'typeorm'
import { afterAll, expect, it } from 'vitest'
import { createApp } from './app.ts'
import { Courier } from './entities.ts'

const { url: serviceUrl } = await testDatabase({ key: 'example-service', prepare: migrateSandbox })
const { url: databaseUrl } = await testDatabase()
const running = new AsyncDisposableStack()
afterAll(() => running.disposeAsync())

const sandbox = running.use(await openSandbox(serviceUrl))
const app = await createApp({ databaseUrl, service: sandbox.access })
running.defer(() => app.close())
await app.listen(0, '127.0.0.1')
const url = await app.getUrl()
await sandbox.registerWebhooks(url)
const bankId = await sandbox.registerBank('Ada Park')
const engine = app.get(OutlayEngine)
const { manager } = app.get(DataSource)

const hire = (id: string, balance: string) => manager.insert(Courier, { id, bankId, balance })
const balance = async (id: string) => (await manager.findOneByOrFail(Courier, { id })).balance
const cashOut = (path: string, amount: string) => {
  const headers = { 'content-type': 'application/json' }
  return fetch(`${url}/couriers/${path}`, { method: 'PUT', headers, body: JSON.stringify({ amount }) })
}
const read = async (path: string) => (await fetch(`${url}/couriers/${path}`)).json()

it('pays earnings, and receives the webhook', async () => {
  await hire('ada', '180.00')
  const answer = await cashOut('ada/cash-outs/monday', '45.00')
  expect(answer.status).toBe(202)
  expect(await answer.json()).toMatchObject({ id: 'monday', amount: '45.00', status: 'on_its_way' })
  await sandbox.settle(engine)
  expect(await read('ada/cash-outs/monday')).toMatchObject({ status: 'paid' })
  expect(await balance('ada')).toBe('135.00')
})

it('answers a wrong amount with its field', async () => {
  await hire('bob', '60000.00')
  const answer = await cashOut('bob/cash-outs/all', '1,000')
  expect(answer.status).toBe(422)
  expect(await answer.json()).toMatchObject({ code: 'invalid_amount', field: 'amount.value' })
})

it('sends nothing of more than was earned, though the payout was enqueued by then', async () => {
  await hire('cy', '80.00')
  expect((await cashOut('cy/cash-outs/first', '50.00')).status).toBe(202)
  expect((await cashOut('cy/cash-outs/second', '30.01')).status).toBe(409)
  const key = 'cash-out/cy/second'
  expect(await engine.transfers.getByKey(sandbox.access.accountId, key)).toBeUndefined()
  expect((await fetch(`${url}/couriers/cy/cash-outs/second`)).status).toBe(404)
  expect(await balance('cy')).toBe('30.00')
})

it('pays a repeated request once, at once or later', async () => {
  await hire('dee', '500.00')
  const [one, other] = await Promise.all([1, 2].map(() => cashOut('dee/cash-outs/scooter', '70.00')))
  const later = await cashOut('dee/cash-outs/scooter', '70.00')
  const [first, second, third] = await Promise.all([one, other, later].map((answer) => answer?.json()))
  expect([second, third]).toEqual([first, first])
  expect((await cashOut('dee/cash-outs/scooter', '71.00')).status).toBe(422)
  expect(await balance('dee')).toBe('430.00')
})

it('gives the earnings back when the bank rejects the payment', async () => {
  await hire('eve', '9000.00')
  // The sandbox rejects a payment of this amount after it was accepted.
  expect((await cashOut('eve/cash-outs/all', '6660.01')).status).toBe(202)
  expect(await balance('eve')).toBe('2339.99')
  await sandbox.settle(engine)
  expect(await read('eve/cash-outs/all')).toMatchObject({ status: 'unpaid' })
  expect(await balance('eve')).toBe('9000.00')
})

it('refuses forged webhooks, and has created only the expected transfers', async () => {
  for (const body of ['{"type":"transfer.completed"}', '']) {
    const forged = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
    expect((await fetch(`${url}/webhooks/outlay/${sandbox.access.accountId}`, forged)).status).toBe(401)
  }
  await sandbox.settle(engine)
  expect(await sandbox.notes()).toEqual(['cash-out all', 'cash-out first', 'cash-out monday', 'cash-out scooter'])
})
