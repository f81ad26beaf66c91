import type { Observation } from '@outlay/core'
import { drain, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'
import { type ListedGateway, listedGateway } from '../../test/listed-gateway.ts'
import { samplePayout } from '../../test/outbox.ts'
import { removeJobs } from '../../test/queue.ts'

describe('polling', async () => {
  const { pool, open, commit } = await testHost()

  // The first poll of a payout by ACH is due after half a day.
  const make = (gateway: ListedGateway) => open({ gateway })

  /** Enqueues transfers and lets the engine submit them all. */
  async function submit(count: number, engine: HostEngine) {
    const payouts = Array.from({ length: count }, () => samplePayout('acme'))
    await commit((tx) => engine.transfers.enqueueMany(tx, payouts))
    await engine.start()
    await waitUntil(async () => (await engine.backlog()).submitted === count, { timeoutMs: 100_000 })
  }
  /** Makes transfers that the service has, without the work of submitting them. */
  async function names(count: number, gateway: ListedGateway, engine: HostEngine) {
    const payouts = Array.from({ length: count }, () => samplePayout('acme'))
    await commit((tx) => engine.transfers.enqueueMany(tx, payouts))
    const ids = payouts.map(() => gateway.add().id)
    await removeJobs(pool)
    await pool.query(
      `update outlay.transfer t set stage = 'submitted', remote_id = n.remote_id, next_poll_at = now() + interval '1 day'
        from (select id, row_number() over (order by id) as n from outlay.transfer) p
        join unnest($1::text[]) with ordinality as n (remote_id, n) on n.n = p.n where t.id = p.id`,
      [ids],
    )
  }
  /** Makes every transfer due for a poll, and waits until each has had one. */
  async function pollAll(where = 'true') {
    await pool.query(`update outlay.transfer set next_poll_at = now() where stage = 'submitted' and ${where}`)
    // A lease would be a quarter of a minute, the next poll by ACH is hours away.
    const waiting = `select 1 from outlay.transfer where next_poll_at < now() + interval '1 hour'
      union all select 1 from outlay.list_reading`
    await waitUntil(async () => (await pool.query(waiting)).rowCount === 0, { timeoutMs: 100_000 })
  }

  it('sends at most one request for twenty transfers when an account has thousands in flight', async () => {
    const gateway = listedGateway()
    const engines = [make(gateway), make(gateway)] as const
    await names(5_000, gateway, engines[0])
    for (const engine of engines) await engine.start()
    const ids = [...gateway.transfers.keys()]
    await pollAll()
    for (const id of ids.filter((_, index) => index % 2 === 0)) gateway.setStatus(id, 'complete')
    await pollAll()
    for (const id of ids) gateway.setStatus(id, 'complete')
    await pollAll()
    expect(await drain(engines[0])).toMatchObject({ settled: 5_000 })
    const { get, list } = gateway.requests
    expect((get + list) / 5_000).toBeLessThanOrEqual(0.05)
    expect(get).toBe(0)
    await Promise.all(engines.map((engine) => engine.stop()))
  })

  it('observes transfers that are not due when a page has them, and defers their polls', async () => {
    const gateway = listedGateway()
    const engine = make(gateway)
    await submit(300, engine)
    for (const id of gateway.transfers.keys()) gateway.setStatus(id, 'processing')
    const soon = `update outlay.transfer set next_poll_at = now() + interval '1 minute' where remote_id <> all ($1) returning id`
    const due = [...gateway.transfers.keys()].slice(0, 20)
    await pool.query(soon, [due])
    await pool.query('update outlay.transfer set next_poll_at = now() where remote_id = any ($1)', [due])
    const late = `select status, polls from outlay.transfer where next_poll_at > now() + interval '1 hour'`
    await waitUntil(async () => (await pool.query(late)).rowCount === 300)
    const { rows } = await pool.query(late)
    expect(new Set(rows.map((row) => row.status))).toEqual(new Set(['processing']))
    expect(rows.filter((row) => row.polls === 1)).toHaveLength(20)
    expect(rows.filter((row) => row.polls === 0)).toHaveLength(280)
    expect(gateway.requests).toEqual({ get: 0, list: 3 })
  })

  it('polls one by one when there are few, and when the list does not show them', async () => {
    const gateway = listedGateway()
    const engine = make(gateway)
    await submit(40, engine)
    const [first = '', second = '', ...others] = gateway.transfers.keys()
    for (const id of [first, second]) gateway.hidden.add(id)
    for (const id of [first, second, ...others]) gateway.setStatus(id, 'complete')
    await pollAll(`remote_id in ('${first}', '${others[0]}')`)
    expect(gateway.requests).toEqual({ get: 2, list: 0 })
    await pollAll()
    expect(await drain(engine)).toMatchObject({ settled: 40 })
    expect(gateway.requests).toEqual({ get: 3, list: 1 })
  })

  it('gives a list up that costs more than it saves', async () => {
    const gateway = listedGateway()
    const engine = make(gateway)
    await submit(20, engine)
    for (const id of gateway.transfers.keys()) gateway.setStatus(id, 'complete')
    for (let count = 0; count < 5_000; count += 1) gateway.add({ status: 'complete' })
    await pollAll()
    expect(await drain(engine)).toMatchObject({ settled: 20 })
    expect(gateway.requests).toEqual({ get: 20, list: 6 })
  })

  it('goes on with a list where a worker that stopped has left it', async () => {
    const gateway = listedGateway()
    const first = make(gateway)
    await submit(1_000, first)
    for (const id of gateway.transfers.keys()) gateway.setStatus(id, 'complete')
    const cursors: (string | undefined)[] = []
    const arrived = Promise.withResolvers<void>()
    gateway.onList = (cursor, signal) => {
      cursors.push(cursor)
      if (cursors.length !== 5) return undefined
      arrived.resolve()
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    await pool.query('update outlay.transfer set next_poll_at = now()')
    await arrived.promise
    await first.stop()
    const second = make(gateway)
    await second.start()
    expect(await drain(second)).toMatchObject({ settled: 1_000 })
    expect(cursors).toHaveLength(11)
    expect(cursors[5]).toBe(cursors[4])
    expect(cursors.filter((cursor) => cursor === undefined)).toHaveLength(1)
    expect(gateway.requests.get).toBe(0)
  })

  it('waits for a reader that died no longer for a list than for a transfer', async () => {
    const gateway = listedGateway()
    const engine = make(gateway)
    await submit(20, engine)
    let listing = 0
    gateway.onList = (_, signal) => {
      listing += 1
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    await pool.query('update outlay.transfer set next_poll_at = now()')
    await waitUntil(() => listing === 1)
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    await waitUntil(() => listing === 2)
    const { rows } = await pool.query(
      `select extract(epoch from at - now())::integer as seconds from (
         select leased_until as at from outlay.list_reading union all select next_poll_at from outlay.watched_account
       ) l`,
    )
    expect(rows).toHaveLength(2)
    for (const { seconds } of rows) expect(seconds).toBeLessThanOrEqual(15)
    // A worker that stops releases it at once.
    await engine.stop()
    const left = `select 1 from outlay.list_reading where leased_until > now()
      union all select 1 from outlay.watched_account where next_poll_at > now()`
    expect((await pool.query(left)).rowCount).toBe(0)
  })

  it('starts a list over when the service no longer accepts the cursor', async () => {
    const gateway = listedGateway()
    const engine = make(gateway)
    await submit(300, engine)
    for (const id of gateway.transfers.keys()) gateway.setStatus(id, 'complete')
    let refusals = 0
    gateway.onList = (cursor) => {
      if (cursor === undefined || refusals > 0) return undefined
      refusals += 1
      return Promise.reject(new Error('The cursor is too old.'))
    }
    await pollAll()
    await pollAll()
    expect(await drain(engine)).toMatchObject({ settled: 300 })
    expect(refusals).toBe(1)
  })

  it.each([1, 3])('polls one by one what no list shows because its page %i cannot be read', async (broken) => {
    const gateway = listedGateway()
    let pages = 0
    gateway.onList = (cursor) => {
      pages = cursor === undefined ? 1 : pages + 1
      return pages >= broken ? Promise.reject(new Error('HTTP 500')) : undefined
    }
    const engine = make(gateway)
    await names(300, gateway, engine)
    for (const id of gateway.transfers.keys()) gateway.setStatus(id, 'complete')
    await engine.start()
    await pollAll()
    expect(await drain(engine)).toMatchObject({ settled: 300 })
  })

  it('does not announce an old failure again that the transfer has overcome', async () => {
    const gateway = listedGateway()
    const engine = make(gateway)
    const received: string[] = []
    engine.subscribe('books', ['transfer.processing', 'transfer.failed'], async ({ type }) => {
      received.push(type)
    })
    await submit(1, engine)
    const at = (minute: number) => `2026-01-05T08:0${minute}:00.000Z`
    const failure = { type: 'rejected', code: 'busy', detail: 'busy', occurredAt: at(1), retriable: true } as const
    const failed: Observation = { remoteId: 'remote-1', status: 'failed', failure, reachedAt: at(1) }
    const resumed: Observation = { remoteId: 'remote-1', status: 'processing', failure: null, reachedAt: at(2) }
    const observe = (seen: Observation) => commit((tx) => engine.transfers.observe(tx, 'acme', [seen]))
    expect([await observe(failed), await observe(resumed)]).toEqual([1, 1])
    // Read before it went on, and applied after.
    expect(await observe(failed)).toBe(0)
    expect(await observe({ ...failed, failure: { ...failure, occurredAt: at(3) }, reachedAt: at(3) })).toBe(1)
    await waitUntil(() => received.length === 3)
    expect(received).toEqual(['transfer.failed', 'transfer.processing', 'transfer.failed'])
  })
})
