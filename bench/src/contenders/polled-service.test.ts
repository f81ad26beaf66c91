import { expect, test } from 'vitest'
import { polledService } from './polled-service.ts'

const signal = new AbortController().signal
const request = {
  amount: { value: '1', currency: 'USDC' },
  source: { addressId: 'a', valueType: 'USDC', transferType: 'base' },
  destination: { addressId: 'b', valueType: 'USDC', transferType: 'base' },
}

async function accept(service: ReturnType<typeof polledService>, count: number) {
  for (let n = 0; n < count; n += 1) {
    const submission = { transferId: `${n}`, accountId: 'x', idempotencyKey: `${n}`, request, attempt: 1 }
    await service.gateway.submit(submission as never, { signal })
  }
}

test('a list is read from the newest to the oldest by pages that are counted', async () => {
  const service = polledService((n) => (n < 2 ? 0 : 60_000), true)
  await accept(service, 5)
  const first = await service.gateway.list?.('x', { limit: 3, signal })
  expect(first?.observations.map(({ remoteId, status }) => [remoteId, status])).toEqual([
    ['remote-4', 'processing'],
    ['remote-3', 'processing'],
    ['remote-2', 'processing'],
  ])
  const second = await service.gateway.list?.('x', { limit: 3, cursor: first?.next, signal })
  expect(second?.observations.map(({ remoteId, status }) => [remoteId, status])).toEqual([
    ['remote-1', 'complete'],
    ['remote-0', 'complete'],
  ])
  expect(second?.next).toBeUndefined()
  expect(service.requests()).toEqual({ pages: 2, reads: 0 })
})

test('a service without lists has none, and counts single reads', async () => {
  const service = polledService(() => 0, false)
  await accept(service, 1)
  expect(service.gateway.list).toBeUndefined()
  expect((await service.gateway.get('x', 'remote-0', { signal }))?.status).toBe('complete')
  expect(service.requests()).toEqual({ pages: 0, reads: 1 })
})
