import { randomUUID } from 'node:crypto'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'

describe('handlers of large batches', async () => {
  const { pool, open, enqueueMany } = await testHost({ max: 20 })
  const gate = Promise.withResolvers<void>()
  afterEach(() => gate.resolve())

  it('that hang leave a loop to other accounts, however many events they have leased', async () => {
    const gateway = memoryGateway({ idPrefix: randomUUID() })
    const engine = open({ gateway })
    // Nobody attends yet, so the events of the account that hangs wait together. One batch stands for those of a fleet that add up
    // to as many: a fetch reads no more than a thousand due events, leased ones included.
    await pool.query(`insert into outlay.subscription (name, types) values ('books', '{transfer.submitted}')`)
    await enqueueMany(engine, 2_000, 'long')
    await engine.start()
    await waitUntil(async () => (await engine.backlog()).undelivered === 2_000)
    await engine.stop()

    const another = open({ gateway })
    let well = 0
    let hanging = 0
    const handler = async ({ accountId }: { readonly accountId: string }) => {
      if (accountId === 'well') well += 1
      else {
        hanging += 1
        await gate.promise
      }
    }
    another.subscribe('books', ['transfer.submitted'], handler, { batchSize: 1_000, timeoutMs: 600_000 })
    await another.start({ subscriptionConcurrency: 4, slowAfterMs: 200 })
    await waitUntil(() => hanging >= 1)
    await enqueueMany(another, 5, 'well')
    await waitUntil(() => well === 5, {
      timeoutMs: 20_000,
      describe: () => `${well} of 5, beside ${hanging} that hang`,
    })
  })

  it('whose last event fails go one by one afterwards, so that none is handled many times', async () => {
    const type = 'transfer.enqueued'
    await pool.query(`insert into outlay.subscription (name, types) values ('books', '{${type}}')`)
    const transfers = await enqueueMany(open(), 60, 'acme')
    const bad = transfers
      .map(({ id }) => id)
      .sort()
      .at(-1)
    const runs = new Map<string, number>()
    const handler = async ({ transferId }: { readonly transferId: string }) => {
      runs.set(transferId, (runs.get(transferId) ?? 0) + 1)
      if (transferId === bad) throw new Error('This one is bad.')
    }
    const engine = open()
    engine.subscribe('books', [type], handler, { batchSize: 60 })
    await engine.start({ subscriptionConcurrency: 1 })
    await waitUntil(async () => {
      const { rows } = await pool.query('select failures from outlay.delivery')
      return rows.length === 1 && rows[0].failures > 0
    })
    const good = [...runs].filter(([id]) => id !== bad).map(([, count]) => count)
    expect(good).toHaveLength(59)
    expect(Math.max(...good)).toBe(2)
  })
})
