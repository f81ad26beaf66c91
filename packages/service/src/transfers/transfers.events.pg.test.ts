import { createServer } from 'node:http'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { inspect } from '../../test/inspection.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import type { TransferResource } from './view.ts'

interface Received {
  readonly type: string
  readonly data: TransferResource
}

const database = await testDatabase({ role: 'ordinary' })
const received: Received[] = []
const receiver = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  received.push(JSON.parse(Buffer.concat(chunks).toString()) as Received)
  response.writeHead(204).end()
})
let api: TestSandbox
beforeAll(async () => {
  api = await testSandbox(database.url, [{ valueType: 'USDC', transferType: 'base', amount: '10' }])
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const port = (receiver.address() as { port: number }).port
  const body = { url: `http://127.0.0.1:${port}/`, event_types: ['transfer.*'] }
  expect((await api.call('POST', `/accounts/${api.accountId}/webhooks`, { body })).status).toBe(201)
})
afterAll(async () => {
  await api.stop()
  await new Promise((resolve) => receiver.close(resolve))
})

const payTo = async (address: string) => {
  const base = `/accounts/${api.accountId}`
  const payee = await api.call<{ id: string }>('POST', `${base}/addresses/external`, {
    body: { name: 'Payee', address, transfer_types: ['base'] },
  })
  const leg = { value_type: 'USDC', transfer_type: 'base' }
  const { body } = await api.call<TransferResource>('POST', `${base}/transfers`, {
    body: {
      amount: { value: '4', currency: 'USDC' },
      source: { address_id: api.walletId, ...leg },
      destination: { address_id: payee.body.id, ...leg },
    },
  })
  return body
}
const eventsOf = (id: string) => received.filter(({ data }) => data.id === id)

it('the webhook receives an event of every step, with the transfer at that time', async () => {
  const created = await payTo('0x52908400098527886E0F7030069857D2E4169EE7')
  await vi.waitFor(() => expect(eventsOf(created.id).map(({ type }) => type)).toContain('transfer.processing'), {
    timeout: 60_000,
  })
  await api.call('POST', '/simulations/clock/advance', { body: { seconds: 60 } })
  await vi.waitFor(() => expect(eventsOf(created.id)).toHaveLength(3), { timeout: 60_000 })
  const byType = new Map(eventsOf(created.id).map((event) => [event.type, event.data]))
  expect([...byType.keys()].sort()).toEqual(['transfer.completed', 'transfer.created', 'transfer.processing'])
  expect(byType.get('transfer.created')).toEqual(created)
  expect(byType.get('transfer.completed')).toMatchObject({ status: 'complete', failure: null })
  expect(byType.get('transfer.completed')?.destination.transaction_id).toMatch(/^0x/)
})

it('a refused create sends no event', async () => {
  await payTo('0xde709f2102306220921060314715629080e2fb77')
  const refused = await payTo('0x27b1fdb04752bbc536007a920d24acb045561c26')
  expect(refused).toMatchObject({ code: 'insufficient_balance' })
  const { pool, schema } = api.sandbox.service.context
  const { rows } = await inspect(pool).query(
    `select count(*)::int as n from ${schema}.webhook_event where type = 'transfer.created'`,
  )
  expect(rows[0].n).toBe(2)
})
