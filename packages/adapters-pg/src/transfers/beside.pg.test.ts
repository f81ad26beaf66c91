import type { Submission } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

describe('metadata', async () => {
  const { pool, open, commit, rows, enqueue } = await testHost()
  const metadata = { order: '1042', note: 'O’Brien & 子' }

  it('is written beside the transfer, and read with it', async () => {
    const engine = open()
    const enqueued = await enqueue(engine, { idempotencyKey: 'k', metadata })
    expect(enqueued.metadata).toEqual(metadata)
    expect((await engine.transfers.get(enqueued.id))?.metadata).toEqual(metadata)
    expect((await engine.transfers.getByKey('acme', 'k'))?.metadata).toEqual(metadata)
    expect(await rows('select metadata from outlay.transfers')).toEqual([{ metadata }])
    expect(await rows('select request from outlay.transfer')).not.toMatchObject([{ request: { metadata } }])
  })

  it('is absent where there is none, and then no row is written', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    await enqueue(engine, { metadata: {} })
    expect(await engine.transfers.get(id)).not.toHaveProperty('metadata')
    expect(await rows('select * from outlay.transfer_metadata')).toEqual([])
  })

  it('is gone with the transaction that enqueued', async () => {
    const engine = open()
    const lost = commit(async (tx) => {
      await engine.transfers.enqueue(tx, samplePayout('acme', { metadata }))
      throw new Error('rolled back')
    })
    await expect(lost).rejects.toThrow('rolled back')
    expect(await rows('select * from outlay.transfer_metadata')).toEqual([])
  })

  it('of a repeat changes nothing: the first ones stay, and the repeat returns them', async () => {
    const engine = open()
    await enqueue(engine, { idempotencyKey: 'k', metadata })
    const again = await enqueue(engine, { idempotencyKey: 'k', metadata: { order: 'another' } })
    expect(again).toMatchObject({ reused: true, metadata })
    const many = await commit((tx) =>
      engine.transfers.enqueueMany(tx, [
        samplePayout('acme', { idempotencyKey: 'k', metadata: { order: 'another' } }),
        samplePayout('acme', { idempotencyKey: 'new', metadata: { order: 'new' } }),
        samplePayout('acme', { idempotencyKey: 'plain' }),
      ]),
    )
    expect(many.map((one) => one.metadata)).toEqual([metadata, { order: 'new' }, undefined])
    expect(await rows(`select value from outlay.transfer_metadata where name = 'order' order by value`)).toEqual([
      { value: '1042' },
      { value: 'new' },
    ])
  })

  it('of many that are refused is not written', async () => {
    const engine = open()
    await enqueue(engine, { idempotencyKey: 'k' })
    const other = { amount: { value: '1.00', currency: 'USD' }, idempotencyKey: 'k', metadata }
    await commit(async (tx) => {
      const refused = engine.transfers.enqueueMany(tx, [
        samplePayout('acme', other),
        samplePayout('acme', { metadata }),
      ])
      await expect(refused).rejects.toMatchObject({ code: 'idempotency_key_mismatch' })
    })
    expect(await rows('select * from outlay.transfer_metadata')).toEqual([])
  })

  it('is in the events, and reaches the gateway beside the request, not in it', async () => {
    const gateway = memoryGateway()
    const submissions: Submission[] = []
    const submit: typeof gateway.submit = (submission, options) => {
      submissions.push(submission)
      return gateway.submit(submission, options)
    }
    const engine = open({ gateway: { ...gateway, submit } })
    const seen: unknown[] = []
    engine.subscribe('notes', ['transfer.enqueued', 'transfer.completed'], async (event) => {
      seen.push(event.transfer.metadata)
    })
    await engine.start({ pollIntervalMs: 10 })
    const noted = await enqueue(engine, { metadata })
    await reach(engine, noted.id, { status: 'complete' })
    await waitUntil(() => seen.length === 2, { describe: 'both events' })
    expect(seen).toEqual([metadata, metadata])
    expect(submissions).toMatchObject([{ transferId: noted.id, metadata }])
    expect(JSON.stringify(submissions[0]?.request)).not.toContain('1042')
  })

  it('stays through the archive, and a resubmission has it too', async () => {
    const engine = open()
    const { id } = await enqueue(engine, { metadata })
    await commit((tx) => engine.transfers.cancel(tx, id))
    const again = await commit((tx) => engine.transfers.resubmit(tx, id))
    expect(again.metadata).toEqual(metadata)
    expect((await engine.archive({ olderThanMs: 0 })).archived).toBe(1)
    expect((await engine.transfers.get(id))?.metadata).toEqual(metadata)
  })

  it('is written where arrays have no nulls', async () => {
    const engine = open()
    await commit(async (tx) => {
      await tx.query('set local array_nulls = off')
      await engine.transfers.enqueueMany(tx, [samplePayout('acme', { metadata }), samplePayout('acme')])
    })
    expect(await rows('select count(*)::integer as count from outlay.transfer_metadata')).toEqual([{ count: 2 }])
  })

  it('costs a transfer without it no row', async () => {
    const engine = open()
    const client = await pool.connect()
    const written = async () => {
      await client.query('select pg_stat_force_next_flush()')
      const { rows: tables } = await client.query<{ readonly relname: string; readonly count: number }>(
        `select relname, n_tup_ins::integer as count from pg_stat_user_tables where schemaname = 'outlay' order by relname`,
      )
      return tables
    }
    const before = await written()
    await client.query('begin')
    await engine.transfers.enqueue(client, samplePayout('acme'))
    await client.query('commit')
    const after = await written()
    client.release()
    const changed = after.flatMap(({ relname, count }, index) => (count === before[index]?.count ? [] : [relname]))
    expect(changed).toEqual(['outbox', 'transfer'])
  })
})
