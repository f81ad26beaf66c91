import { Id } from '@outlay/core'
import type { PoolClient } from 'pg'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { resolveNames } from '../schema/database-names.ts'
import { createAttemptStore } from './attempts.ts'

/** What settlements write, without times, which differ from one call to the next. */
const written = [
  `select t.id, t.stage, t.status, t.failure, t.remote_id, t.reason, t.attempt, t.event_sequence, t.next_poll_at is null as never_polled,
     t.unknown_since is null as is_known, t.released_at, t.reached_at from outlay.transfer t order by t.id`,
  `select a.transfer_id, a.attempt, a.worker, a.answered_at is null as is_open, a.outcome, nullif(a.detail, '') as detail, a.http_status, a.request_id, a.remote_id,
     a.unmatched, a.unmatched_id from outlay.attempt a order by a.transfer_id, a.attempt, a.worker`,
  `select e.transfer_id, e.sequence, e.type, e.stage, e.status, e.failure, e.remote_id, e.reason, e.attempt from outlay.event e
     order by e.transfer_id, e.sequence`,
  'select d.subscription, d.transfer_id, d.sequence, d.type, d.account_id from outlay.delivery d order by 1, 2, 3',
  'select q.job, q.is_active, q.is_waiting from outlay.queue_jobs() q order by q.job',
  'select c.batch_id, sum(c.pending) as pending, sum(c.processing) as processing, sum(c.complete) as complete, sum(c.unended) as unended from outlay.batch_change c group by 1 order by 1',
  'select w.transfer_id, w.account_id from outlay.return_window w order by 1',
]

describe('acceptances that are written at once', async () => {
  const { pool, driver, open, commit } = await testHost()
  const attempts = createAttemptStore(driver, resolveNames({}).tokens)

  /** Claims transfers; returns the acceptance of each, as a worker would write it. */
  async function begin(count: number, more: (n: number) => object = () => ({})) {
    const engine = open()
    const ids = await commit(async (tx) => {
      const enqueued = []
      for (let n = 0; n < count; n += 1)
        enqueued.push(await engine.transfers.enqueue(tx, { ...samplePayout('acme'), ...more(n) }))
      return enqueued.map(({ id }) => id)
    })
    const fetched = await attempts.fetch(count, 'worker')
    const claims = new Map(fetched.map(({ claim }) => [claim?.transferId, claim?.claimedBy]))
    return ids.map((id) => ({
      id,
      job: Id.toUuid(id),
      attempt: 1,
      worker: claims.get(id),
      stage: 'submitted',
      status: 'pending',
      remote_id: `remote-${id}`,
      poll_after_ms: 60_000,
      credentials: 'good',
      refusals: 0,
      events: ['transfer.submitted'],
      outcome: 'accepted',
      request_id: 'request',
      http_status: 201,
    }))
  }

  async function settle(client: PoolClient, settlements: readonly object[]) {
    const { rows } = await client.query(
      'select id, attempt, result from outlay.settle($1, 2) order by id, attempt, result',
      [JSON.stringify(settlements)],
    )
    const tables = []
    for (const text of written) tables.push((await client.query(text)).rows)
    return { rows, tables }
  }

  /** Does it in a transaction that leaves nothing. */
  async function trying<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await pool.connect()
    try {
      await client.query('begin')
      return await work(client)
    } finally {
      await client.query('rollback')
      client.release()
    }
  }

  /** What a call writes, and what it writes when each settlement goes the long way. */
  async function compare(settlements: readonly object[]) {
    const atOnce = await trying((client) => settle(client, settlements))
    const oneWay = await trying(async (client) => {
      await client.query(`create or replace function outlay.settle_accepted(p_settlements jsonb, out places integer[], out ids text[])
        language plpgsql as $$ begin end $$`)
      return settle(client, settlements)
    })
    const places = await trying(async (client) => {
      const { rows } = await client.query<{ places: readonly number[] | null }>(
        'select places from outlay.settle_accepted($1)',
        [JSON.stringify(settlements)],
      )
      return rows[0]?.places?.toSorted((a, b) => a - b)
    })
    return { atOnce, oneWay, places }
  }

  it('are what they would be one after the other, with their events, deliveries, jobs and batches', async () => {
    const engine = open()
    await engine.start()
    await engine.stop()
    await pool.query(
      `insert into outlay.subscription (name, types) values ('books', array['transfer.submitted', 'transfer.completed'])`,
    )
    const batch = await commit((tx) => engine.batches.create(tx, { accountId: 'acme' }))
    const [first, second, third] = await begin(3, (n) => (n === 1 ? { batchId: batch.id } : {}))
    const settlements = [
      first ?? {},
      {
        ...second,
        stage: 'settled',
        status: 'complete',
        reached_at: '2026-01-01T00:00:00Z',
        events: ['transfer.submitted', 'transfer.completed'],
        return_window_ms: 1000,
      },
      { ...third, events: [] },
    ]
    const { atOnce, oneWay, places } = await compare(settlements)
    expect(atOnce).toEqual(oneWay)
    expect(places).toEqual([1, 2, 3])
  })

  it('leave the others of their call to be judged', async () => {
    const [good, stale, foreign, refused, unknown, later, twice] = await begin(7)
    await pool.query('update outlay.transfer set attempt = 2 where id = $1', [stale?.id])
    await pool.query(`insert into outlay.attempt (transfer_id, attempt, worker) values ($1, 2, 'next')`, [stale?.id])
    const { atOnce, oneWay, places } = await compare([
      { ...stale, outcome: 'throttled', remote_id: null, stage: 'queued', retry_ms: 1000, events: [] },
      {
        ...foreign,
        worker: 'another',
        outcome: 'throttled',
        remote_id: null,
        stage: 'queued',
        retry_ms: 1000,
        events: [],
      },
      {
        ...refused,
        outcome: 'refused',
        remote_id: null,
        stage: 'settled',
        status: 'failed',
        failure: { code: 'invalid' },
        events: ['transfer.failed'],
      },
      {
        ...unknown,
        outcome: 'unknown',
        remote_id: null,
        stage: 'queued',
        reason: 'outcome_unknown',
        unknown_since: '2026-01-01T00:00:00Z',
        retry_ms: 1000,
        events: [],
      },
      { ...later, stage: 'blocked', reason: 'key_mismatch', events: ['transfer.blocked'] },
      good ?? {},
      {
        ...twice,
        outcome: 'unknown',
        remote_id: null,
        stage: 'queued',
        unknown_since: '2026-01-01T00:00:00Z',
        retry_ms: 1000,
        events: [],
      },
      twice ?? {},
    ])
    expect(places).toContain(6)
    expect(atOnce.tables).toEqual(oneWay.tables)
    expect(atOnce.rows).toEqual(oneWay.rows)
  })

  it.each(['of the same call', 'of another call'])(
    'write nothing at once where one has the id at the service of one %s',
    async (whose) => {
      const [first, second, third] = await begin(3)
      if (whose === 'of another call') await commit((client) => settle(client, [third ?? {}]))
      const same = whose === 'of another call' ? third : first
      const { atOnce, oneWay, places } = await compare([first ?? {}, { ...second, remote_id: same?.remote_id }])
      expect(places).toBeUndefined()
      expect(atOnce).toEqual(oneWay)
      expect(atOnce.tables[0]).toContainEqual(
        expect.objectContaining({ id: second?.id, stage: 'blocked', reason: 'remote_id_taken' }),
      )
    },
  )

  it('count once where two are about one transfer', async () => {
    const [first, second] = await begin(2)
    const { atOnce, oneWay } = await compare([first ?? {}, second ?? {}, first ?? {}])
    expect(atOnce).toEqual(oneWay)
    expect(atOnce.rows.filter(({ result }) => result === 'settled')).toHaveLength(3)
  })

  it('do not wait for a transfer that a host has locked', async () => {
    const [first, second] = await begin(2)
    const host = await pool.connect()
    try {
      await host.query('begin')
      await host.query('select 1 from outlay.transfer where id = $1 for update', [second?.id])
      const { atOnce, oneWay, places } = await compare([first ?? {}, second ?? {}])
      expect(places).toEqual([1])
      expect(atOnce).toEqual(oneWay)
      expect(atOnce.rows).toContainEqual({ id: second?.id, attempt: 1, result: 'locked' })
    } finally {
      await host.query('rollback')
      host.release()
    }
  })

  it('wait for the credentials of their account, where another request of the call was refused for these', async () => {
    const [first, second] = await begin(2)
    const { atOnce, oneWay } = await compare([
      first ?? {},
      {
        ...second,
        outcome: 'unauthenticated',
        remote_id: null,
        stage: 'queued',
        reason: 'unauthenticated',
        credentials: 'refused',
        retry_ms: 5000,
        events: [],
      },
    ])
    expect(atOnce).toEqual(oneWay)
  })
})
