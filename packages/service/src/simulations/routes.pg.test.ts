import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { checkedFetch } from '../../test/contract.ts'
import { inspect } from '../../test/inspection.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import type { TransferResource } from '../transfers/view.ts'

const fetch = checkedFetch(globalThis.fetch)

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let cantonWallet: string
beforeAll(async () => {
  api = await testSandbox(database.url, [
    { valueType: 'USDC', transferType: 'base', amount: '100000' },
    { valueType: 'USDC', transferType: 'canton', amount: '100' },
  ])
  const { body } = await api.call<{ addresses: { id: string; transfer_types: string[] }[] }>(
    'GET',
    `/accounts/${api.accountId}/addresses?type=internal`,
  )
  cantonWallet = body.addresses.find(({ transfer_types }) => transfer_types.includes('canton'))?.id ?? ''
})
afterAll(() => api.stop())

const addAddress = async (body: unknown): Promise<string> =>
  (await api.call<{ id: string }>('POST', `/accounts/${api.accountId}/addresses/external`, { body })).body.id
const create = async (body: unknown) =>
  (await api.call<TransferResource>('POST', `/accounts/${api.accountId}/transfers`, { body })).body
const reaches = (id: string, status: string): Promise<TransferResource> =>
  vi.waitFor(
    async () => {
      const { body } = await api.call<TransferResource>('GET', `/accounts/${api.accountId}/transfers/${id}`)
      expect(body.status).toBe(status)
      return body
    },
    { timeout: 60_000, interval: 25 },
  )
const simulate = (id: string, action: string, body: unknown = {}) =>
  api.call('POST', `/simulations/transfers/${id}/${action}`, { body })
const advance = (seconds: number) => api.call('POST', '/simulations/clock/advance', { body: { seconds } })

const stalled = async () => {
  const payee = await addAddress({
    name: 'Payee',
    address: '0x52908400098527886E0F7030069857D2E4169EE7',
    transfer_types: ['base'],
  })
  const { id } = await create({
    amount: { value: '6660.04', currency: 'USDC' },
    source: { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' },
    destination: { address_id: payee, value_type: 'USDC', transfer_type: 'base' },
  })
  await reaches(id, 'processing')
  return id
}

it('a stalled payment waits until it is settled', async () => {
  const id = await stalled()
  await advance(86_400)
  await reaches(id, 'processing')
  expect((await simulate(id, 'settle')).status).toBe(202)
  await reaches(id, 'complete')
  expect((await simulate(id, 'settle')).status).toBe(409)
})

it('a payment is rejected with the given code, and returned with a code of the ACH network', async () => {
  const rejected = await stalled()
  await simulate(rejected, 'reject', { code: 'sanctions', detail: 'Held for review' })
  expect((await reaches(rejected, 'failed')).failure).toMatchObject({ code: 'sanctions', detail: 'Held for review' })
  const returned = await stalled()
  expect((await simulate(returned, 'return', { code: 'R99' })).status).toBe(422)
  await simulate(returned, 'return', { code: 'R29' })
  expect((await reaches(returned, 'failed')).failure).toMatchObject({ type: 'returned', code: 'R29' })
})

it('a wire that never arrives can be ended', async () => {
  const { id } = await create({
    amount: { value: '5', currency: 'USD' },
    source: { value_type: 'USD', transfer_type: 'wire' },
    destination: { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' },
  })
  await simulate(id, 'reject')
  await reaches(id, 'failed')
})

it('a Canton offer to an outside party expires after 72 hours unless it is accepted', async () => {
  const party = await addAddress({
    name: 'Party',
    address: `party::1220${'ab'.repeat(32)}`,
    transfer_types: ['canton'],
  })
  const offer = () =>
    create({
      amount: { value: '10', currency: 'USDC' },
      source: { address_id: cantonWallet, value_type: 'USDC', transfer_type: 'canton' },
      destination: { address_id: party, value_type: 'USDC', transfer_type: 'canton' },
    })
  const [accepted, ignored] = [await offer(), await offer()]
  await reaches(accepted.id, 'processing')
  await reaches(ignored.id, 'processing')
  expect((await simulate(accepted.id, 'accept')).status).toBe(202)
  await reaches(accepted.id, 'complete')
  await advance(72 * 3_600)
  expect((await reaches(ignored.id, 'failed')).failure).toMatchObject({ type: 'expired' })
})

it('the clock only goes forward, and a transfer of another client is not found', async () => {
  expect((await advance(-1)).status).toBe(422)
  const before = await api.call<{ now: string }>('GET', '/simulations/clock')
  const after = await api.call<{ now: string }>('POST', '/simulations/clock/advance', { body: { seconds: 3_600 } })
  const passedMs = Date.parse(after.body.now) - Date.parse(before.body.now)
  expect(passedMs).toBeGreaterThanOrEqual(3_600_000)
  const other = await api.sandbox.seedClient({ name: 'Other', accounts: [{ businessName: 'Other' }] })
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: other.clientId,
    client_secret: other.clientSecret,
  })
  const granted = await fetch(`${api.sandbox.url}/oauth2/token`, { method: 'POST', body: form })
  const { access_token: token } = (await granted.json()) as { access_token: string }
  const id = await stalled()
  const touched = await fetch(`${api.sandbox.url}/simulations/transfers/${id}/settle`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  })
  expect(touched.status).toBe(404)
})

it('every posting of every flow so far sums to zero, and every balance equals its entries', async () => {
  const { pool, schema } = api.sandbox.service.context
  const unbalanced = await inspect(pool).query(
    `select posting_id, step, value_type from ${schema}.ledger_entry group by 1, 2, 3 having sum(amount) <> 0`,
  )
  const drifted = await inspect(pool).query(
    `select id from ${schema}.ledger_balance
      where kind = 'custodial' and (available <> entries_available or held <> entries_held)`,
  )
  expect([unbalanced.rows, drifted.rows]).toEqual([[], []])
})
