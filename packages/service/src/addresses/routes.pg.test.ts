import { expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { sampleBankAddress, testContext, testService } from '../../test/service.ts'
import { asSystem } from '../database/tenant.ts'
import { findAddress } from './addresses.ts'
import type { AddressResource } from './view.ts'

const { pool } = await serviceDatabase()
const system = asSystem({ pool })

const context = testContext({ pool })
const service = testService(context)
const { token } = await service.signIn()
const accountId = await service.createAccount(token)

let keys = 0
const register = (body: unknown, at = accountId, as = token) => {
  keys += 1
  return service.call<{ id: string; code?: string }>(`/accounts/${at}/addresses/external`, {
    method: 'POST',
    token: as,
    key: `address-${keys}`,
    body,
  })
}
const read = (id: string) => service.call<AddressResource>(`/accounts/${accountId}/addresses/${id}`, { token })
const change = (id: string, body: unknown, path = `/accounts/${accountId}/addresses/${id}`) =>
  service.call<AddressResource & { code?: string }>(path, { method: 'PATCH', token, body })

const evm = {
  name: 'Supplier wallet',
  address: '0x52908400098527886E0F7030069857D2E4169EE7',
  transfer_types: ['sepolia'],
}
const party = `supplier::1220${'ab'.repeat(32)}`

it('registers a wallet, a Canton party and a bank account, and answers with their records', async () => {
  const wallet = await register({ ...evm, transfer_types: ['sepolia', 'base_sepolia', 'amoy'] })
  expect(wallet.status).toBe(201)
  expect((await read(wallet.json.id)).json).toEqual(wallet.json)
  expect((await read(wallet.json.id)).json).toMatchObject({
    type: 'external',
    status: 'active',
    address: evm.address,
    transfer_types: ['sepolia', 'base_sepolia', 'amoy'],
  })
  const canton = await register({ name: 'Party', address: party, transfer_types: ['canton_testnet'] })
  expect((await read(canton.json.id)).json.address).toBe(party)
  const bank = await register(sampleBankAddress)
  expect((await read(bank.json.id)).json).toMatchObject({
    address: '',
    owner: 'Roe Supplies LLC',
    account_number: '****8899',
    routing_number: '021000021',
    bank_address: { city: 'Springfield' },
  })
})

it('provides bank addresses to other parts of the service', async () => {
  const { id } = (await register({ ...sampleBankAddress, account_number: '90210' })).json
  const row = await findAddress(system, context, accountId, id)
  expect(row).toMatchObject({
    type: 'external',
    kind: 'bank',
    bank: { accountNumberLast4: '0210', accountType: 'checking' },
  })
  expect(JSON.stringify(row)).not.toContain('90210')
})

it.each([
  ['EVM and Solana together', { ...evm, transfer_types: ['sepolia', 'solana_devnet'] }, 'mixed_chains'],
  ['two environments together', { ...evm, transfer_types: ['sepolia', 'ethereum'] }, 'mixed_environments'],
  ['the other environment', { ...evm, transfer_types: ['ethereum'] }, 'mixed_environments'],
  ['a wrong checksum', { ...evm, address: '0x52908400098527886e0F7030069857D2E4169EE7' }, 'address_checksum_mismatch'],
  ['an unknown chain', { ...evm, transfer_types: ['dogecoin'] }, 'unknown_transfer_type'],
  ['a wrong routing number', { ...sampleBankAddress, routing_number: '123456789' }, 'invalid_routing_number'],
  ['a response-only member', { ...evm, id: 'x' }, 'response_only_field'],
  ['no name', { address: evm.address, transfer_types: ['sepolia'] }, 'missing_field'],
])('refuses %s', async (_, body, code) => {
  const { status, json } = await register(body)
  expect([status, json.code]).toEqual([422, code])
})

it('adds transfer types under both names and at both paths, and never removes any', async () => {
  const { id } = (await register(evm)).json
  expect((await change(id, { transfer_types: ['amoy'] })).json.transfer_types).toEqual(['sepolia', 'amoy'])
  const byShortPath = await change(id, { additional_transfer_types: ['amoy', 'fuji'] }, `/addresses/${id}`)
  expect(byShortPath.json.transfer_types).toEqual(['sepolia', 'amoy', 'fuji'])
  expect((await change(id, { name: 'New name', status: 'archived' })).json).toMatchObject({
    name: 'New name',
    status: 'archived',
  })
  expect((await read(id)).json.transfer_types).toEqual(['sepolia', 'amoy', 'fuji'])
})

it('keeps the additions of two concurrent changes', async () => {
  const { id } = (await register(evm)).json
  await Promise.all(
    ['amoy', 'amoy', 'fuji', 'base_sepolia', 'amoy'].map((name) => change(id, { transfer_types: [name] })),
  )
  expect((await read(id)).json.transfer_types.toSorted()).toEqual(['amoy', 'base_sepolia', 'fuji', 'sepolia'])
})

it('refuses a change that breaks a rule of the address', async () => {
  const wallet = (await register(evm)).json.id
  const bank = (await register(sampleBankAddress)).json.id
  const { addresses } = (
    await service.call<{ addresses: AddressResource[] }>(`/accounts/${accountId}/addresses`, { token })
  ).json
  const cases = [
    [wallet, { transfer_types: ['solana_devnet'] }, 'mixed_chains'],
    [wallet, { transfer_types: ['ethereum'] }, 'mixed_environments'],
    [wallet, { transfer_types: ['wire'] }, 'mixed_chains'],
    [bank, { transfer_types: ['sepolia'] }, 'mixed_chains'],
    [bank, { transfer_types: ['spei'] }, 'mixed_chains'],
    [wallet, {}, 'invalid_request'],
    [wallet, { status: 'pending' }, 'invalid_request'],
    [addresses[0]?.id ?? '', { status: 'archived' }, 'invalid_request'],
  ] as const
  for (const [id, body, code] of cases) expect([body, (await change(id, body)).json.code]).toEqual([body, code])
})

it.each(['transfer_types', 'additional_transfer_types'])(
  'gives a custodial wallet no further chain in %s, since its custodian was not asked for it',
  async (member) => {
    const wallet = await service.call<AddressResource>(`/accounts/${accountId}/addresses/internal`, {
      method: 'POST',
      token,
      key: crypto.randomUUID(),
      body: { name: 'Payroll', transfer_types: ['sepolia'] },
    })
    const refused = await change(wallet.json.id, { [member]: ['sepolia', 'amoy'] })
    expect([refused.status, refused.json.code]).toEqual([422, 'transfer_type_not_supported'])
    const changed = await change(wallet.json.id, { [member]: ['sepolia'], name: 'Wages' })
    expect(changed.json).toMatchObject({ name: 'Wages', transfer_types: ['sepolia'] })
  },
)

it('answers 404 for an address of another client, on every path', async () => {
  const stranger = await service.signIn()
  const strange = await service.createAccount(stranger.token)
  const { id } = (await register(evm, strange, stranger.token)).json
  for (const path of [`/addresses/${id}`, `/accounts/${accountId}/addresses/${id}`, '/addresses/unknown']) {
    expect((await service.call(path, { token })).status).toBe(404)
    expect((await change(id, { name: 'Mine' }, path)).status).toBe(404)
  }
})

it('lists custodial wallets under the account, and everything of all accounts at the root', async () => {
  const owner = await service.signIn()
  const first = await service.createAccount(owner.token)
  const second = await service.createAccount(owner.token)
  const external = (await register(sampleBankAddress, first, owner.token)).json.id
  const list = async (path: string) =>
    (await service.call<{ addresses: AddressResource[] }>(path, { token: owner.token })).json.addresses
  expect((await list(`/accounts/${first}/addresses`)).every((one) => one.type === 'internal')).toBe(true)
  expect((await list(`/accounts/${first}/addresses?type=external`)).map((one) => one.id)).toEqual([external])
  const all = await list('/addresses?page[size]=100')
  expect(new Set(all.map((one) => one.account_id))).toEqual(new Set([first, second]))
  expect(all.map((one) => one.id)).toContain(external)
  expect(
    (await list(`/accounts/${first}/addresses?transfer_type=amoy`)).map((one) => one.transfer_types.includes('amoy')),
  ).toEqual([true])
  const [wallet] = await list(`/accounts/${second}/addresses`)
  expect((await list(`/addresses?address=${wallet?.address.toLowerCase()}`)).map((one) => one.id)).toEqual([wallet?.id])
  expect(await list('/addresses?transfer_type=AMOY')).toEqual([])
})

it('pages forward and back over the same rows, with the filters inside the cursor', async () => {
  const owner = await service.signIn()
  const account = await service.createAccount(owner.token)
  for (let count = 0; count < 7; count += 1) await register({ ...evm, name: `Wallet ${count}` }, account, owner.token)
  const list = async (query: string) =>
    (
      await service.call<{ addresses: AddressResource[]; pagination: { next: string | null; prev: string | null } }>(
        `/accounts/${account}/addresses?page[size]=3&${query}`,
        { token: owner.token },
      )
    ).json
  const first = await list('type=external')
  const second = await list(`page[after]=${first.pagination.next}`)
  const third = await list(`page[next]=${second.pagination.next}&type=external`)
  expect([first, second, third].map((page) => page.addresses.length)).toEqual([3, 3, 1])
  expect(third.pagination.next).toBeNull()
  expect(first.pagination.prev).toBeNull()
  const ids = [first, second, third].flatMap((page) => page.addresses.map((one) => one.id))
  expect(new Set(ids).size).toBe(7)
  expect((await list(`page[prev]=${third.pagination.prev}`)).addresses).toEqual(second.addresses)
  const back = await list(`page[before]=${second.pagination.prev}`)
  expect(back.addresses).toEqual(first.addresses)
  expect(back.pagination.prev).toBeNull()
})

it('refuses a bad size, two cursors, a forged cursor, one of another list and one with another filter', async () => {
  const list = (query: string, path = `/accounts/${accountId}/addresses`) =>
    service.call<{ pagination: { next: string }; errors: { source: unknown }[] }>(`${path}?${query}`, { token })
  const { next } = (await list('page[size]=1')).json.pagination
  const cases = [
    ['page[size]=0', 'page[size]'],
    ['page[size]=101', 'page[size]'],
    ['page[size]=x', 'page[size]'],
    [`page[after]=${next}&page[prev]=${next}`, 'page[after]'],
    [`page[after]=${next.slice(0, -2)}`, 'page[after]'],
    [`page[after]=${next}.x`, 'page[after]'],
    [`page[after]=${next}&transfer_type=amoy`, 'transfer_type'],
    ['address=%00', 'address'],
  ] as const
  for (const [query, parameter] of cases) {
    const { status, json } = await list(query)
    expect([query, status, json.errors[0]?.source]).toEqual([query, 422, { parameter }])
  }
  expect((await list(`page[after]=${next}`, '/addresses')).status).toBe(422)
})
