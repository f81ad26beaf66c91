import { createServer } from 'node:http'
import { migrateSandbox, openSandbox } from '@outlay/example-sandbox'
import { listen } from '@outlay/example-sandbox/server'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, expect, it } from 'vitest'
import { createApp } from './app.ts'
import { createLoanEngine } from './engine.ts'
import type { LoanView } from './loans.ts'
import { migrateDatabase, openDatabase } from './schema.ts'

const { url: serviceUrl } = await testDatabase({ key: 'example-service', prepare: migrateSandbox })
const { url: databaseUrl } = await testDatabase()
const running = new AsyncDisposableStack()
afterAll(() => running.disposeAsync())

const sandbox = running.use(await openSandbox(serviceUrl))
const database = running.use(openDatabase(databaseUrl))
const engine = running.use(createLoanEngine(database, sandbox.access))
await migrateDatabase(database)
await engine.migrate()
const app = createApp({ database, engine, service: sandbox.access })
const { url } = running.use(await listen(createServer(app)))
await sandbox.registerWebhooks(url)
await engine.start()
const right = await sandbox.registerBank('Ada Park')
// The sandbox's banks refuse wires to an account number with this end.
const wrong = await sandbox.registerBank('Ada Park', '1000000500')

async function approve(id: string, principal: string, bankId = right) {
  await database.creditLines.create({ id, available: '10000.00' })
  await database.loans.create({ id, creditLineId: id, bankId, principal })
}
const disburse = (id: string) => fetch(`${url}/loans/${id}/disbursement`, { method: 'POST' })
const correct = (id: string, transferId: string, bankId: string) => {
  const headers = { 'content-type': 'application/json' }
  const path = `${url}/loans/${id}/disbursements/${transferId}/correction`
  return fetch(path, { method: 'PUT', headers, body: JSON.stringify({ bankId }) })
}
const read = async (id: string) => (await fetch(`${url}/loans/${id}`)).json() as Promise<LoanView>
const available = async (id: string) => (await database.creditLines.findByPk(id))?.available

/** A loan whose only disbursement has failed, and the id of that one. */
async function fail(id: string): Promise<string> {
  await approve(id, '4000.00', wrong)
  await disburse(id)
  await sandbox.settle(engine)
  const [failed] = (await read(id)).disbursements
  return failed?.transferId ?? ''
}

it('disburses a loan, and receives the webhook', async () => {
  await approve('roof', '2500.00')
  const answer = await disburse('roof')
  expect(answer.status).toBe(202)
  expect(await answer.json()).toMatchObject({ status: 'disbursing', disbursements: [{ status: 'on_its_way' }] })
  await sandbox.settle(engine)
  expect(await read('roof')).toMatchObject({ status: 'disbursed', disbursements: [{ status: 'paid' }] })
  expect(await available('roof')).toBe('7500.00')
})

it('sends nothing when the credit line is too small, though the payout was enqueued by then', async () => {
  await approve('palace', '10000.01')
  expect((await disburse('palace')).status).toBe(409)
  expect(await engine.transfers.getByKey(sandbox.access.accountId, 'loan/palace')).toBeUndefined()
  expect(await read('palace')).toMatchObject({ status: 'approved', disbursements: [] })
  expect(await available('palace')).toBe('10000.00')
})

it('pays a repeated request once, at once or later', async () => {
  await approve('car', '700.00')
  const [one, other] = await Promise.all([1, 2].map(() => disburse('car')))
  const later = await disburse('car')
  const [first, second, third] = await Promise.all([one, other, later].map((answer) => answer?.json()))
  expect([second, third]).toEqual([first, first])
  expect(await available('car')).toBe('9300.00')
})

it('pays a failed disbursement to the right account, once, without drawing the credit line again', async () => {
  const failedId = await fail('van')
  expect(await read('van')).toMatchObject({
    status: 'failed',
    disbursements: [{ status: 'failed', reason: 'The receiving bank refused the payment' }],
  })
  const [one, other] = await Promise.all([1, 2].map(() => correct('van', failedId, right)))
  const later = await correct('van', failedId, right)
  expect([one?.status, other?.status, later.status]).toEqual([202, 202, 202])
  const [first, second, third] = await Promise.all([one, other, later].map((answer) => answer?.json()))
  expect([second, third]).toEqual([first, first])
  expect(first).toMatchObject({ status: 'disbursing', disbursements: [{ status: 'failed' }, { status: 'on_its_way' }] })
  await sandbox.settle(engine)
  const loan = await read('van')
  expect(loan).toMatchObject({ status: 'disbursed', disbursements: [{ status: 'failed' }, { status: 'paid' }] })
  expect(await available('van')).toBe('6000.00')
  // The engine knows which transfer stands for which.
  const [, paid] = loan.disbursements
  expect(await engine.transfers.get(failedId)).toMatchObject({ resubmittedAs: paid?.transferId })
  expect(await engine.transfers.get(paid?.transferId ?? '')).toMatchObject({ resubmissionOf: failedId })
})

it('refuses a correction of what is paid, on its way, or was corrected otherwise', async () => {
  const [paid] = (await read('roof')).disbursements
  expect((await correct('roof', paid?.transferId ?? '', right)).status).toBe(409)
  const failedId = await fail('truck')
  const before = await read('truck')
  const wanted = await correct('truck', failedId, 'not an id')
  expect([wanted.status, await wanted.json()]).toMatchObject([422, { field: 'destination.addressId' }])
  expect(await read('truck')).toEqual(before)
  expect((await correct('truck', failedId, right)).status).toBe(202)
  const [, sent] = (await read('truck')).disbursements
  expect((await correct('truck', failedId, wrong)).status).toBe(409)
  expect((await correct('truck', sent?.transferId ?? '', wrong)).status).toBe(409)
  expect((await correct('roof', failedId, right)).status).toBe(404)
})

it('refuses forged webhooks, and has created only the expected transfers', async () => {
  for (const body of ['{"type":"transfer.completed"}', '']) {
    const forged = { method: 'POST', body }
    expect((await fetch(`${url}/webhooks/outlay/${sandbox.access.accountId}`, forged)).status).toBe(401)
  }
  await sandbox.settle(engine)
  expect(await sandbox.notes()).toEqual(['loan car', 'loan roof', 'loan truck', 'loan truck', 'loan van', 'loan van'])
})
