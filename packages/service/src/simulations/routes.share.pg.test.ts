import { testDatabase } from '@outlay/testing/vitest'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { type SignedInClient, signInClient } from '../../test/client-caller.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { sampleBankAddress } from '../../test/service.ts'
import { beginAs } from '../database/tenant.ts'

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let other: SignedInClient
const locker = new Client({ connectionString: database.url })
let bankId: string
beforeAll(async () => {
  await locker.connect()
  await locker.query(`set outlay.system = 'on'`)
  api = await testSandbox(database.url, [], { poolSize: 4 })
  other = await signInClient(api.sandbox, { name: 'Other', accounts: [{ businessName: 'Other' }] })
  const body = { ...sampleBankAddress, transfer_types: ['ach_debit'] }
  bankId = await post('/addresses/external', body)
})
afterAll(() => Promise.all([api.stop(), locker.end()]))

const schema = () => api.sandbox.service.context.schema
const post = async (path: string, body: unknown) =>
  (await api.call<{ id: string }>('POST', `/accounts/${api.accountId}${path}`, { body })).body.id

/** Creates a transfer that its rail has. */
async function createTransfer(source: object): Promise<string> {
  const destination = { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' }
  const id = await post('/transfers', { amount: { value: '10', currency: 'USD' }, source, destination })
  const payments = `select from ${schema()}.rail_payment where transfer_id = $1`
  await vi.waitFor(async () => expect((await locker.query(payments, [id])).rowCount).toBe(1), { timeout: 60_000 })
  return id
}
const debit = () => createTransfer({ address_id: bankId, value_type: 'USD', transfer_type: 'ach_debit' })
const wire = () => createTransfer({ value_type: 'USD', transfer_type: 'wire' })
const end = (how: string) => (id: string) => `/simulations/transfers/${id}/${how}`

it.each([
  ['settle', debit, end('settle'), () => ({})],
  ['reject', debit, end('reject'), () => ({})],
  ['return', debit, end('return'), () => ({ code: 'R01' })],
  ['accept', debit, end('accept'), () => ({})],
  ['wire', wire, () => '/simulations/wires', (id: string) => ({ transfer_id: id })],
  ['cancel', wire, (id: string) => `/accounts/${api.accountId}/transfers/${id}/cancel`, () => ({})],
  ['clock', undefined, () => '/simulations/clock/advance', () => ({ seconds: 0 })],
] as const)('requests that wait for a lock of the simulation leave half of the connections: %s', async (...given) => {
  const [, create, path, body] = given
  const id = (await create?.()) ?? ''
  const locked = create === undefined ? 'simulation_clock' : `rail_payment where transfer_id = '${id}'`
  await locker.query(beginAs('system'))
  onTestFinished(async () => void (await locker.query('rollback')))
  await locker.query(`select from ${schema()}.${locked} for update`)
  const waiting = Array.from({ length: 8 }, () => api.call('POST', path(id), { body: body(id) }))
  const ends = Promise.all(waiting)
  const waits = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
  await vi.waitFor(async () => expect((await locker.query(waits)).rowCount).toBe(2), { timeout: 60_000 })
  const read = other.caller()
  const account = `/accounts/${other.seeded.accounts[0]?.accountId}`
  for (let count = 0; count < 10; count += 1) expect((await read(account)).status).toBe(200)
  expect((await locker.query(waits)).rowCount).toBe(2)
  await locker.query('rollback')
  for (const { status } of await ends) expect(status).toBeLessThan(500)
})
