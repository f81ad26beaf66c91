import { expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { testContext, testService } from '../../test/service.ts'
import type { ServiceContext } from '../context.ts'
import { createSimulatedCustody } from '../rails/simulated/custody.ts'
import { mostAdditionalWallets } from './internal.ts'
import type { AddressResource } from './view.ts'

interface AddressPage {
  readonly addresses: readonly AddressResource[]
  readonly pagination: { readonly next: string | null }
}

const { pool } = await serviceDatabase()
const custody = createSimulatedCustody()

const open = async (parts: Partial<ServiceContext> = {}) => {
  const service = testService(testContext({ pool, ...parts }))
  const { token } = await service.signIn()
  const accountId = await service.createAccount(token)
  const path = `/accounts/${accountId}/addresses`
  const create = (body: unknown = { name: 'Payroll', transfer_types: ['sepolia'] }) =>
    service.call<AddressResource & { code?: string }>(`${path}/internal`, {
      method: 'POST',
      token,
      key: crypto.randomUUID(),
      body,
    })
  /** All of them: the clock stands still, so the order of their ids is not that of their creation, and a page is any of them. */
  const list = async () => {
    const all: AddressResource[] = []
    for (let after = ''; ; ) {
      const { json } = await service.call<AddressPage>(`${path}?page[size]=100${after}`, { token })
      all.push(...json.addresses)
      if (json.pagination.next === null) return all
      after = `&page[after]=${encodeURIComponent(json.pagination.next)}`
    }
  }
  return { create, list }
}

it('creates wallets beside those of the account, each at an address of its own, up to a limit', async () => {
  const { create, list } = await open()
  const before = (await list()).length
  const made = []
  for (let count = 0; count < mostAdditionalWallets; count += 1) made.push((await create()).json)
  expect(new Set(made.map(({ address }) => address)).size).toBe(mostAdditionalWallets)
  expect(made[0]).toMatchObject({ type: 'internal', status: 'active', is_primary: false, ownership: 'custodial' })
  expect((await list()).filter((one) => one.is_primary)).toHaveLength(before)
  const refused = await create()
  expect([refused.status, refused.json.code]).toEqual([409, 'conflict'])
})

it.each([
  [['wire'], 'transfer_type_not_supported'],
  [['base'], 'mixed_environments'],
  [['sepolia', 'solana_devnet'], 'mixed_chains'],
  [['nowhere'], 'unknown_transfer_type'],
  [[], 'invalid_request'],
])('refuses a wallet on %j with %s', async (names, code) => {
  const { create } = await open()
  expect((await create({ name: 'Payroll', transfer_types: names })).json.code).toBe(code)
})

it('writes nothing when the custodian gives an address that is in use, or none', async () => {
  const careless = { ...custody, provision: custody.provision.bind(custody) }
  const forgetful: typeof custody.provision = ({ walletId: _, ...order }, options) => custody.provision(order, options)
  for (const provision of [forgetful, () => Promise.reject(new Error('down'))]) {
    const { create, list } = await open({ custody: careless })
    const before = await list()
    careless.provision = provision
    const answer = await create({ name: 'Payroll', transfer_types: ['sepolia', 'base_sepolia', 'amoy', 'fuji'] })
    careless.provision = custody.provision
    expect([answer.status, answer.json.code]).toEqual([503, 'service_unavailable'])
    expect(await list()).toEqual(before)
  }
})

it('says for good that there is no custodian', async () => {
  const { create } = await open({ custody: undefined })
  const { status, json } = await create()
  expect([status, json.code]).toEqual([422, 'unsupported_flow'])
})
