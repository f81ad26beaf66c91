import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { checkedFetch } from '../../test/contract.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import { instructionReader } from './instructions.ts'

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let bank: string
let otherAccountId: string
let otherToken: string
const address = { street_line_1: '1 Main St', city: 'Springfield', state: 'IL', zip: '62701' }
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '1000' }])
  const body = {
    owner: 'Jane Roe',
    name: 'Bank',
    account_number: '000555777',
    routing_number: '021000021',
    account_type: 'checking',
    bank_address: address,
    beneficiary_address: address,
    transfer_types: ['ach_credit', 'ach_debit', 'same_day_ach_credit', 'wire', 'rtp'],
  }
  bank = (await api.call<{ id: string }>('POST', `/accounts/${api.accountId}/addresses/external`, { body })).body.id
  const other = await api.sandbox.seedClient({ name: 'Other', accounts: [{ businessName: 'Other Inc' }] })
  otherAccountId = other.accounts[0]?.accountId ?? ''
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: other.clientId,
    client_secret: other.clientSecret,
  })
  const granted = await checkedFetch(globalThis.fetch)(`${api.sandbox.url}/oauth2/token`, {
    method: 'POST',
    body: form,
  })
  otherToken = ((await granted.json()) as { access_token: string }).access_token
})
afterAll(() => api.stop())

interface Answer {
  readonly id: string
  readonly code?: string
  readonly errors?: readonly { readonly source: { readonly pointer: string } }[]
}
const wallet = () => ({ address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' })
const bankLeg = (transferType: string) => ({ address_id: bank, value_type: 'USD', transfer_type: transferType })
const create = (transferType: string, brandAccountId?: string) => {
  const legs =
    transferType === 'ach_debit'
      ? { source: bankLeg(transferType), destination: wallet() }
      : { source: wallet(), destination: bankLeg(transferType) }
  const brand = brandAccountId === undefined ? {} : { brand: { account_id: brandAccountId } }
  const body = { amount: { value: '5', currency: 'USD' }, ...legs, ...brand }
  return api.call<Answer>('POST', `/accounts/${api.accountId}/transfers`, { body })
}
const lineOf = (id: string) =>
  vi.waitFor(
    async () => {
      const { status, body } = await api.call('GET', `/simulations/transfers/${id}/statement-line`)
      expect(status).toBe(200)
      return body
    },
    { timeout: 60_000, interval: 25 },
  )

it.each(['ach_credit', 'same_day_ach_credit', 'ach_debit'])(
  'an %s shows the business name of its brand on the statement',
  async (transferType) => {
    const { status, body } = await create(transferType, api.otherAccountId)
    expect(status).toBe(201)
    expect(await lineOf(body.id)).toEqual({
      transfer_id: body.id,
      company_name: 'Managed Inc',
      name: 'Managed Inc',
      entry_description: 'PAYMENT',
      trace_number: expect.stringMatching(/^\d{15}$/),
    })
  },
)

it('without a brand it is the name of the account itself, cut to sixteen characters', async () => {
  const { body } = await create('ach_credit')
  expect(await lineOf(body.id)).toMatchObject({ company_name: 'Acme Payments LL', name: 'Acme Payments LLC' })
})

it('the instruction of the rail has the name', async () => {
  const [branded, plain] = [await create('ach_debit', api.otherAccountId), await create('wire')]
  const read = instructionReader(api.sandbox.service.context)
  expect(await read(branded.body.id)).toMatchObject({
    brandAccountId: api.otherAccountId,
    statementName: 'Managed Inc',
  })
  expect(await read(plain.body.id)).toMatchObject({ brandAccountId: undefined, statementName: 'Acme Payments LLC' })
})

it.each(['wire', 'rtp'])('a brand on a %s is refused', async (transferType) => {
  const { status, body } = await create(transferType, api.otherAccountId)
  expect(status).toBe(422)
  expect(body.errors?.[0]?.source.pointer).toMatch(/^\/brand/)
})

it('a brand that the client neither owns nor manages is refused, and so is one that does not exist', async () => {
  for (const accountId of [otherAccountId, '01KA0000000000000000000000']) {
    const { status, body } = await create('ach_credit', accountId)
    expect([status, body.code]).toEqual([422, 'invalid_id'])
    expect(body.errors?.[0]?.source.pointer).toMatch(/^\/brand\//)
  }
})

it.each(['pending', 'rejected'])(
  'a brand that is %s is refused, on a transfer and on an automation, and is one again once it is complete',
  async (status) => {
    const setStatus = async (to: string) => {
      const path = `/simulations/accounts/${api.otherAccountId}/status`
      expect((await api.call('POST', path, { body: { status: to } })).status).toBe(200)
    }
    const brand = { account_id: api.otherAccountId }
    const body = { name: 'Branded', source: { value_type: 'USD' }, destination: wallet(), brand }
    const automate = () => api.call<Answer>('POST', `/accounts/${api.accountId}/automations`, { body })
    const createBoth = async () => [await create('ach_debit', api.otherAccountId), await automate()]
    await setStatus(status)
    for (const refused of await createBoth()) {
      expect([refused.status, refused.body.code]).toEqual([422, 'account_not_ready'])
      expect(refused.body.errors?.[0]?.source.pointer).toBe('/brand/account_id')
    }
    await setStatus('complete')
    for (const created of await createBoth()) expect(created.status).toBe(201)
  },
)

it('there is no line for another rail, for an unknown transfer or for another client', async () => {
  const [wire, ach] = [await create('wire'), await create('ach_credit')]
  await lineOf(ach.body.id)
  const path = (id: string) => `/simulations/transfers/${id}/statement-line`
  for (const id of [wire.body.id, 'nothing']) expect((await api.call('GET', path(id))).status, id).toBe(404)
  const headers = { authorization: `Bearer ${otherToken}` }
  const foreign = await checkedFetch(globalThis.fetch)(`${api.sandbox.url}${path(ach.body.id)}`, { headers })
  expect(foreign.status).toBe(404)
})
