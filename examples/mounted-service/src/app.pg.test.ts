import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { migrateSandbox, openClock } from '@outlay/example-sandbox'
import { listen } from '@outlay/example-sandbox/server'
import { createClient } from '@outlay/http-client'
import { createService, deposit, inTransaction } from '@outlay/service'
import { waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, expect, it } from 'vitest'
import { createApp, migrateDatabase } from './app.ts'

const database = await testDatabase({ key: 'example-service', prepare: migrateSandbox })
const running = new AsyncDisposableStack()
afterAll(() => running.disposeAsync())

const pool = new pg.Pool({ connectionString: database.url, max: 20 })
running.defer(() => pool.end())
const encryptionKey = createHash('sha256').update('an example').digest()
const service = createService({ pool, rails: 'simulated', encryptionKey })
running.defer(() => service.stop())
await migrateDatabase(pool)
await service.start()
const { url } = running.use(await listen(createServer(getRequestListener(createApp({ pool, service }).fetch))))

const signUp = (name: string) => fetch(`${url}/partners`, { method: 'POST', body: JSON.stringify({ name }) })
const countClients = async () => (await pool.query('select from outlay_service.client')).rowCount

it('answers its own routes beside those of the service', async () => {
  expect(await (await fetch(`${url}/partners`)).json()).toEqual([])
  expect(await (await fetch(`${url}/payouts/health`)).json()).toEqual({ healthy: true })
  const document = (await (await fetch(`${url}/payouts/openapi.json`)).json()) as { readonly openapi: string }
  expect(document.openapi).toMatch(/^3\.1/)
  expect((await fetch(`${url}/health`)).status).toBe(404)
})

it('lets a partner that signed up make a payment, below its prefix', async () => {
  const credentials = (await (await signUp('Acme')).json()) as { clientId: string; clientSecret: string }
  await using client = createClient({ baseUrl: `${url}/payouts`, credentials })
  const office = { streetLine1: '1 Main Street', city: 'Chicago', state: 'IL', zip: '60601' }
  const { id: accountId } = await client.accounts.create('new', {
    businessName: 'Acme',
    ein: '12-3456789',
    address: office,
    phoneNumber: '+1 312 555 0100',
    email: 'owner@example.com',
    website: 'https://example.com',
    ultimateBeneficialOwners: [{ name: 'Ada Park', ssn: '123-45-6789', address: office }],
  })
  const { items } = await client.addresses.list(accountId, { type: 'internal' })
  const addressId = items.find(({ transferTypes }) => transferTypes.includes('base'))?.id ?? ''
  const usdc = { valueType: 'USDC', transferType: 'base' }
  await inTransaction(service.context, (tx) =>
    deposit(tx, service.context, { accountId, addressId, ...usdc, amount: '100', reference: '0x1' }),
  )
  const payee = { name: 'Bo', address: '0xdE7A1aDc88C706C062A742F4419AA4903c0FebAf', transferTypes: ['base'] }
  const { id: payeeId } = await client.addresses.createExternal(accountId, payee)
  const { id } = await client.transfers.create(accountId, {
    amount: { value: '40.00', currency: 'USDC' },
    source: { addressId, ...usdc },
    destination: { addressId: payeeId, ...usdc },
  })
  const pass = await openClock(`${url}/payouts`, credentials)
  await waitUntil(
    async () => {
      await pass(1)
      return (await client.transfers.get(accountId, id))?.status === 'complete'
    },
    { timeoutMs: 45_000 },
  )
  expect((await client.balances.get(accountId, addressId, usdc))?.available.value).toBe('60.00')
})

it('registers no client for a partner whose name is in use', async () => {
  expect((await signUp('Birch')).status).toBe(201)
  const before = await countClients()
  expect((await signUp('Birch')).status).toBe(409)
  expect(await countClients()).toBe(before)
})
