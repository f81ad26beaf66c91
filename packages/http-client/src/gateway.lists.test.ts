import { expect, test } from 'vitest'
import { scriptedExchange } from '../test/scripted-exchange.ts'
import { answer } from '../test/scripted-server.ts'

const accountId = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
const leg = { address_id: '01BX5ZZKBKACTAV9WEVGEMMVS0', value_type: 'USDC', transfer_type: 'base' }
const transfer = {
  id: 'transfer-1',
  status: 'pending',
  amount: { value: '1250.00', currency: 'USDC' },
  source: leg,
  destination: { ...leg, address_id: '01BX5ZZKBKACTAV9WEVGEMMVS1' },
  created_at: '2026-11-20T12:00:00Z',
}

const exchange = scriptedExchange()

const list = () => exchange.gateway.list?.(accountId, { limit: 100, signal: new AbortController().signal })

// After a restore, what a list does not show is taken for unsent.
test('a list leaves nothing out unsaid, neither what it cannot read nor what is more than asked for', async () => {
  const many = Array.from({ length: 250 }, (_, at) => ({ ...transfer, id: `transfer-${at}` }))
  exchange.server.script(answer(200, [...many, { ...transfer, status: 'unheard of' }]))
  const page = await list()
  expect([page?.observations.length, page?.unreadable]).toEqual([250, 1])
})

test('an empty page keeps its cursor, since the list goes on there', async () => {
  exchange.server.script(answer(200, { transfers: [], pagination: { next: 'there', prev: null } }))
  expect(await list()).toEqual({ observations: [], next: 'there', unreadable: 0 })
})

test.each([
  ['the service', { code: 'not_found' }, 'not_found'],
  // After a restore, an account that a gateway does not find has nothing there.
  ['somebody', '<html>not here</html>', 'service_unavailable'],
])('a list that %s does not find is not an empty one', async (_, body, code) => {
  exchange.server.script(answer(404, body))
  await expect(list()).rejects.toMatchObject({ code })
})

test('a transfer that somebody else does not find is not unknown to the service', async () => {
  const get = () => exchange.gateway.get(accountId, transfer.id, { signal: new AbortController().signal })
  for (const body of ['<html>not here</html>', '', { message: 'no Route matched' }]) {
    exchange.server.script(answer(404, body))
    await expect(get()).rejects.toMatchObject({ code: 'service_unavailable', status: 404 })
  }
  exchange.server.script(answer(404, { code: 'not_found' }))
  expect(await get()).toBeUndefined()
})
