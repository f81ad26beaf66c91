import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

describe('the counts of a batch', async () => {
  const { pool, open, commit, rows, enqueue } = await testHost()
  const fold = () => pool.query('select outlay.fold_batches(50)')
  const changes = () =>
    rows(
      `select batch_id, pending, processing, failed, canceled, complete, unended from outlay.batch_change order by batch_id`,
    )
  const nothing = { pending: 0, processing: 0, failed: 0, canceled: 0, complete: 0, unended: 0 }

  /** Two batches, transfers of them that are being submitted, and one of none. */
  async function begin() {
    const engine = open()
    const [one, two] = await commit(async (tx) => [await engine.batches.create(tx), await engine.batches.create(tx)])
    const enqueued = await commit((tx) =>
      engine.transfers.enqueueMany(
        tx,
        [one, one, one, two].map((batch) => samplePayout('acme', { batchId: batch?.id ?? '' })),
      ),
    )
    const outside = await enqueue(engine)
    const ids = [...enqueued, outside].map(({ id }) => id)
    await pool.query(`update outlay.transfer set stage = 'submitting', attempt = 1 where id = any ($1)`, [ids])
    await fold()
    expect(await changes()).toEqual([])
    return { engine, ids, one: one?.id ?? '', two: two?.id ?? '' }
  }

  const settlement = (id: string | undefined, stage: string, status: string) => ({
    ...{ id, job: '00000000-0000-0000-0000-000000000000', attempt: 1, stage, status },
    ...{ remote_id: `remote-${id}`, events: [], outcome: 'accepted' },
  })

  it('change by one row for each batch, however many one statement settles', async () => {
    const { engine, ids, one, two } = await begin()
    const outcomes = [
      ...ids.slice(0, 2).map((id) => settlement(id, 'settled', 'complete')),
      settlement(ids[2], 'submitted', 'processing'),
      settlement(ids[3], 'settled', 'failed'),
      settlement(ids[4], 'settled', 'complete'),
    ]
    await pool.query('select outlay.write_settlements($1)', [JSON.stringify(outcomes)])
    expect(await changes()).toEqual([
      { ...nothing, batch_id: one, pending: -3, processing: 1, complete: 2, unended: -2 },
      { ...nothing, batch_id: two, pending: -1, failed: 1, unended: -1 },
    ])
    await fold()
    const observed = [
      { id: ids[2], stage: 'settled', status: 'complete', events: [] },
      { id: ids[4], stage: 'settled', status: 'complete', events: [] },
    ]
    await pool.query('select outlay.apply_changes($1)', [JSON.stringify(observed)])
    expect(await changes()).toEqual([{ ...nothing, batch_id: one, processing: -1, complete: 1, unended: -1 }])
    expect((await engine.batches.get(one))?.counts).toMatchObject({
      complete: 3,
      unended: 0,
      processing: 0,
      pending: 0,
    })
  })

  it('do not change where neither a status changes nor anything ends', async () => {
    const { ids } = await begin()
    const waiting = { ...settlement(ids[0], 'queued', 'pending'), remote_id: null, retry_ms: 1_000 }
    await pool.query('select outlay.write_settlements($1)', [JSON.stringify([waiting])])
    expect(await changes()).toEqual([])
  })

  it('change by every other statement too, also behind a settlement in its transaction and behind one that fails', async () => {
    const { engine, ids, one } = await begin()
    await commit(async (tx) => {
      await tx.query('savepoint before')
      await tx.query(`select outlay.write_settlements('[{"id": 1, "attempt": "none"}]')`).catch(() => undefined)
      await tx.query('rollback to savepoint before')
      await tx.query('select outlay.write_settlements($1)', [
        JSON.stringify([settlement(ids[0], 'settled', 'complete')]),
      ])
      await tx.query(`update outlay.transfer set stage = 'settled', status = 'failed' where id = $1`, [ids[1]])
    })
    expect(await changes()).toHaveLength(2)
    expect((await engine.batches.get(one))?.counts).toMatchObject({ complete: 1, failed: 1, pending: 1, unended: 1 })
  })

  it('change with an enqueue by one row, and not by a repeat, also once the batch is closed', async () => {
    const engine = open()
    const { id } = await commit((tx) => engine.batches.create(tx))
    const payout = samplePayout('acme', { batchId: id, idempotencyKey: 'salary-1' })
    const first = await commit((tx) => engine.transfers.enqueue(tx, payout))
    expect(await commit((tx) => engine.transfers.enqueue(tx, payout))).toMatchObject({ id: first.id, reused: true })
    await commit((tx) => engine.batches.close(tx, id))
    expect(await commit((tx) => engine.transfers.enqueue(tx, payout))).toMatchObject({ id: first.id, reused: true })
    expect(await changes()).toEqual([{ ...nothing, batch_id: id, pending: 1, unended: 1 }])
    const another = commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme', { batchId: id })))
    await expect(another).rejects.toMatchObject({ code: 'conflict', field: 'batchId' })
  })

  it('do not change with what waits for a completion: it sees that, and is refused', async () => {
    const engine = open()
    const { id } = await commit((tx) => engine.batches.create(tx))
    const worker = await pool.connect()
    try {
      await worker.query('begin')
      await worker.query('select pg_advisory_xact_lock(outlay.batch_lock($1))', [id])
      await worker.query('update outlay.batch set completed_at = clock_timestamp() where id = $1', [id])
      const entering = commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme', { batchId: id }))).catch(
        (error: unknown) => error,
      )
      const waiting = `select from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())`
      await waitUntil(async () => (await rows(waiting)).length > 0, { describe: 'the enqueue to wait' })
      await worker.query('commit')
      expect(await entering).toMatchObject({ code: 'conflict', field: 'batchId' })
    } finally {
      worker.release()
    }
    expect(await changes()).toEqual([])
  })
})
