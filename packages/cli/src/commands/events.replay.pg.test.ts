import { drain, waitUntil } from '@outlay/testing'
import { expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'

const host = await testHost()

it('says that a process handles replayed dead letters only if one has attended their subscription lately', async () => {
  const replay = async () => (await outlay(['events', 'replay', 'books'], { DATABASE_URL: host.database.url })).stdout
  const bury = () => host.pool.query('update outlay.delivery set dead = true')
  const engine = host.again()
  engine.subscribe('books', ['transfer.completed'], () => Promise.reject(new Error('the books are closed')))
  await engine.start()
  await host.enqueue()
  await waitUntil(
    async () => (await host.pool.query('select 1 from outlay.delivery where failures > 0')).rowCount === 1,
  )
  await engine.stop()
  await bury()
  expect(await replay()).toMatch(/ replayed; a process attended that subscription \d+s? ago, and handles them now/)
  await bury()
  await host.pool.query(`update outlay.subscription set attended_at = now() - interval '3 hours'`)
  expect(await replay()).toMatch(
    /^1 dead letter of books replayed\. No process has attended that subscription for 3h: start one that subscribes to it/,
  )
  const again = host.again()
  again.subscribe('books', ['transfer.completed'], async () => undefined)
  await again.start()
  await drain(again)
})
