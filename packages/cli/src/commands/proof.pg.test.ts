import { expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'

it('outlay prove says which types others listen to, when nobody gets the events of a transfer so far', async () => {
  const host = await testHost()
  const { id } = await host.enqueue()
  const prove = async () => (await outlay(['prove', id], { DATABASE_URL: host.database.url })).stdout
  expect(await prove()).toContain('There is no subscription.')
  const types = ['transfer.completed', 'transfer.failed']
  await host.pool.query('select outlay.register_subscription($1, $2)', ['books', types])
  expect(await prove()).toContain(
    'No subscription gets the events that it has so far: "books" gets transfer.completed, transfer.failed.',
  )
})
