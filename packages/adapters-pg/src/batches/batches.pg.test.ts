import type { BatchCounts, TransferEvent } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type HostEngine, reach, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

const none: BatchCounts = {
  ...{ total: 0, pending: 0, processing: 0, failed: 0, canceled: 0, complete: 0 },
  ...{ unended: 0, resubmitted: 0 },
}

describe('a batch', async () => {
  const { pool, open, commit, rows, enqueue } = await testHost()

  const create = (engine: HostEngine, batch = {}) => commit((tx) => engine.batches.create(tx, batch))
  const close = (engine: HostEngine, id: string) => commit((tx) => engine.batches.close(tx, id))
  const fold = () => rows('select outlay.fold_batches(50) as completed').then(([row]) => Number(row?.['completed']))
  const fill = (engine: HostEngine, batchId: string, count: number) => {
    const requests = Array.from({ length: count }, () => samplePayout('acme', { batchId }))
    return commit((tx) => engine.transfers.enqueueMany(tx, requests))
  }
  const endAll = (status: string, ids: readonly string[]) =>
    pool.query(`update outlay.transfer set stage = 'settled', status = $1 where id = any ($2)`, [status, ids])
  const completions = () => rows(`select transfer_id, sequence from outlay.event where type = 'batch.completed'`)
  /** The counts by the transfers themselves, without what is resubmitted. */
  const truth = async (id: string) => {
    const [counted] = await rows(
      `select count(*) filter (where t.status = 'pending')::integer as pending, count(*) filter (where t.status = 'failed')::integer as failed,
         count(*) filter (where t.status = 'canceled')::integer as canceled, count(*) filter (where t.status = 'complete')::integer as complete,
         count(*) filter (where t.stage <> 'settled')::integer as unended
       from outlay.transfer t where t.batch_id = $1 and not exists (
         select from outlay.resubmission r join outlay.transfer s on s.id = r.successor_id
         where r.transfer_id = t.id and s.batch_id = t.batch_id)`,
      [id],
    )
    return counted
  }

  it('is completed once, with its counts, when all that was enqueued into it has ended', async () => {
    const engine = open()
    const events: TransferEvent[] = []
    engine.subscribe('payroll', ['batch.completed'], async (event) => {
      events.push(event)
    })
    await engine.start({ pollIntervalMs: 10 })
    const batch = await create(engine, { key: 'november', accountId: 'acme', metadata: { month: '2026-11' } })
    expect(batch).toMatchObject({ state: 'open', key: 'november', counts: none, metadata: { month: '2026-11' } })
    const many = await fill(engine, batch.id, 7)
    const one = await enqueue(engine, { batchId: batch.id, metadata: { kind: 'bonus' } })
    for (const { id } of [...many, one]) await reach(engine, id, { status: 'complete' })
    expect((await engine.batches.get(batch.id))?.state).toBe('open')
    expect(await close(engine, batch.id)).toBe(true)
    expect(await close(engine, batch.id)).toBe(false)
    await waitUntil(() => events.length > 0, { describe: 'the completion' })
    const completed = await engine.batches.get(batch.id)
    expect(completed).toMatchObject({ state: 'completed', counts: { ...none, total: 8, complete: 8 } })
    await engine.stop()
    expect(events).toMatchObject([{ type: 'batch.completed', transferId: one.id, transfer: { batchId: batch.id } }])
    expect(await completions()).toHaveLength(1)
    expect((await engine.transfers.find({ batchId: batch.id })).transfers).toHaveLength(8)
  })

  it('of one key is one batch', async () => {
    const engine = open()
    const first = await create(engine, { key: 'november' })
    expect((await create(engine, { key: 'november' })).id).toBe(first.id)
    expect((await create(engine, { key: 'november', accountId: 'acme' })).id).not.toBe(first.id)
    await expect(create(engine, { id: first.id })).rejects.toMatchObject({ code: 'conflict', field: 'id' })
    await expect(close(engine, first.id)).rejects.toMatchObject({ code: 'conflict' })
    await expect(close(engine, '01J0000000000000000000000Z')).rejects.toMatchObject({ code: 'not_found' })
  })

  it('refuses what it may not take, with the field, and leaves the transaction usable', async () => {
    const engine = open()
    const closed = await create(engine, { accountId: 'acme' })
    const kept = await enqueue(engine, { batchId: closed.id, idempotencyKey: 'k' })
    await close(engine, closed.id)
    const ofBolt = await create(engine, { accountId: 'bolt' })
    const unknown = '01J0000000000000000000000Z'
    await commit(async (tx) => {
      for (const batchId of [closed.id, ofBolt.id, unknown]) {
        const refused = { code: 'conflict', field: 'batchId' }
        await expect(engine.transfers.enqueue(tx, samplePayout('acme', { batchId }))).rejects.toMatchObject(refused)
      }
      const many = [
        samplePayout('acme'),
        samplePayout('acme', { batchId: closed.id }),
        samplePayout('acme', { batchId: unknown }),
      ]
      const error = await engine.transfers.enqueueMany(tx, many).catch((caught: unknown) => caught)
      expect((error as { issues: { field: string }[] }).issues.map(({ field }) => field)).toEqual([
        '1.batchId',
        '2.batchId',
      ])
      const again = samplePayout('acme', { batchId: closed.id, idempotencyKey: 'k' })
      expect(await engine.transfers.enqueue(tx, again)).toMatchObject({ id: kept.id, reused: true })
      expect(await engine.transfers.enqueueMany(tx, [again])).toMatchObject([{ id: kept.id, reused: true }])
    })
    expect(await rows('select count(*)::integer as count from outlay.transfer')).toEqual([{ count: 1 }])
    expect((await engine.batches.get(closed.id))?.counts.total).toBe(1)
  })

  it('has exact counts at each moment, added up or not', async () => {
    const engine = open()
    const { id } = await create(engine)
    const transfers = await fill(engine, id, 6)
    const ids = transfers.map((one) => one.id)
    const check = async () => {
      const { counts } = (await engine.batches.get(id)) ?? expect.unreachable()
      expect(counts).toMatchObject((await truth(id)) ?? {})
    }
    await check()
    await fold()
    await check()
    await endAll('complete', ids.slice(0, 2))
    await check()
    await commit((tx) => engine.transfers.cancel(tx, ids[2] ?? ''))
    await fold()
    await endAll('failed', ids.slice(3, 4))
    await check()
    await commit((tx) => engine.transfers.resubmit(tx, ids[2] ?? ''))
    await check()
    await commit((tx) => engine.transfers.resubmit(tx, ids[3] ?? '', { amount: { value: '1.00', currency: 'USD' } }))
    await check()
    await fold()
    expect((await engine.batches.get(id))?.counts).toEqual({
      ...none,
      total: 6,
      complete: 2,
      pending: 4,
      unended: 4,
      resubmitted: 2,
    })
  })

  it('takes a resubmission in place of the ended one, also when closed, and none when completed', async () => {
    const engine = open()
    const { id } = await create(engine)
    const [first, second] = await fill(engine, id, 2)
    await close(engine, id)
    await commit((tx) => engine.transfers.cancel(tx, first?.id ?? ''))
    const again = await commit((tx) => engine.transfers.resubmit(tx, first?.id ?? ''))
    expect(again.batchId).toBe(id)
    await endAll('complete', [second?.id ?? ''])
    expect(await fold()).toBe(0)
    await commit((tx) => engine.transfers.cancel(tx, again.id))
    expect(await fold()).toBe(1)
    const late = await commit((tx) => engine.transfers.resubmit(tx, again.id))
    expect(late).not.toHaveProperty('batchId')
    expect((await engine.batches.get(id))?.counts).toEqual({
      ...none,
      total: 2,
      complete: 1,
      canceled: 1,
      resubmitted: 1,
    })
  })

  it('does not complete while a transaction enqueues into it, and holds up neither workers nor other batches', async () => {
    const engine = open()
    const { id } = await create(engine)
    const other = await create(engine)
    const [first] = await fill(engine, id, 1)
    const [second] = await fill(engine, other.id, 1)
    const host = await pool.connect()
    await host.query('begin')
    const late = await engine.transfers.enqueue(host, samplePayout('acme', { batchId: id }))
    await close(engine, id)
    await close(engine, other.id)
    await endAll('complete', [first?.id ?? '', second?.id ?? ''])
    expect(await fold()).toBe(1)
    expect((await engine.batches.get(id))?.state).toBe('closed')
    expect((await engine.batches.get(other.id))?.state).toBe('completed')
    await host.query('commit')
    host.release()
    expect(await fold()).toBe(0)
    expect((await engine.batches.get(id))?.counts).toMatchObject({ total: 2, unended: 1 })
    await endAll('complete', [late.id])
    expect(await fold()).toBe(1)
    expect(await completions()).toHaveLength(2)
  })

  it('fails a transaction of repeatable read that does not see its completion', async () => {
    const engine = open()
    const { id } = await create(engine)
    const [first] = await fill(engine, id, 1)
    await close(engine, id)
    const host = await pool.connect()
    await host.query('begin isolation level repeatable read')
    await host.query('select 1 from outlay.batch')
    await endAll('complete', [first?.id ?? ''])
    expect(await fold()).toBe(1)
    await rows('delete from outlay.closed_batch')
    const refused = engine.transfers.enqueue(host, samplePayout('acme', { batchId: id }))
    await expect(refused).rejects.toMatchObject({ code: '40001' })
    await host.query('rollback')
    host.release()
  })

  it('is completed once by workers that end in between, and by several at once', async () => {
    const engine = open()
    const { id } = await create(engine)
    const transfers = await fill(engine, id, 3)
    await close(engine, id)
    await endAll(
      'complete',
      transfers.map((one) => one.id),
    )
    const worker = await pool.connect()
    await worker.query('begin')
    expect((await worker.query('select outlay.fold_batches(50) as completed')).rows).toEqual([{ completed: 1 }])
    // Another one waits for nothing, and leaves it to that one, which dies.
    expect(await fold()).toBe(0)
    await worker.query('rollback')
    worker.release()
    expect(await completions()).toEqual([])
    const results = await Promise.all([fold(), fold(), fold(), fold()])
    expect(results.reduce((sum, one) => sum + one, 0)).toBe(1)
    expect(await fold()).toBe(0)
    expect(await completions()).toHaveLength(1)
  })

  it('stays open for what is blocked, and for what ended in doubt', async () => {
    const engine = open()
    const { id } = await create(engine)
    const [blocked, doubtful] = await fill(engine, id, 2)
    await close(engine, id)
    await pool.query(`update outlay.transfer set stage = 'blocked', reason = 'outcome_unknown' where id = $1`, [
      blocked?.id,
    ])
    await endAll('canceled', [doubtful?.id ?? ''])
    await pool.query(
      `insert into outlay.attempt (transfer_id, attempt, worker, answered_at, outcome, unmatched) values ($1, 1, 'reconcile', now(), 'reconciled', true)`,
      [doubtful?.id],
    )
    expect(await fold()).toBe(0)
    expect((await engine.batches.get(id))?.counts.unended).toBe(1)
    await endAll('failed', [blocked?.id ?? ''])
    expect(await fold()).toBe(0)
    await pool.query('update outlay.attempt set unmatched = false')
    expect(await fold()).toBe(1)
  })

  it('is canceled as one: what was not sent ends, and an empty one completes without an event', async () => {
    const engine = open()
    const { id } = await create(engine)
    const transfers = await fill(engine, id, 4)
    await endAll('complete', [transfers[0]?.id ?? ''])
    await pool.query(`update outlay.transfer set stage = 'submitted', remote_id = 'r' where id = $1`, [
      transfers[1]?.id,
    ])
    expect(await commit((tx) => engine.batches.cancel(tx, id))).toEqual({ canceled: 2, unended: 1 })
    expect(
      await rows(
        'select count(*)::integer as count from outlay.outbox where id in (select outlay.job_id(id) from outlay.transfer where status = $1)',
        ['canceled'],
      ),
    ).toEqual([{ count: 0 }])
    expect((await engine.batches.get(id))?.counts).toMatchObject((await truth(id)) ?? {})
    expect(await commit((tx) => engine.batches.cancel(tx, id))).toEqual({ canceled: 0, unended: 1 })
    const empty = await create(engine)
    expect(await commit((tx) => engine.batches.cancel(tx, empty.id))).toEqual({ canceled: 0, unended: 0 })
    expect(await fold()).toBe(1)
    expect(await completions()).toEqual([])
    await expect(commit((tx) => engine.batches.cancel(tx, '01J0000000000000000000000Z'))).rejects.toMatchObject({
      code: 'not_found',
    })
  })

  it('sends nothing while it is paused, and everything once it is resumed', async () => {
    const gateway = memoryGateway()
    const engine = open({ gateway })
    const { id } = await create(engine)
    const transfers = await fill(engine, id, 5)
    const other = await enqueue(engine)
    expect(await commit((tx) => engine.batches.pause(tx, id))).toBe(true)
    expect(await commit((tx) => engine.batches.pause(tx, id))).toBe(false)
    await engine.start({ pollIntervalMs: 10 })
    await reach(engine, other.id, { status: 'complete' })
    for (const one of transfers) await reach(engine, one.id, { reason: 'batch_paused' })
    expect(gateway.transfers.size).toBe(1)
    expect((await engine.batches.get(id))?.paused).toBe(true)
    expect(await rows(`select distinct waits_for, remedy from outlay.stuck_transfers`)).toEqual([
      { waits_for: 'its batch, which is paused', remedy: `Resume the batch ("outlay batches resume ${id}").` },
    ])
    expect(await commit((tx) => engine.batches.resume(tx, id))).toBe(true)
    expect(await commit((tx) => engine.batches.resume(tx, id))).toBe(false)
    for (const one of transfers) await reach(engine, one.id, { status: 'complete' })
    expect(gateway.transfers.size).toBe(6)
  })

  it('counts and completes as before when money comes back, before its completion and after it', async () => {
    const engine = open({ gateway: memoryGateway() })
    const { id } = await create(engine)
    const transfers = await fill(engine, id, 2)
    const waiting = await enqueue(engine, { batchId: id, notBefore: new Date(Date.now() + 3_600_000) })
    await engine.start({ pollIntervalMs: 10 })
    for (const one of transfers) await reach(engine, one.id, { status: 'complete' })
    await engine.stop()
    const comeBack = async (transferId: string | undefined) => {
      const remoteId = (await engine.transfers.get(transferId ?? ''))?.remoteId ?? expect.unreachable()
      const amount = { value: '12.50', currency: 'USD' }
      const returns = [{ code: 'R01', amount, occurredAt: '2026-01-09T09:00:00.000Z' }]
      const seen = { remoteId, status: 'complete' as const, failure: null, returns }
      await commit((tx) => engine.transfers.observe(tx, 'acme', [seen]))
    }
    await comeBack(transfers[0]?.id)
    await close(engine, id)
    expect(await fold()).toBe(0)
    await commit((tx) => engine.transfers.cancel(tx, waiting.id))
    expect(await fold()).toBe(1)
    const completed = await engine.batches.get(id)
    await comeBack(transfers[1]?.id)
    expect(await fold()).toBe(0)
    expect(await engine.batches.get(id)).toEqual(completed)
    expect(completed?.counts).toMatchObject({ complete: 2, canceled: 1, unended: 0 })
    expect(await completions()).toHaveLength(1)
    expect(await rows(`select from outlay.event where type = 'transfer.returned'`)).toHaveLength(2)
  })

  it('keeps the history of its transfers until it is completed', async () => {
    const engine = open()
    const { id } = await create(engine)
    const [first] = await fill(engine, id, 1)
    await commit((tx) => engine.transfers.cancel(tx, first?.id ?? ''))
    expect((await engine.archive({ olderThanMs: 0 })).archived).toBe(0)
    await close(engine, id)
    await fold()
    expect((await engine.archive({ olderThanMs: 0 })).archived).toBe(1)
  })
})
