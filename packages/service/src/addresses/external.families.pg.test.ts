import { bech32Family, createCatalog, tronFamily } from '@outlay/core'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import type { AddressResource } from './view.ts'

const database = await testDatabase({ role: 'ordinary' })
const xion = bech32Family({ name: 'xion' })
const tron = tronFamily()
const catalog = createCatalog({
  families: [xion, tron],
  transferTypes: [
    { name: 'xion', family: 'xion', expectedMs: 10_000 },
    { name: 'tron', family: 'tron', expectedMs: 60_000 },
  ],
})
let api: TestSandbox
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'xion', amount: '25' }], { catalog })
})
afterAll(() => api.stop())

const list = async () =>
  (await api.call<{ addresses: AddressResource[] }>('GET', `/accounts/${api.accountId}/addresses?page[size]=100`)).body
    .addresses

it('an account has wallets on chains of added families, whose addresses pass their checks', async () => {
  const wallets = await list()
  const on = (chain: string) => wallets.find(({ transfer_types: types }) => types.includes(chain))?.address ?? ''
  expect(on('xion')).toMatch(/^xion1/)
  expect(xion.parse(on('xion'), 'address')).toBe(on('xion'))
  expect(tron.parse(on('tron'), 'address')).toBe(on('tron'))
})

it('a counterparty is paid at such an address, and one that is none is refused', async () => {
  const path = `/accounts/${api.accountId}/addresses/external`
  const register = (address: string, chain: string) =>
    api.call<{ id: string; code?: string }>('POST', path, {
      body: { name: 'Supplier', address, transfer_types: [chain] },
    })
  const address = xion.fromOctets(new Uint8Array(32).fill(3))
  const payee = await register(address, 'xion')
  expect(payee.status).toBe(201)
  expect((await register(address.slice(0, -1), 'xion')).body.code).toBe('address_checksum_mismatch')
  expect((await register(address, 'tron')).body.code).toBe('invalid_address')
  const wallet = (await list()).find(({ transfer_types: types }) => types.includes('xion'))
  const leg = { value_type: 'USDC', transfer_type: 'xion' }
  const transfer = await api.call('POST', `/accounts/${api.accountId}/transfers`, {
    body: {
      amount: { value: '20', currency: 'USDC' },
      source: { ...leg, address_id: wallet?.id },
      destination: { ...leg, address_id: payee.body.id },
    },
  })
  expect([transfer.status, transfer.body['status']]).toEqual([201, 'pending'])
})
