import type { EnqueuedTransfer } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

describe('the first event of a transfer', async () => {
  const { pool, open, commit } = await testHost()
  const subscribe = (type: string) =>
    pool.query('insert into outlay.subscription (name, types) values ($1, $2)', [type, [type]])
  const count = async (table: string) =>
    Number((await pool.query(`select count(*) from outlay.${table}`)).rows[0].count)
  const events = async (id: string) =>
    (
      await pool.query('select e.*, outlay.iso(e.occurred_at) as at from outlay.events_of($1) e order by sequence', [
        id,
      ])
    ).rows

  const ways: readonly [string, (engine: HostEngine) => Promise<readonly EnqueuedTransfer[]>][] = [
    ['one', (engine) => commit(async (tx) => [await engine.transfers.enqueue(tx, samplePayout('acme'))])],
    [
      'many',
      (engine) =>
        commit(async (tx) => {
          const known = samplePayout('acme', { idempotencyKey: 'known' })
          await engine.transfers.enqueue(tx, known)
          return engine.transfers.enqueueMany(tx, [samplePayout('acme'), known])
        }),
    ],
  ]

  it.each(ways)('of %s is read from its row where no subscription wants it', async (_, enqueue) => {
    await subscribe('transfer.completed')
    const [transfer] = await enqueue(open())
    expect([await count('event'), await count('delivery')]).toEqual([0, 0])
    const [event, ...others] = await events(transfer?.id ?? '')
    expect(others).toEqual([])
    expect(event).toMatchObject({
      sequence: 1,
      type: 'transfer.enqueued',
      stage: 'queued',
      status: 'pending',
      attempt: 0,
    })
    expect(event.at).toBe(transfer?.createdAt)
  })

  it.each(ways)('of %s is stored once, with a delivery, where one does, and reads the same', async (_, enqueue) => {
    const unstored = await enqueue(open())
    const [read] = await events(unstored[0]?.id ?? '')
    await pool.query('truncate outlay.transfer, outlay.outbox')
    await subscribe('transfer.enqueued')
    const transfers = await enqueue(open())
    expect([await count('event'), await count('delivery')]).toEqual([transfers.length, transfers.length])
    const [event, ...others] = await events(transfers[0]?.id ?? '')
    expect(others).toEqual([])
    const { at, occurred_at } = event
    expect(event).toEqual({ ...read, transfer_id: transfers[0]?.id, at, occurred_at })
    expect(at).toBe(transfers[0]?.createdAt)
  })
})
