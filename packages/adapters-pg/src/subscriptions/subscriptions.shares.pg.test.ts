import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

describe('accounts share the events of a subscription', async () => {
  const { pool, driver, open, enqueueMany } = await testHost({ max: 20 })
  const type = 'transfer.enqueued'

  /** Enqueues payouts of a subscription that no process attends yet: each has one event that is due. */
  async function enqueueDue(
    ...accounts: readonly (readonly [accountId: string, count: number])[]
  ): Promise<HostEngine> {
    await pool.query(
      `insert into outlay.subscription (name, types) values ('books', '{${type}}') on conflict do nothing`,
    )
    const engine = open()
    for (const [accountId, count] of accounts) await enqueueMany(engine, count, accountId)
    return engine
  }

  /** Accounts in the order in which their events are handled. */
  async function attend(concurrency: number, batchSize = 1): Promise<readonly string[]> {
    const handled: string[] = []
    const engine = open()
    engine.subscribe('books', [type], async ({ accountId }) => void handled.push(accountId), { batchSize })
    await engine.start({ subscriptionConcurrency: concurrency })
    return handled
  }

  it.each([
    ['one by one', 1, 1],
    ['in batches', 1, 50],
    ['in several loops', 4, 1],
  ])('%s, so a flood of one does not come before another', async (_, concurrency, batchSize) => {
    await enqueueDue(['flood', 3_000], ['well', 3], ['also-well', 3])
    const handled = await attend(concurrency, batchSize)
    const others = () => handled.filter((accountId) => accountId !== 'flood').length
    await waitUntil(() => others() === 6)
    expect(Math.max(handled.lastIndexOf('well'), handled.lastIndexOf('also-well'))).toBeLessThan(1_000)
  })

  it('in the order in which its events are due, each', async () => {
    await enqueueDue(['acme', 30], ['brick', 30])
    const ids: string[] = []
    const engine = open()
    engine.subscribe('books', [type], async ({ accountId, transferId }) => void ids.push(`${accountId} ${transferId}`))
    await engine.start({ subscriptionConcurrency: 1 })
    await waitUntil(() => ids.length === 60)
    for (const accountId of ['acme', 'brick']) {
      const own = ids.filter((id) => id.startsWith(accountId))
      expect(own).toEqual([...own].sort())
    }
  })

  const deferAll = (where = 'true') =>
    pool.query(
      `update outlay.delivery set ready = false, failures = 12, due_at = clock_timestamp() + interval '1 hour' where ${where}`,
    )

  it('behind more accounts than a fetch passes whose events are deferred, and a flood in front of them', async () => {
    const engine = await enqueueDue()
    const failing = Array.from({ length: 1_100 }, (_, index) => samplePayout(`failing-${index}`))
    await driver.transaction((tx) => engine.transfers.enqueueMany(tx, failing))
    await deferAll()
    await enqueueDue(['well', 5], ['acme', 1_000])
    const handled = await attend(1)
    await waitUntil(() => handled.lastIndexOf('well') > 0 && handled.filter((one) => one === 'well').length === 5)
    expect(handled.lastIndexOf('well')).toBeLessThan(20)
  })

  it('although more of its events than a fetch reads are behind failed ones, and another one has a flood', async () => {
    const types = [type, 'transfer.submitted'] as const
    await pool.query(`insert into outlay.subscription (name, types) values ('books', '{${types}}')`)
    const feeder = open()
    await feeder.start()
    await enqueueMany(feeder, 1_100, 'acme')
    await waitUntil(async () => (await feeder.backlog()).undelivered === 2_200)
    await feeder.stop()
    await deferAll(`type = '${type}'`)
    await enqueueDue(['acme', 5], ['flood', 3_000])
    const handled: string[] = []
    const engine = open()
    engine.subscribe('books', types, async ({ accountId }) => void handled.push(accountId))
    await engine.start()
    await waitUntil(() => handled.filter((one) => one === 'acme').length >= 5)
    expect(handled.length).toBeLessThan(3_000)
  })

  it('although a host has locked more of them than a fetch reads, of their own and of others', async () => {
    await enqueueDue(['acme', 11_500], ['brick', 1_500])
    const handled = await driver.transaction(async (host) => {
      await host.query('select from outlay.delivery for update')
      await enqueueDue(['acme', 2], ['brick', 2], ['corner', 2])
      const accounts = await attend(1)
      await waitUntil(() => accounts.length >= 6)
      return [...accounts]
    })
    expect(handled.sort()).toEqual(['acme', 'acme', 'brick', 'brick', 'corner', 'corner'])
  })
})
