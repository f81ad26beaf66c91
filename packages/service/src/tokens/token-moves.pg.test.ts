import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import type { TransferResource } from '../transfers/view.ts'

interface Page {
  readonly transfers: readonly TransferResource[]
  readonly pagination: { readonly next: string | null; readonly prev: string | null }
}

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
/** Ids of the swaps and payouts, newest first. */

let moves: readonly string[]
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '100' }])
  const wallet = (address_id: string, value_type: string) => ({ address_id, value_type, transfer_type: 'base' })
  const create = async (accountId: string, source: object, destination: object, currency: string) => {
    const body = { amount: { value: '1', currency }, source, destination }
    const answer = await api.call<TransferResource>('POST', `/accounts/${accountId}/transfers`, { body })
    expect(answer.status).toBe(201)
    return answer.body.id
  }
  const external = { name: 'Payee', address: api.otherWallet.address, transfer_types: ['base'] }
  const path = `/accounts/${api.accountId}/addresses/external`
  const payee = (await api.call<{ id: string }>('POST', path, { body: external })).body.id
  const own = wallet(api.walletId, 'USDC')
  const payout = () => create(api.accountId, own, wallet(payee, 'USDC'), 'USDC')
  const swap = () => create(api.accountId, own, wallet(api.walletId, 'SBC'), 'USDC')
  const wire = { value_type: 'USD', transfer_type: 'wire' }
  const mint = (accountId: string, to: string) => create(accountId, wire, wallet(to, 'USDC'), 'USD')
  moves = [await payout(), await swap(), await payout(), await swap(), await payout()].sort().reverse()
  await mint(api.accountId, api.walletId)
  await mint(api.otherAccountId, api.otherWallet.addressId)
})
afterAll(() => api.stop())

const walk = async (path: string, size: number): Promise<readonly (readonly string[])[]> => {
  const pages: string[][] = []
  for (let after = ''; ; ) {
    const { status, body } = await api.call<Page>('GET', `${path}?page[size]=${size}${after}`)
    expect(status).toBe(200)
    pages.push(body.transfers.map(({ id }) => id))
    if (body.pagination.next === null) return pages
    after = `&page[after]=${encodeURIComponent(body.pagination.next)}`
  }
}

it('pages through swaps and payouts together, newest first, of one account and of all', async () => {
  for (const path of [`/accounts/${api.accountId}/tokens/transfers`, '/tokens/transfers']) {
    expect(await walk(path, 2)).toEqual([moves.slice(0, 2), moves.slice(2, 4), moves.slice(4)])
    expect(await walk(path, 10)).toEqual([moves])
  }
})

it('goes back from a page to the one before it', async () => {
  const path = '/tokens/transfers?page[size]=2'
  const first = (await api.call<Page>('GET', path)).body
  const second = (await api.call<Page>('GET', `${path}&page[after]=${encodeURIComponent(first.pagination.next ?? '')}`))
    .body
  const back = await api.call<Page>('GET', `${path}&page[before]=${encodeURIComponent(second.pagination.prev ?? '')}`)
  expect(back.body.transfers.map(({ id }) => id)).toEqual(first.transfers.map(({ id }) => id))
})

it('has the mints of all accounts in one list', async () => {
  const { body } = await api.call<{ mints: readonly TransferResource[] }>('GET', '/tokens/mints')
  expect(body.mints).toHaveLength(2)
  expect(body.mints.map(({ id }) => id)).toEqual(
    body.mints
      .map(({ id }) => id)
      .toSorted()
      .toReversed(),
  )
})
