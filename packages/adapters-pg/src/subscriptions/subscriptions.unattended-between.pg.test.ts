import { waitUntil } from '@outlay/testing'
import { expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { pgDriver } from '../drivers/pg.ts'
import { resolveNames } from '../schema/database-names.ts'
import { front } from './next-deliveries.ts'
import { createSubscriptionStore } from './subscriptions.ts'

const { pool, open, enqueue } = await testHost()

it('an acknowledgement makes a deferred event ready although one that no process attends is in between', async () => {
  const log: string[] = []
  const earlier = open()
  const all = ['transfer.enqueued', 'transfer.submitted', 'transfer.completed'] as const
  earlier.subscribe('books', all, async () => undefined)
  await earlier.start()
  await earlier.stop()
  const feeder = open()
  await feeder.start()
  await enqueue(feeder)
  await waitUntil(async () => (await feeder.backlog()).settled === 1)
  await feeder.stop()
  const store = createSubscriptionStore(pgDriver(pool), resolveNames({}).tokens)
  const subscription = {
    name: 'books',
    types: ['transfer.enqueued', 'transfer.completed'] as const,
    together: false,
    batchSize: 1,
    timeoutMs: 10_000,
    handler: async (events: readonly { readonly type: string }[]) => void log.push(...events.map(({ type }) => type)),
  }
  const options = {
    limit: 1,
    holding: subscription.types,
    exceptAccounts: [],
    exceptTransfers: [],
    place: front,
    onLeased: () => true,
    onFailed: () => undefined,
    isCautious: false,
    signal: new AbortController().signal,
  }
  expect(await store.deferBehind(subscription, options)).toMatchObject({ count: 1 })
  await store.deliver(subscription, options)
  await store.deliver(subscription, options)
  expect(log).toEqual(['transfer.enqueued', 'transfer.completed'])
})
