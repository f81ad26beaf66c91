import { OutlayError } from '@outlay/core'
import { expect, test } from 'vitest'
import { scriptedExchange } from '../../test/scripted-exchange.ts'
import { answer, reset } from '../../test/scripted-server.ts'
import { decodeTransfer, observe } from '../wire/transfer.ts'

const accountId = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
const exchange = scriptedExchange()
const request = {
  amount: { value: '1850.00', currency: 'mxn' },
  source: { valueType: 'usdc' },
  destination: { valueType: 'MXN' },
}
const record = (id: string) => ({
  id,
  status: 'open',
  rate: '18.5',
  fixed_side: 'destination',
  source_amount: { value: '100.000000', currency: 'USDC' },
  destination_amount: { value: '1850.00', currency: 'MXN' },
  created_at: '2026-01-02T03:04:05.678Z',
  expires_at: '2026-01-02T03:09:05.678Z',
})

test('a quote is asked for in canonical spelling, retried with the same key, and read', async () => {
  exchange.server.script(reset, answer(201, record('q')))
  const created = await exchange.client.quotes.create(accountId, request)
  expect(created.quote).toEqual({
    id: 'q',
    status: 'open',
    rate: '18.5',
    fixedSide: 'destination',
    sourceAmount: { value: '100.000000', currency: 'USDC' },
    destinationAmount: { value: '1850.00', currency: 'MXN' },
    createdAt: '2026-01-02T03:04:05.678Z',
    expiresAt: '2026-01-02T03:09:05.678Z',
    transferId: undefined,
  })
  const [lost, got] = exchange.server.requests
  expect(got).toMatchObject({ method: 'POST', url: `/accounts/${accountId}/quotes`, body: lost?.body })
  expect(got?.headers['idempotency-key']).toBe(lost?.headers['idempotency-key'])
  expect(JSON.parse(got?.body ?? '')).toEqual({
    amount: { value: '1850.00', currency: 'MXN' },
    source: { value_type: 'USDC' },
    destination: { value_type: 'MXN' },
  })
})

test('a request that breaks a rule, or has a member that does not exist, is not sent', async () => {
  const create = (more: object) =>
    exchange.client.quotes.create(accountId, { ...request, ...more }).catch((error: OutlayError) => error.code)
  expect(await create({ amount: { value: '1', currency: 'USD' } })).toBe('currency_mismatch')
  expect(await create({ transferType: 'spei' })).toBe('invalid_request')
  expect(exchange.server.requests).toEqual([])
})

test('a quote that is refused has the code of the service', async () => {
  exchange.server.script(answer(422, { code: 'quote_refused', detail: 'no rate' }))
  const error = await exchange.client.quotes.create(accountId, request).catch((thrown: unknown) => thrown)
  expect(OutlayError.is(error, 'quote_refused')).toBe(true)
})

test('quotes are read and listed', async () => {
  exchange.server.script(
    answer(200, { ...record('q'), status: 'used', transfer_id: 't' }),
    answer(404, { code: 'not_found' }),
    answer(200, { quotes: [record('b'), record('a')], pagination: { next: null, prev: null } }),
  )
  expect(await exchange.client.quotes.get(accountId, 'q')).toMatchObject({ status: 'used', transferId: 't' })
  expect(await exchange.client.quotes.get(accountId, 'q')).toBeUndefined()
  const ids = []
  for await (const { id } of exchange.client.quotes.iterate(accountId)) ids.push(id)
  expect(ids).toEqual(['b', 'a'])
})

test('a transfer sends the id of its quote, and reads the quote, unless that cannot be read', async () => {
  const transfer = {
    id: 't',
    status: 'pending',
    failure: null,
    amount: { value: '1850.00', currency: 'MXN' },
    source: { address_id: 'w', value_type: 'USDC', transfer_type: 'base' },
    destination: { address_id: 'b', value_type: 'MXN', transfer_type: 'spei' },
    note: null,
    created_at: '2026-01-02T03:04:05.678Z',
    updated_at: '2026-01-02T03:04:05.678Z',
  }
  const { id, rate, source_amount, destination_amount } = record('q')
  const quote = { id, rate, source_amount, destination_amount }
  exchange.server.script(answer(201, { ...transfer, quote }), answer(200, { ...transfer, quote: { id: 'q' } }))
  const created = await exchange.client.transfers.create(accountId, {
    amount: request.amount,
    source: { addressId: 'w', valueType: 'USDC', transferType: 'base' },
    destination: { addressId: 'b', valueType: 'MXN', transferType: 'spei' },
    quoteId: 'q',
  })
  expect(JSON.parse(exchange.server.requests[0]?.body ?? '')).toMatchObject({ quote_id: 'q' })
  expect(created.transfer?.quote).toEqual({
    id: 'q',
    rate: '18.5',
    sourceAmount: { value: '100.000000', currency: 'USDC' },
    destinationAmount: { value: '1850.00', currency: 'MXN' },
  })
  const read = await exchange.client.transfers.get(accountId, 't')
  expect(read).toMatchObject({ id: 't' })
  expect(read).not.toHaveProperty('quote')
})

test.each([
  [{ value: '40.000000', currency: 'USDC' }, { sourceAmount: { value: '40.000000', currency: 'USDC' } }],
  [undefined, {}],
  [null, {}],
  [{ value: 'much', currency: 'USDC' }, {}],
])('what came back of a quoted transfer has the share of its source: %j', (source_amount, share) => {
  const returned = { code: 'R03', amount: { value: '740.00', currency: 'MXN' }, occurred_at: '2026-01-05T03:04:05Z' }
  const transfer = decodeTransfer({
    id: 't',
    status: 'complete',
    failure: null,
    amount: { value: '100', currency: 'USDC' },
    source: { value_type: 'USDC', transfer_type: 'base' },
    destination: { address_id: 'b', value_type: 'MXN', transfer_type: 'spei' },
    created_at: '2026-01-02T03:04:05.678Z',
    returns: [{ ...returned, source_amount }],
  })
  const read = { code: 'R03', amount: returned.amount, ...share, occurredAt: '2026-01-05T03:04:05Z' }
  expect(transfer.returns).toEqual([read])
  expect(observe(transfer).returns).toEqual([read])
})
