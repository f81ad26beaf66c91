import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import type { TransferResource } from './view.ts'

interface List {
  readonly transfers: TransferResource[]
  readonly pagination: { readonly next: string | null; readonly prev: string | null }
  readonly code?: string
}

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
let payee: string
let created: string[]
beforeAll(async () => {
  api = await testSandbox(database.url, [
    { valueType: 'USDC', transferType: 'base', amount: '32' },
    { valueType: 'SBC', transferType: 'base', amount: '50' },
    { valueType: 'SBC', transferType: 'polygon', amount: '50' },
  ])
  const body = {
    name: 'Payee',
    address: '0x52908400098527886E0F7030069857D2E4169EE7',
    transfer_types: ['base', 'polygon'],
  }
  payee = (await api.call<{ id: string }>('POST', `/accounts/${api.accountId}/addresses/external`, { body })).body.id
  created = []
  for (let count = 0; count < 12; count += 1) created.push((await pay('SBC')).id)
  created.push((await pay('SBC', 'polygon')).id)
  created.sort().reverse()
})
afterAll(() => api.stop())

const pay = async (valueType: string, transferType = 'base') => {
  const source = { address_id: api.walletId, value_type: valueType, transfer_type: transferType }
  const destination = { address_id: payee, value_type: valueType, transfer_type: transferType }
  const body = { amount: { value: '1', currency: valueType }, source, destination }
  const answer = await api.call<TransferResource>('POST', `/accounts/${api.accountId}/transfers`, { body })
  return { ...answer.body, httpStatus: answer.status }
}
const list = async (
  query: Record<string, string> | [string, string][],
): Promise<List & { readonly httpStatus: number }> => {
  const path = `/accounts/${api.accountId}/transfers?${new URLSearchParams(query)}`
  const { status, body } = await api.call<List>('GET', path)
  return { ...body, httpStatus: status }
}
const idsOf = ({ transfers }: List): string[] => transfers.map(({ id }) => id)

it('pages forward return every transfer once, newest first, and pages back return the same pages', async () => {
  const pages: string[][] = []
  const prevs: (string | null)[] = []
  let page = await list({ 'page[size]': '5' })
  expect(page.pagination.prev).toBeNull()
  for (;;) {
    pages.push(idsOf(page))
    prevs.push(page.pagination.prev)
    if (page.pagination.next === null) break
    page = await list({ 'page[size]': '5', 'page[after]': page.pagination.next })
  }
  expect(pages.flat()).toEqual(created)
  for (let at = pages.length - 1; at > 0; at -= 1) {
    page = await list({ 'page[size]': '5', 'page[prev]': page.pagination.prev ?? '' })
    expect(idsOf(page)).toEqual(pages[at - 1])
  }
  expect(page.pagination.prev).toBeNull()
})

it('a page does not change while newer transfers are created', async () => {
  const first = await list({ 'page[size]': '4' })
  const second = await list({ 'page[size]': '4', 'page[next]': first.pagination.next ?? '' })
  const newer = await pay('SBC')
  created.unshift(newer.id)
  // The status of the transfers may change in the meantime.
  const again = await list({ 'page[size]': '4', 'page[next]': first.pagination.next ?? '' })
  expect(idsOf(again)).toEqual(idsOf(second))
  expect(again.pagination).toEqual(second.pagination)
})

it('filters match exactly, combine, and persist inside the cursor', async () => {
  expect(idsOf(await list({ transfer_type: 'polygon' }))).toHaveLength(1)
  expect(idsOf(await list({ transfer_type: 'Polygon' }))).toEqual([])
  expect(idsOf(await list({ transfer_type: 'polygon', value_type: 'USDC' }))).toEqual([])
  expect(idsOf(await list({ address_id: payee, value_type: 'SBC', 'page[size]': '100' }))).toEqual(created)
  const first = await list({ transfer_type: 'base', 'page[size]': '10' })
  const rest = await list({ 'page[size]': '10', 'page[after]': first.pagination.next ?? '' })
  expect(rest.transfers.every(({ source }) => source.transfer_type === 'base')).toBe(true)
  expect(idsOf(first).length + idsOf(rest).length).toBe(created.length - 1)
})

it('finds a transfer by the reference of its leg', async () => {
  const [newest = ''] = created
  const hash = await vi.waitFor(
    async () => {
      const found = (await list({})).transfers.find(({ id }) => id === newest)?.destination.transaction_id
      expect(found).toBeDefined()
      return found ?? ''
    },
    { timeout: 60_000, interval: 25 },
  )
  expect(idsOf(await list({ transaction_id: hash }))).toEqual([newest])
  expect(idsOf(await list({ transaction_id: hash.toUpperCase() }))).toEqual([])
})

it('refuses two cursors, a foreign cursor and a page of 101', async () => {
  const { pagination } = await list({ 'page[size]': '2' })
  const cursor = pagination.next ?? ''
  expect((await list({ 'page[after]': cursor, 'page[prev]': cursor })).httpStatus).toBe(422)
  expect((await list({ 'page[after]': `x${cursor}` })).httpStatus).toBe(422)
  expect(
    (
      await list([
        ['page[after]', cursor],
        ['page[after]', cursor],
      ])
    ).httpStatus,
  ).toBe(422)
  expect((await list({ 'page[size]': '101' })).httpStatus).toBe(422)
})

it('64 concurrent spends of a wallet that covers 32 succeed 32 times and leave exactly nothing', async () => {
  const answers = await Promise.all(Array.from({ length: 64 }, () => pay('USDC')))
  expect(answers.filter(({ httpStatus }) => httpStatus === 201)).toHaveLength(32)
  expect(answers.filter(({ httpStatus }) => httpStatus === 422)).toHaveLength(32)
  const path = `/accounts/${api.accountId}/addresses/${api.walletId}/balance?value_type=USDC&transfer_type=base`
  const { body } = await api.call<{ available: { value: string } }>('GET', path)
  expect(body.available.value).toBe('0.00')
})
