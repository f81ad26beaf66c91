import type { TransferEvent } from '@outlay/core'
import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'

const type = 'transfer.enqueued'

describe('a handler of many events', async () => {
  const { pool, open, enqueueMany } = await testHost({ max: 20 })

  /** Events that wait for a subscription of the name. */
  const prepare = async (name: string, count: number, accountId: string) => {
    await pool.query('insert into outlay.subscription (name, types) values ($1, $2)', [name, [type]])
    return await enqueueMany(open(), count, accountId)
  }

  const countUndelivered = async (name: string) => {
    const { rows } = await pool.query('select failures, dead from outlay.delivery where subscription = $1', [name])
    return rows
  }

  it('gets those of one transaction in one call, and its write commits with all of their acknowledgements', async () => {
    await pool.query('create table handled (transfer_id text primary key)')
    const transfers = await prepare('books', 250, 'acme')
    const calls: (readonly TransferEvent[])[] = []
    const engine = open()
    engine.subscribeMany('books', [type], async (events, tx) => {
      calls.push(events)
      const ids = events.map(({ transferId }) => transferId)
      await tx.query('insert into handled select * from unnest($1::text[])', [ids])
    })
    await engine.start({ subscriptionConcurrency: 1 })
    await waitUntil(async () => (await countUndelivered('books')).length === 0)
    await engine.stop()
    expect(calls.map((events) => events.length)).toEqual([100, 100, 50])
    const { rows } = await pool.query('select transfer_id from handled order by 1')
    expect(rows.map((row) => row.transfer_id)).toEqual(transfers.map(({ id }) => id).sort())
  })

  it('gets them one by one after a failure, so that only the bad one is deferred', async () => {
    const transfers = await prepare('mail', 30, 'acme')
    const bad = transfers[11]?.id
    const sizes: number[] = []
    const good = new Set<string>()
    const engine = open()
    engine.subscribeMany('mail', [type], async (events) => {
      sizes.push(events.length)
      if (events.some(({ transferId }) => transferId === bad)) throw new Error('This one is bad.')
      for (const { transferId } of events) good.add(transferId)
    })
    await engine.start({ subscriptionConcurrency: 1 })
    await waitUntil(async () => {
      const rows = await countUndelivered('mail')
      return rows.length === 1 && rows[0].failures === 1
    })
    await engine.stop()
    expect([sizes[0], Math.max(...sizes.slice(1)), good.size]).toEqual([30, 1, 29])
  })

  it('that hangs on all of them is ended within its time, and then only the one on which it hangs has failed', async () => {
    const transfers = await prepare('slow', 5, 'acme')
    const bad = transfers[2]?.id
    const engine = open()
    const hang = async (events: readonly TransferEvent[]) => {
      if (events.some(({ transferId }) => transferId === bad)) await new Promise(() => undefined)
    }
    engine.subscribeMany('slow', [type], hang, { timeoutMs: 300 })
    await engine.start({ subscriptionConcurrency: 1 })
    await waitUntil(async () => {
      const rows = await countUndelivered('slow')
      return rows.length === 1 && rows[0].failures === 1
    })
    await engine.stop()
  })
})
