import { randomBytes } from 'node:crypto'
import { Id, OutlayError } from '@outlay/core'
import { drain, memoryGateway, waitUntil } from '@outlay/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { pgDriver } from '../drivers/pg.ts'
import { inspect } from '../inspection/inspection.ts'

const dayMs = 24 * 3_600_000

const longAgo = { now: () => new Date(Date.now() - 500 * dayMs) }
const oldId = () => Id.generate(longAgo, { bytes: (length) => randomBytes(length) })

describe('the archive', async () => {
  const { pool, open, commit } = await testHost()
  const gateway = memoryGateway()
  const make = () => open({ gateway })
  afterEach(() => gateway.script(() => undefined))

  const count = async (from: string) => Number((await pool.query(`select count(*) from outlay.${from}`)).rows[0].count)
  const historyOf = async (id: string) => {
    const { rows: events } = await pool.query('select * from outlay.events_of($1) order by sequence', [id])
    const { rows: attempts } = await pool.query('select * from outlay.logged_attempts_of($1) order by attempt', [id])
    const { rows: timeline } = await pool.query('select * from outlay.timeline_of($1)', [id])
    const { rows: shown } = await pool.query('select * from outlay.attempts_of($1)', [id])
    return { events, attempts, timeline, shown }
  }

  /** Enqueues transfers, lets them end, and makes them older than 400 days, by their ids too. */
  async function end(keys: readonly string[]) {
    const engine = make()
    await engine.start()
    const requests = keys.map((idempotencyKey) => samplePayout('acme', { idempotencyKey, id: oldId() }))
    const ended = await commit((tx) => engine.transfers.enqueueMany(tx, requests))
    await drain(engine)
    await engine.stop()
    await pool.query(`update outlay.transfer set updated_at = updated_at - interval '500 days'`)
    return ended.map((transfer) => transfer.id)
  }

  it('keeps every column of every event and attempt, and every read goes on as before', async () => {
    const lost = { outcome: 'unknown', detail: 'reset' } as const
    gateway.script(({ attempt }) => (attempt === 1 ? lost : undefined))
    const [id = ''] = await end(['one'])
    const engine = make()
    const inspection = inspect({ driver: pgDriver(pool) })
    const before = { ...(await historyOf(id)), transfer: await engine.transfers.get(id) }
    const evidence = await inspection.evidence(id)
    expect(before.attempts).toHaveLength(2)
    expect(await engine.archive({ olderThanMs: 400 * dayMs })).toEqual({
      archived: 1,
      held: 0,
      heldBy: [],
      referenced: 0,
    })
    expect([await count('event'), await count('attempt'), await count('archive')]).toEqual([0, 0, 1])
    expect({ ...(await historyOf(id)), transfer: await engine.transfers.getByKey('acme', 'one') }).toEqual(before)
    const { archivedAt, summary, ...rest } = (await inspection.evidence(id)) ?? {}
    expect(archivedAt).toMatch(/Z$/)
    expect({ ...evidence, ...rest }).toEqual(evidence)
    expect(summary).toMatchObject({ id, amount: '12.50', status: 'complete' })
    expect(await engine.archive({ olderThanMs: 0 })).toEqual({ archived: 0, held: 0, heldBy: [], referenced: 0 })
  })

  it('goes on to refuse a second use of the key', async () => {
    const [id] = await end(['used', 'other'])
    const engine = make()
    await engine.archive({ olderThanMs: 0 })
    const used = samplePayout('acme', { idempotencyKey: 'used' })
    const changed = { ...used, amount: { value: '1.00', currency: 'USD' } }
    await commit(async (tx) => {
      expect(await engine.transfers.enqueue(tx, used)).toMatchObject({ id, reused: true, status: 'complete' })
      const many = await engine.transfers.enqueueMany(tx, [samplePayout('acme', { idempotencyKey: 'new' }), used])
      expect(many.map((transfer) => transfer.reused)).toEqual([false, true])
      expect(many[1]?.request).toEqual(many[0]?.request)
      const refused = await engine.transfers.enqueue(tx, changed).catch((error: unknown) => error)
      expect(OutlayError.is(refused, 'idempotency_key_mismatch')).toBe(true)
    })
    expect(await count('transfer')).toBe(3)
  })

  it('moves only transfers that ended long ago, up to a limit, and counts them in a dry run', async () => {
    const ids = await end(['a', 'b', 'c', 'd'])
    await pool.query('update outlay.transfer set updated_at = now() where id = $1', [ids[3]])
    const engine = make()
    await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme', { idempotencyKey: 'queued', id: oldId() })))
    await pool.query(`update outlay.transfer set updated_at = now() - interval '500 days' where stage = 'queued'`)
    const reported: number[] = []
    const onProgress = (sum: { archived: number }) => reported.push(sum.archived)
    const old = { olderThanMs: 400 * dayMs }
    expect(await engine.archive({ ...old, dryRun: true, onProgress })).toEqual({
      archived: 3,
      held: 0,
      heldBy: [],
      referenced: 0,
    })
    expect(reported.at(-1)).toBe(3)
    expect(await count('archive')).toBe(0)
    expect(await engine.archive({ ...old, limit: 2 })).toEqual({ archived: 2, held: 0, heldBy: [], referenced: 0 })
    expect(await engine.archive({ ...old, signal: AbortSignal.abort() })).toEqual({
      archived: 0,
      held: 0,
      heldBy: [],
      referenced: 0,
    })
    expect(await engine.archive(old)).toEqual({ archived: 1, held: 0, heldBy: [], referenced: 0 })
    expect(await count('event where sequence = 2')).toBe(1)
    await expect(engine.archive({ olderThanMs: Number.NaN })).rejects.toThrow('olderThanMs')
  })

  it('skips transfers with undelivered events, dead letters included', async () => {
    const [first = '', second = '', third = ''] = await end(['a', 'b', 'c'])
    await pool.query(
      `insert into outlay.delivery (subscription, transfer_id, sequence, type, account_id, dead)
       values ('books', $1, 3, 'transfer.completed', 'acme', false), ('gone', $2, 2, 'transfer.submitted', 'acme', true)`,
      [first, second],
    )
    const engine = make()
    expect(await engine.archive({ olderThanMs: 0, dryRun: true })).toEqual({
      archived: 1,
      held: 2,
      heldBy: ['books', 'gone'],
      referenced: 0,
    })
    expect(await engine.archive({ olderThanMs: 0 })).toEqual({
      archived: 1,
      held: 2,
      heldBy: ['books', 'gone'],
      referenced: 0,
    })
    expect((await pool.query('select id from outlay.transfer where archive_page is not null')).rows).toEqual([
      { id: third },
    ])
    await pool.query('truncate outlay.delivery')
    expect(await engine.archive({ olderThanMs: 0 })).toEqual({ archived: 2, held: 0, heldBy: [], referenced: 0 })
  })

  it('removes the trace contexts of what it archives, and of nothing else', async () => {
    const [archived, held] = await end(['a', 'b'])
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    await pool.query('insert into outlay.trace_context select unnest($1::text[]), $2', [[archived, held], traceparent])
    await pool.query(
      `insert into outlay.delivery (subscription, transfer_id, sequence, type, account_id, dead) values ('books', $1, 3, 'transfer.completed', 'acme', false)`,
      [held],
    )
    expect(await make().archive({ olderThanMs: 0 })).toEqual({ archived: 1, held: 1, heldBy: ['books'], referenced: 0 })
    expect((await pool.query('select transfer_id from outlay.trace_context')).rows).toEqual([{ transfer_id: held }])
  })

  it('skips a transfer whose last answer may still come', async () => {
    const [id] = await end(['a'])
    await pool.query('update outlay.attempt set answered_at = null')
    const engine = make()
    expect(await engine.archive({ olderThanMs: 0 })).toEqual({ archived: 0, held: 0, heldBy: [], referenced: 0 })
    await pool.query(`update outlay.attempt set claimed_at = now() - interval '25 hours'`)
    expect(await engine.archive({ olderThanMs: 0 })).toEqual({ archived: 1, held: 0, heldBy: [], referenced: 0 })
    expect((await historyOf(id ?? '')).attempts).toHaveLength(1)
  })

  it('loses nothing and doubles nothing when several archive and others enqueue the same keys', async () => {
    const keys = Array.from({ length: 900 }, (_, index) => `k-${index}`)
    const ids = await end(keys)
    const allEvents = () =>
      pool.query('select e.* from outlay.transfer t, outlay.events_of(t.id) e order by transfer_id, sequence')
    const before = await allEvents()
    const engine = make()
    const requests = keys.map((idempotencyKey) => samplePayout('acme', { idempotencyKey }))
    const [again, one, ...archived] = await Promise.all([
      commit((tx) => engine.transfers.enqueueMany(tx, requests)),
      Promise.all(requests.slice(0, 50).map((request) => commit((tx) => engine.transfers.enqueue(tx, request)))),
      ...[1, 2, 3, 4].map(() => engine.archive({ olderThanMs: 400 * dayMs })),
    ])
    // A transfer that a rival had locked is skipped, and is there for the next run.
    const rest = await engine.archive({ olderThanMs: 400 * dayMs })
    expect([...archived, rest].reduce((sum, { archived: count }) => sum + count, 0)).toBe(900)
    expect(again.map((transfer) => transfer.id)).toEqual(ids)
    expect([...again, ...one].every((transfer) => transfer.reused)).toBe(true)
    expect(await count('transfer')).toBe(900)
    expect(await count('event')).toBe(0)
    expect((await allEvents()).rows).toEqual(before.rows)
  })

  it('changes nothing for a webhook or a poll that comes late, and lets a failed one be enqueued again', async () => {
    gateway.script(() => ({ outcome: 'rejected', code: 'closed', detail: 'The account is closed.' }))
    const [id = ''] = await end(['fails'])
    gateway.script(() => undefined)
    const [completed = ''] = await end(['completes'])
    const engine = make()
    await engine.archive({ olderThanMs: 0 })
    const before = await historyOf(completed)
    const { remoteId } = (await engine.transfers.get(completed)) ?? {}
    await commit(async (tx) => {
      const seen = { remoteId: remoteId ?? '', status: 'processing', failure: null } as const
      expect(await engine.transfers.observe(tx, 'acme', [seen])).toBe(0)
      await expect(engine.transfers.cancel(tx, completed)).rejects.toMatchObject({ code: 'transfer_not_cancelable' })
      expect(await engine.transfers.release(tx, completed)).toBe(false)
    })
    expect(await historyOf(completed)).toEqual(before)
    const again = await commit((tx) => engine.transfers.resubmit(tx, id, { idempotencyKey: 'second' }))
    expect(again).toMatchObject({ reused: false, stage: 'queued' })
    expect(again.request).toEqual((await engine.transfers.get(id))?.request)
  })

  it('is filled by a running engine when that is asked for', async () => {
    await end(['a', 'b'])
    const engine = make()
    for (const archiveAfterDays of [-1, 1e12])
      await expect(engine.start({ retention: { archiveAfterDays } })).rejects.toThrow('archiveAfterDays')
    await engine.start({ retention: { archiveAfterDays: 400 } })
    await waitUntil(async () => (await count('transfer where archive_page is not null')) === 2)
  })
})
