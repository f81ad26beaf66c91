import type { AccountStatus } from '@outlay/core'
import { expect, it, onTestFinished } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { testContext, testService } from '../../test/service.ts'
import { setAccountStatus } from '../accounts/accounts.ts'
import { inTransaction, type ServiceContext } from '../context.ts'
import { createSimulatedCustody } from '../rails/simulated/custody.ts'
import type { WalletCustody, WalletOrder } from './custody.ts'
import { mostAdditionalWallets } from './internal.ts'
import type { AddressResource } from './view.ts'

interface AddressPage {
  readonly addresses: readonly AddressResource[]
  readonly pagination: { readonly next: string | null }
}

const { pool } = await serviceDatabase()
const simulated = createSimulatedCustody()
const orders: WalletOrder[] = []
const custody = {
  ...simulated,
  provision: (...[order, options]: Parameters<WalletCustody['provision']>) => {
    orders.push(order)
    return simulated.provision(order, options)
  },
}

const open = async (parts: Partial<ServiceContext> = {}) => {
  const context = testContext({ pool, custody, ...parts })
  const service = testService(context)
  const { token } = await service.signIn()
  const accountId = await service.createAccount(token)
  const path = `/accounts/${accountId}/addresses`
  const setStatus = (status: AccountStatus) =>
    inTransaction(context, (tx) => setAccountStatus(tx, context, accountId, status))
  const create = (
    body: unknown = { name: 'Payroll', transfer_types: ['sepolia'] },
    key: string = crypto.randomUUID(),
  ) =>
    service.call<AddressResource & { code?: string }>(`${path}/internal`, {
      method: 'POST',
      token,
      key,
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
  return { create, list, setStatus }
}

it('creates wallets beside those of the account, each at an address of its own, up to a limit', async () => {
  const { create, list } = await open()
  const before = (await list()).length
  const made = []
  for (let count = 0; count < mostAdditionalWallets; count += 1) made.push((await create()).json)
  expect(new Set(made.map(({ address }) => address)).size).toBe(mostAdditionalWallets)
  expect(made[0]).toMatchObject({ type: 'internal', status: 'active', is_primary: false, ownership: 'custodial' })
  expect((await list()).filter((one) => one.is_primary)).toHaveLength(before)
  const { length } = orders
  const refused = await create()
  expect([refused.status, refused.json.code]).toEqual([409, 'conflict'])
  expect(orders).toHaveLength(length)
})

it('orders the same wallet again for a repeat of its request, and another one for another request', async () => {
  const { create, list } = await open()
  const [count, key] = [(await list()).length, crypto.randomUUID()]
  const body = { name: 'Payroll', transfer_types: ['sepolia'] }
  const { provision } = custody
  custody.provision = async (...given) => {
    await provision(...given)
    throw new Error('The answer is lost.')
  }
  onTestFinished(() => {
    custody.provision = provision
  })
  expect((await create(body, key)).status).toBe(503)
  custody.provision = provision
  const made = await create(body, key)
  expect([made.status, (await create()).status, (await list()).length]).toEqual([201, 201, count + 2])
  const [first, second, third] = orders.slice(-3)
  expect(first?.walletId).toMatch(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
  expect(second).toEqual(first)
  expect(third?.walletId).not.toBe(first?.walletId)
  const [address] = await provision(first as WalletOrder, { signal: new AbortController().signal })
  expect(made.json.address).toBe(address)
})

it('asks the custodian for no wallet of an account that is rejected', async () => {
  const { create, setStatus } = await open()
  await setStatus('rejected')
  const { length } = orders
  const refused = await create()
  expect([refused.status, refused.json.code, orders.length]).toEqual([422, 'account_not_ready', length])
  await setStatus('complete')
  expect((await create()).status).toBe(201)
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
