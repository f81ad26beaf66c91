import { waitUntil } from '@outlay/testing'
import pg, { type PoolClient } from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { pgDriver } from '../drivers/pg.ts'
import { resolveNames } from '../schema/database-names.ts'
import { createBatchStore } from './batches.ts'

describe('a batch, while others have transactions open', async () => {
  const { pool, database, open, commit, rows, enqueue } = await testHost()
  const begun: PoolClient[] = []
  // Before the tables are emptied, which would wait for it.
  afterEach(async () => {
    for (const tx of begun.splice(0)) {
      await tx.query('rollback')
      tx.release()
    }
  })
  const begin = async (isolation = 'read committed') => {
    const tx = await pool.connect()
    begun.push(tx)
    await tx.query(`begin isolation level ${isolation}`)
    return tx
  }
  const fold = async (on: Pick<PoolClient, 'query'> = pool) =>
    (await on.query('select outlay.fold_batches(50) as completed')).rows[0].completed
  const wake = async () => (await rows('select outlay.wake_resumed_batches(10) as count'))[0]?.['count']

  it('is not completed in a snapshot that does not see who has just entered it', async () => {
    const engine = open()
    const { id } = await commit((tx) => engine.batches.create(tx))
    const first = await enqueue(engine, { batchId: id })
    await commit((tx) => engine.transfers.cancel(tx, first.id))
    const host = await begin()
    await engine.transfers.enqueue(host, samplePayout('acme', { batchId: id }))
    await commit((tx) => engine.batches.close(tx, id))
    const worker = await begin('repeatable read')
    await worker.query('select from outlay.batch')
    await host.query('commit')
    expect(await fold(worker)).toBe(0)
    await worker.query('commit')
    expect(await fold()).toBe(0)
    expect((await engine.batches.get(id))?.state).toBe('closed')
  })

  it('is completed by a worker whose sessions have repeatable read', async () => {
    const engine = open()
    const { id } = await commit((tx) => engine.batches.create(tx))
    const { id: transferId } = await enqueue(engine, { batchId: id })
    await commit((tx) => engine.transfers.cancel(tx, transferId))
    await commit((tx) => engine.batches.close(tx, id))
    const options = '-c default_transaction_isolation=repeatable\\ read'
    const sessions = new pg.Pool({ connectionString: database.url, options, max: 1 })
    try {
      expect(await createBatchStore(pgDriver(sessions), resolveNames({}).tokens).fold()).toBe(1)
    } finally {
      await sessions.end()
    }
    expect((await engine.batches.get(id))?.state).toBe('completed')
  })

  it('wakes what was deferred in the pause, when the host commits the resume long after it', async () => {
    const engine = open()
    const { id } = await commit((tx) => engine.batches.create(tx))
    const { id: transferId } = await enqueue(engine, { batchId: id })
    await commit((tx) => engine.batches.pause(tx, id))
    const host = await begin()
    await engine.batches.resume(host, id)
    // A minute passes in the host's transaction.
    await host.query(`update outlay.resumed_batch set resumed_at = resumed_at - interval '1 minute'`)
    const claim = await begin()
    await claim.query(`update outlay.transfer set reason = 'batch_paused' where id = $1`, [transferId])
    await host.query('commit')
    expect(await wake()).toBe(0)
    await claim.query('commit')
    expect(await wake()).toBe(1)
    await pool.query(`update outlay.resumed_batch set seen_at = seen_at - interval '1 minute'`)
    expect(await wake()).toBe(0)
    expect(await rows('select from outlay.resumed_batch')).toEqual([])
  })

  const longAgo = () => pool.query(`update outlay.resumed_batch set seen_at = seen_at - interval '1 minute'`)
  const waiting = () => rows(`select id from outlay.transfer where reason = 'batch_paused' order by id`)
  /** A batch that was paused and resumed, with so many transfers that its pause has deferred. */
  const resumeWith = async (engine: ReturnType<typeof open>, count: number) => {
    const { id } = await commit((tx) => engine.batches.create(tx))
    for (let at = 0; at < count; at += 1) await enqueue(engine, { batchId: id })
    await commit((tx) => engine.batches.pause(tx, id))
    await pool.query(`update outlay.transfer set reason = 'batch_paused'`)
    await commit((tx) => engine.batches.resume(tx, id))
    return (await waiting()).map((row) => row['id'])
  }

  it('is woken part by part, each behind the last one, and from the beginning again', async () => {
    const ids = await resumeWith(open(), 23)
    const position = () => rows('select woken_to from outlay.resumed_batch')
    expect(await wake()).toBe(10)
    expect(await position()).toEqual([{ woken_to: ids[9] }])
    // A claim that began in the pause.
    await pool.query(`update outlay.transfer set reason = 'batch_paused' where id = $1`, [ids[0]])
    expect(await wake()).toBe(10)
    expect(await wake()).toBe(3)
    expect(await position()).toEqual([{ woken_to: null }])
    await longAgo()
    expect(await wake()).toBe(1)
    expect(await waiting()).toEqual([])
    expect(await wake()).toBe(0)
    expect(await position()).toEqual([])
  })

  it('stays noted until nothing of it waits, when a pass ends with a full part and when a host has locked one for long', async () => {
    const [first] = await resumeWith(open(), 11)
    const host = await begin()
    await host.query('select from outlay.transfer where id = $1 for update', [first])
    expect(await wake()).toBe(10)
    await longAgo()
    expect(await wake()).toBe(0)
    expect(await wake()).toBe(0)
    expect(await rows('select from outlay.resumed_batch')).toHaveLength(1)
    await host.query('commit')
    expect(await wake()).toBe(1)
    expect(await wake()).toBe(0)
    expect(await rows('select from outlay.resumed_batch')).toEqual([])
  })

  it('is woken from its beginning when it is resumed again while a worker is in the middle', async () => {
    const engine = open()
    const [first] = await resumeWith(engine, 12)
    expect(await wake()).toBe(10)
    const batchId = (await engine.transfers.get(first))?.batchId ?? ''
    // A pause forgets that it was resumed; a resume of before may still be under way.
    await pool.query('insert into outlay.paused_batch values ($1)', [batchId])
    await pool.query(`update outlay.transfer set reason = 'batch_paused' where id = $1`, [first])
    expect(await commit((tx) => engine.batches.resume(tx, batchId))).toBe(true)
    expect(await rows('select woken_to from outlay.resumed_batch')).toEqual([{ woken_to: null }])
    expect(await wake()).toBe(3)
  })

  it('is not woken while somebody has paused it in a transaction beside the one that resumed it', async () => {
    const engine = open()
    const { id } = await commit((tx) => engine.batches.create(tx))
    await enqueue(engine, { batchId: id })
    await commit((tx) => engine.batches.pause(tx, id))
    await pool.query(`update outlay.transfer set reason = 'batch_paused'`)
    const [resuming, pausing] = [await begin(), await begin()]
    await engine.batches.resume(resuming, id)
    const paused = engine.batches.pause(pausing, id)
    const waits = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await waitUntil(async () => (await rows(waits)).length === 1)
    await resuming.query('commit')
    expect(await paused).toBe(true)
    await pausing.query('commit')
    expect((await engine.batches.get(id))?.paused).toBe(true)
    // Both are noted: the pause did not see the resume.
    expect(await rows('select from outlay.resumed_batch')).toHaveLength(1)
    expect(await wake()).toBe(0)
    expect(await waiting()).toHaveLength(1)
    expect(await commit((tx) => engine.batches.resume(tx, id))).toBe(true)
    expect(await wake()).toBe(1)
  })
})
