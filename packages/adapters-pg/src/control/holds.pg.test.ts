import { drain, memoryGateway, waitUntil } from '@outlay/testing'
import type { PoolClient } from 'pg'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { countJobs } from '../../test/queue.ts'
import { slowWorker } from '../../test/slow-worker.ts'

describe('a transfer that an operator holds', async () => {
  const { begin, pool, open, commit, rows, enqueue } = await testHost()
  const slow = slowWorker(() => pool)
  const note = { actor: 'olga', reason: 'it is odd' }
  /** Fetches and claims all that is ready, as a worker does; returns the ids of claimed transfers. */
  const claim = async (on: Pick<PoolClient, 'query'> = pool): Promise<readonly string[]> => {
    const { rows: found } = await on.query(
      `select id from outlay.fetch_for_gateways(10, 'worker', null, null, array['default']) where id is not null`,
    )
    return found.map(({ id }) => id)
  }

  it('is sent by nobody until it is released, and then once', async () => {
    const gateway = memoryGateway()
    const engine = open({ gateway })
    const { id } = await enqueue(engine)
    expect(await commit((tx) => engine.transfers.hold(tx, id, note))).toBe(true)
    expect(await commit((tx) => engine.transfers.hold(tx, id, note))).toBe(false)
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held', status: 'pending', reason: 'operator' })
    expect(await countJobs(pool)).toBe(0)
    await engine.start()
    const { id: other } = await enqueue(engine)
    await reach(engine, other, { stage: 'settled' })
    expect(gateway.submissions.map(({ transferId }) => transferId)).toEqual([other])
    await commit((tx) => engine.transfers.release(tx, id, note))
    await reach(engine, id, { stage: 'settled', status: 'complete' })
    expect(gateway.submissions).toHaveLength(2)
  })

  it('is found, counted and shown, and is neither stuck nor a delay', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    await commit((tx) => engine.transfers.hold(tx, id, note))
    await pool.query(
      `update outlay.transfer set created_at = now() - interval '9 days', updated_at = now() - interval '9 days'`,
    )
    expect((await engine.transfers.find({ stage: 'held' })).transfers).toMatchObject([{ id }])
    expect(await engine.backlog()).toMatchObject({ held: 1, queued: 0, settled: 0 })
    expect(await rows('select id from outlay.stuck_transfers')).toEqual([])
    expect(await rows('select held, queued, oldest_unsubmitted_at from outlay.account_backlog')).toEqual([
      { held: 1, queued: 0, oldest_unsubmitted_at: null },
    ])
    expect(await rows('select id, name, actor, why from outlay.held_transfers')).toEqual([
      { id, name: 'operator', actor: 'olga', why: 'it is odd' },
    ])
    expect(await engine.transfers.holds(id)).toMatchObject({ holds: [{ name: 'operator', ...{ actor: 'olga' } }] })
  })

  it('waits for its time when it is released before that', async () => {
    const engine = open()
    const notBefore = new Date(Date.now() + 3_600_000).toISOString()
    const { id } = await enqueue(engine, { notBefore })
    await commit((tx) => engine.transfers.hold(tx, id, note))
    await commit((tx) => engine.transfers.release(tx, id, note))
    expect(await rows('select ready, outlay.iso(due_at) as due_at from outlay.outbox')).toEqual([
      { ready: false, due_at: (await engine.transfers.get(id))?.notBefore },
    ])
  })

  it('is canceled or rejected, with an event, and is not sent', async () => {
    const engine = open()
    const events: unknown[] = []
    engine.subscribe('log', ['transfer.held', 'transfer.canceled'], async ({ type, transfer }) => {
      events.push([type, transfer.id, transfer.reason])
    })
    await engine.start()
    const [{ id: first }, { id: second }] = [
      await enqueue(engine, { notBefore: new Date(Date.now() + 3_600_000) }),
      await enqueue(engine, { notBefore: new Date(Date.now() + 3_600_000) }),
    ]
    for (const id of [first, second]) await commit((tx) => engine.transfers.hold(tx, id, note))
    await commit((tx) => engine.transfers.cancel(tx, first, note))
    await commit((tx) => engine.transfers.reject(tx, second, note))
    await drain(engine)
    expect(await engine.transfers.get(first)).toMatchObject({ stage: 'settled', status: 'canceled', reason: null })
    expect(await engine.transfers.get(second)).toMatchObject({
      stage: 'settled',
      status: 'canceled',
      reason: 'rejected',
    })
    expect(events).toHaveLength(4)
    expect(events).toEqual(
      expect.arrayContaining([
        ['transfer.held', first, 'operator'],
        ['transfer.canceled', first, null],
        ['transfer.held', second, 'operator'],
        ['transfer.canceled', second, 'rejected'],
      ]),
    )
    expect(await rows('select from outlay.hold')).toEqual([])
    await expect(commit((tx) => engine.transfers.reject(tx, first, note))).rejects.toMatchObject({ code: 'conflict' })
  })

  it('is not held once a worker has claimed it, nor at the moment of the claim', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    const worker = await begin()
    expect(await claim(worker)).toEqual([id])
    const holding = commit((tx) => engine.transfers.hold(tx, id, note)).catch((error: unknown) => error)
    await waitForLock()
    await worker.query('commit')
    expect(await holding).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('a worker has claimed it'),
    })
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'submitting' })
    expect(await rows('select from outlay.hold')).toEqual([])
  })

  it('is not claimed while the transaction that holds it is open, nor after it', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    const host = await begin()
    await engine.transfers.hold(host, id, note)
    expect(await claim()).toEqual([])
    await host.query('commit')
    expect(await claim()).toEqual([])
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held', attempt: 0 })
  })

  it('is claimed once after a release, which a worker that claims meanwhile does not lose', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    await commit((tx) => engine.transfers.hold(tx, id, note))
    const host = await begin()
    await engine.transfers.release(host, id, note)
    expect(await claim()).toEqual([])
    await host.query('commit')
    expect(await claim()).toEqual([id])
    expect(await claim()).toEqual([])
  })

  it('is sent once more after a hold and a release in one transaction', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    await commit(async (tx) => {
      await engine.transfers.hold(tx, id, note)
      await engine.transfers.release(tx, id, note)
    })
    expect(await claim()).toEqual([id])
  })

  it('is not rejected when its money may have moved, as an answer after a restore says', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    await commit((tx) => engine.transfers.hold(tx, id, note))
    const at = new Date().toISOString()
    const unknown = { outcome: 'unknown', stage: 'queued', reason: 'outcome_unknown', retry_ms: 1000, detail: 'reset' }
    await slow.settle(id, 1, { ...unknown, unknown_since: at, claimed_at: at })
    expect(await rows('select stage, outlay.effect_of(t) as effect from outlay.transfer t')).toEqual([
      { stage: 'held', effect: 'unknown' },
    ])
    const refused = { code: 'transfer_not_cancelable', message: expect.stringContaining('its money may have moved') }
    await commit(async (tx) => {
      await expect(engine.transfers.reject(tx, id, note)).rejects.toMatchObject(refused)
    })
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held', status: 'pending' })
    expect((await engine.audit.list()).map(({ command }) => command)).toEqual(['transfers.hold'])
  })

  it('is held by nothing any more once it was accepted', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    await commit((tx) => engine.transfers.hold(tx, id, note))
    expect(await slow.settle(id, 1, slow.accepted('remote-1'))).toBe('settled')
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'submitted', remoteId: 'remote-1' })
    expect(await rows('select from outlay.hold')).toEqual([])
  })

  it('needs a name and a reason, before any SQL', async () => {
    const engine = open()
    const { id } = await enqueue(engine)
    await commit(async (tx) => {
      const refused = [
        engine.transfers.hold(tx, id, { ...note, actor: '' }),
        engine.transfers.hold(tx, id, { actor: 'olga' } as typeof note),
        engine.transfers.hold(tx, id, { ...note, actor: ' olga' }),
      ]
      const errors = await Promise.all(refused.map((one) => one.catch((error: unknown) => error)))
      expect(errors).toMatchObject([
        { code: 'missing_field', field: 'actor' },
        { code: 'missing_field', field: 'reason' },
        { code: 'invalid_request', field: 'actor' },
      ])
      await engine.transfers.hold(tx, id, note)
      await expect(engine.transfers.release(tx, id)).rejects.toMatchObject({ code: 'missing_field', field: 'actor' })
    })
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held' })
  })

  /** Waits until a session waits for a lock. */
  const waitForLock = () =>
    waitUntil(async () => {
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return (await rows(waiting)).length > 0
    })
})
