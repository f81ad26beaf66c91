import { drain, memoryGateway } from '@outlay/testing'
import type { PoolClient } from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { type HostEngine, reach, testHost } from '../../test/host.ts'
import { slowWorker } from '../../test/slow-worker.ts'

const note = { actor: 'olga', reason: 'it is odd' }

describe('a held transfer that nobody has released in time', async () => {
  const { pool, open, commit, rows, enqueue } = await testHost()
  const slow = slowWorker(() => pool)
  const begun: PoolClient[] = []
  afterEach(async () => {
    for (const tx of begun.splice(0)) {
      await tx.query('rollback')
      tx.release()
    }
  })
  const hold = async (engine: HostEngine) => {
    const { id } = await enqueue(engine, { createdBy: 'carl' })
    await commit((tx) => engine.transfers.hold(tx, id, note))
    await pool.query(`update outlay.transfer set expires_at = now() - interval '1 second' where id = $1`, [id])
    return id
  }
  const expire = async () => (await rows('select outlay.expire_held(100) as ended'))[0]

  it('fails as expired, with an event, and is not sent', async () => {
    const gateway = memoryGateway()
    const engine = open({ gateway })
    const events: unknown[] = []
    engine.subscribe('log', ['transfer.failed'], async ({ type, transfer }) => {
      events.push([type, transfer.id, transfer.failure?.code])
    })
    const id = await hold(engine)
    await engine.start()
    await reach(engine, id, { stage: 'settled', status: 'failed' })
    await drain(engine)
    expect(events).toEqual([['transfer.failed', id, 'expired']])
    expect(await engine.transfers.get(id)).toMatchObject({
      failure: { type: 'expired', retriable: false },
      reason: null,
    })
    expect(await rows('select from outlay.hold')).toEqual([])
    expect(gateway.submissions).toEqual([])
    expect(
      await commit((tx) =>
        engine.transfers.resubmit(tx, id, { createdBy: 'rosa', expiresAt: new Date(Date.now() + 9e6) }),
      ),
    ).toMatchObject({ stage: 'queued', resubmissionOf: id })
  })

  it('is not approved or released late, and does not keep its batch from being approved', async () => {
    const engine = open()
    await commit((tx) => engine.policies.set(tx, [{ name: 'all', approvals: [{}] }], note))
    const { id: batchId } = await commit((tx) => engine.batches.create(tx))
    const [late, other] = [
      await enqueue(engine, { createdBy: 'carl', batchId }),
      await enqueue(engine, { createdBy: 'carl', batchId }),
    ]
    await commit((tx) => engine.transfers.hold(tx, late.id, note))
    await pool.query(`update outlay.transfer set expires_at = now() - interval '1 second' where id = $1`, [late.id])
    const refused = { code: 'conflict', message: expect.stringContaining('expiresAt') }
    const approval = commit((tx) => engine.transfers.approve(tx, late.id, { actor: 'anna' }))
    await expect(approval).rejects.toMatchObject(refused)
    await expect(commit((tx) => engine.transfers.release(tx, late.id, note))).rejects.toMatchObject(refused)
    const all = await commit((tx) => engine.batches.approve(tx, batchId, { actor: 'anna' }))
    expect(all).toEqual({ approved: 1, released: 1 })
    expect(await engine.transfers.holds(late.id)).toMatchObject({ isExpired: true, approvals: [] })
    expect(await engine.transfers.get(other.id)).toMatchObject({ stage: 'queued' })
    expect(await expire()).toEqual({ ended: 1 })
  })

  it('is passed over while somebody decides about it, and when it may have an effect', async () => {
    const engine = open()
    const [locked, unknown, ended] = [await hold(engine), await hold(engine), await hold(engine)]
    const at = new Date().toISOString()
    const outcome = { outcome: 'unknown', stage: 'queued', reason: 'outcome_unknown', retry_ms: 1000, detail: 'reset' }
    await slow.settle(unknown, 1, { ...outcome, unknown_since: at, claimed_at: at })
    const tx = await pool.connect()
    begun.push(tx)
    await tx.query('begin')
    await tx.query('select from outlay.transfer where id = $1 for update', [locked])
    expect(await expire()).toEqual({ ended: 1 })
    expect(await engine.transfers.get(ended)).toMatchObject({ status: 'failed' })
    for (const id of [locked, unknown]) expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held' })
    await tx.query('rollback')
    expect(await expire()).toEqual({ ended: 1 })
    expect(await expire()).toEqual({ ended: 0 })
  })

  it('is not ended behind the fence, where it may have been released and paid since the backup', async () => {
    const engine = open()
    const id = await hold(engine)
    await commit((tx) => engine.fence(tx, note))
    expect(await expire()).toEqual({ ended: 0 })
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held', status: 'pending' })
    await pool.query('update outlay.known_database set fenced_since = null, fence_id = null')
    expect(await expire()).toEqual({ ended: 1 })
  })

  it('is none before its time, nor without one', async () => {
    const engine = open()
    const { id } = await enqueue(engine, { expiresAt: new Date(Date.now() + 3_600_000) })
    const { id: endless } = await enqueue(engine)
    for (const one of [id, endless]) await commit((tx) => engine.transfers.hold(tx, one, note))
    expect(await expire()).toEqual({ ended: 0 })
    expect(await engine.transfers.holds(id)).toMatchObject({ isExpired: false })
  })

  it('are found without a read of what is held for longer', async () => {
    const engine = open()
    const due = await enqueue(engine, { expiresAt: new Date(Date.now() + 3_600_000) })
    await commit((tx) => engine.transfers.hold(tx, due.id, note))
    await rows(
      `insert into outlay.transfer
       select (jsonb_populate_record(t, jsonb_build_object('id', substr(t.id, 1, 20) || lpad(n::text, 6, '0'), 'idempotency_key', 'held-' || n))).*
       from outlay.transfer t, generate_series(1, 3000) n where t.id = $1`,
      [due.id],
    )
    await rows(
      `insert into outlay.hold (transfer_id, name, why) select t.id, 'operator', 'x' from outlay.transfer t on conflict do nothing`,
    )
    await rows(`update outlay.transfer set expires_at = now() - interval '1 second' where id = $1`, [due.id])
    await rows('vacuum analyze outlay.transfer')
    const read = `select seq_tup_read::integer + coalesce(idx_tup_fetch, 0)::integer as count from pg_stat_xact_user_tables where relid = 'outlay.transfer'::regclass`
    const [before, ended, after] = await commit(async (tx) => {
      const one = async (text: string) => (await tx.query(text)).rows[0]?.count
      return [await one(read), await one('select outlay.expire_held(10) as count'), await one(read)]
    })
    expect(ended).toBe(1)
    expect(after - before).toBeLessThan(10)
  })
})
