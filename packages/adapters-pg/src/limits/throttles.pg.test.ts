import type { SubmitResult } from '@outlay/core'
import { drain, memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { deferJobs, loseJobs, queueSchema, readJobs, removeJobs } from '../../test/queue.ts'
import { createAttemptStore } from '../dispatch/attempts.ts'
import { pgDriver } from '../drivers/pg.ts'
import { queueTokens } from '../queue/queue.ts'
import { resolveNames } from '../schema/database-names.ts'
import { createThrottleStore } from './throttles.ts'

const throttled = (retryAfterMs: number): SubmitResult => ({
  outcome: 'throttled',
  detail: 'HTTP 429',
  httpStatus: 429,
  retryAfterMs,
})

describe('an account with limits', async () => {
  const { pool, open, commit, enqueueMany } = await testHost({ max: 40 })

  const make = (gateway = memoryGateway()) => {
    const engine = open({ gateway })
    return { engine, gateway, countOf: (accountId: string) => count(gateway.submissions, accountId) }
  }
  const count = (submissions: readonly { accountId: string }[], wanted: string) =>
    submissions.filter(({ accountId }) => accountId === wanted).length
  const waitingOf = async (accountId: string): Promise<number> => {
    const text = `select count(*)::integer as count from outlay.transfer where account_id = $1 and reason = 'account_limited'`
    return (await pool.query(text, [accountId])).rows[0].count
  }

  it('has none until it is given some, in a transaction, and loses them one by one', async () => {
    const { engine } = make()
    const none = {
      ratePerSecond: null,
      concurrency: null,
      weight: 1,
      throttledRatePerSecond: null,
      throttledUntil: null,
    }
    expect(await engine.accounts.get('acme')).toEqual({ accountId: 'acme', paused: false, pause: null, ...none })
    await commit((tx) => engine.accounts.configure(tx, 'acme', { ratePerSecond: 2.5, weight: 3 }))
    await commit((tx) => engine.accounts.configure(tx, 'acme', { concurrency: 4 }))
    expect(await engine.accounts.get('acme')).toMatchObject({ ratePerSecond: 2.5, concurrency: 4, weight: 3 })
    await commit((tx) => engine.accounts.configure(tx, 'acme', { ratePerSecond: null, weight: null }))
    expect(await engine.accounts.get('acme')).toMatchObject({ ratePerSecond: null, concurrency: 4, weight: 1 })
    const undone = commit(async (tx) => {
      await engine.accounts.configure(tx, 'acme', { concurrency: null })
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    expect(await engine.accounts.get('acme')).toMatchObject({ concurrency: 4 })
  })

  it('is refused limits that make no sense before any SQL, so the transaction goes on', async () => {
    const { engine } = make()
    await commit(async (tx) => {
      const refused = engine.accounts.configure(tx, 'acme', { ratePerSecond: -1 })
      await expect(refused).rejects.toMatchObject({ code: 'invalid_request', field: 'ratePerSecond' })
      await engine.accounts.configure(tx, 'acme', { ratePerSecond: 1 })
    })
    expect(await engine.accounts.get('acme')).toMatchObject({ ratePerSecond: 1 })
  })

  it('sends no faster than its rate over all workers, while others pass, and counts no attempt for the wait', async () => {
    const { engine, gateway, countOf } = make()
    await commit((tx) => engine.accounts.configure(tx, 'slow', { ratePerSecond: 20 }))
    await enqueueMany(engine, 60, 'slow')
    const startedAtMs = performance.now()
    await engine.start({ concurrency: 5 })
    await make(gateway).engine.start({ concurrency: 5 })
    await waitUntil(async () => (await waitingOf('slow')) > 0)
    await enqueueMany(engine, 30, 'other')
    await waitUntil(() => countOf('other') === 30)
    await drain(engine)
    // A quarter of a second is saved up at most, and one more may go at once.
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(((60 - 5 - 1) / 20) * 1_000)
    expect(gateway.submissions).toHaveLength(90)
    expect((await pool.query('select max(attempt) as most from outlay.transfer')).rows[0].most).toBe(1)
  })

  it('goes at full speed from the moment when its limit is lifted', async () => {
    const { engine, countOf } = make()
    await commit((tx) => engine.accounts.configure(tx, 'slow', { ratePerSecond: 0.01 }))
    await enqueueMany(engine, 300, 'slow')
    await engine.start()
    await waitUntil(async () => (await waitingOf('slow')) >= 299)
    expect(countOf('slow')).toBeLessThanOrEqual(1)
    await commit((tx) => engine.accounts.configure(tx, 'slow', { ratePerSecond: null }))
    expect(await drain(engine)).toMatchObject({ settled: 300 })
  })

  it('has no more under way than its concurrency over all workers, and others have the other slots', async () => {
    const { engine, gateway, countOf } = make()
    let [underWay, most] = [0, 0]
    gateway.script(async ({ accountId }) => {
      if (accountId !== 'narrow') return undefined
      underWay += 1
      most = Math.max(most, underWay)
      // Ends when the limit is reached, or the last ones are under way.
      await waitUntil(() => underWay === 3 || countOf('narrow') >= 38)
      underWay -= 1
      return undefined
    })
    await commit((tx) => engine.accounts.configure(tx, 'narrow', { concurrency: 3 }))
    await enqueueMany(engine, 40, 'narrow')
    await enqueueMany(engine, 40, 'other')
    await engine.start({ concurrency: 8 })
    await make(gateway).engine.start({ concurrency: 8 })
    expect(await drain(engine)).toMatchObject({ settled: 80 })
    expect(most).toBe(3)
    expect(gateway.submissions).toHaveLength(80)
    expect((await pool.query('select 1 from outlay.submission_slot')).rowCount).toBe(0)
  })

  it('sends those behind one that has lost its job, one permit at a time', async () => {
    const { engine, gateway } = make()
    await commit((tx) => engine.accounts.configure(tx, 'narrow', { concurrency: 1 }))
    const [lost] = await enqueueMany(engine, 3, 'narrow')
    await pool.query(`update outlay.transfer set reason = 'account_limited'`)
    await deferJobs(pool, '10 years')
    await pool.query(`insert into outlay.account_throttle (account_id, waiting) values ('narrow', true)`)
    await engine.start()
    await removeJobs(pool, lost?.id ?? '')
    await waitUntil(() => gateway.transfers.size >= 2)
  })

  it('keeps its concurrency, and stops nobody, however far its lowered rate has been raised since', async () => {
    const { engine, countOf } = make()
    await commit((tx) => engine.accounts.configure(tx, 'raised', { concurrency: 1 }))
    await commit((tx) => engine.accounts.configure(tx, 'other', { concurrency: 1 }))
    const change = { rate: 1e10, throttled_until: new Date(), changed_at: new Date() }
    await pool.query(
      `insert into outlay.account_throttle (account_id, rate, throttled_until, changed_at, waited_at) values ('raised', $1, $2, $3, now())`,
      Object.values(change),
    )
    await enqueueMany(engine, 5, 'raised')
    await enqueueMany(engine, 5, 'other')
    await engine.start()
    await waitUntil(() => countOf('other') === 5 && countOf('raised') === 5)
  })

  it('gets the permit of a transfer back whose worker died with it', async () => {
    const { engine, gateway } = make()
    await commit((tx) => engine.accounts.configure(tx, 'narrow', { concurrency: 1 }))
    const [held] = await enqueueMany(engine, 5, 'narrow')
    const attempts = createAttemptStore(pgDriver(pool), { ...queueTokens(queueSchema), schema: '"outlay"' })
    const [job] = await attempts.fetch(1, 'a worker that dies')
    expect(await attempts.claim(job === undefined ? [] : [job], 'a worker that dies')).toMatchObject([
      { transferId: held?.id },
    ])
    await loseJobs(pool)
    await engine.start()
    expect(await drain(engine)).toMatchObject({ settled: 5 })
    expect(gateway.transfers.size).toBe(5)
    expect(await engine.transfers.get(held?.id ?? '')).toMatchObject({ attempt: 2 })
  })

  it('can cancel transfers that wait for permits, and pausing it keeps the rest', async () => {
    const { engine, gateway, countOf } = make()
    await commit((tx) => engine.accounts.configure(tx, 'slow', { ratePerSecond: 0.01 }))
    await engine.start()
    const transfers = await enqueueMany(engine, 10, 'slow')
    await waitUntil(async () => (await waitingOf('slow')) === 9 && countOf('slow') === 1)
    // Any of those that were made in one millisecond may go first.
    const canceled = transfers.find(({ id }) => id !== gateway.submissions[0]?.transferId)
    await commit((tx) => engine.transfers.cancel(tx, canceled?.id ?? ''))
    await commit(async (tx) => {
      await engine.accounts.pause(tx, 'slow')
      await engine.accounts.configure(tx, 'slow', { ratePerSecond: null })
    })
    await enqueueMany(engine, 1, 'other')
    await waitUntil(() => countOf('other') === 1)
    expect(countOf('slow')).toBe(1)
    await commit((tx) => engine.accounts.resume(tx, 'slow'))
    expect(await drain(engine)).toMatchObject({ settled: 11 })
    expect(countOf('slow')).toBe(9)
  })

  it('is left alone when the service throttles it, after a restart too, and costs others nothing', async () => {
    const first = make()
    const refused: SubmitResult = { outcome: 'unauthorized', detail: 'HTTP 401', httpStatus: 401 }
    first.gateway.script(({ accountId }) =>
      accountId === 'throttled' ? throttled(3_600_000) : accountId === 'refused' ? refused : undefined,
    )
    await enqueueMany(first.engine, 200, 'throttled')
    await enqueueMany(first.engine, 200, 'refused')
    await first.engine.start({ concurrency: 5 })
    await waitUntil(async () => (await first.engine.accounts.get('throttled')).throttledUntil !== null)
    await enqueueMany(first.engine, 50, 'good')
    await waitUntil(() => first.countOf('good') === 50)
    // Those in the slots when the first answer came, and those that were being claimed: more of them where that is slow to be written.
    expect(first.countOf('throttled')).toBeLessThanOrEqual(60)
    expect(await first.engine.accounts.get('throttled')).toMatchObject({
      ratePerSecond: null,
      throttledRatePerSecond: expect.any(Number),
      throttledUntil: expect.any(String),
    })
    await first.engine.stop()
    const sent = first.countOf('throttled')

    const second = make(first.gateway)
    await enqueueMany(second.engine, 100, 'throttled')
    await second.engine.start({ concurrency: 5 })
    await waitUntil(async () => (await waitingOf('throttled')) >= 300 - sent)
    await enqueueMany(second.engine, 50, 'good')
    await waitUntil(() => second.countOf('good') === 100)
    expect(second.countOf('throttled')).toBe(sent)
    expect((await pool.query(`select 1 from outlay.transfer where account_id = 'good' and attempt > 1`)).rowCount).toBe(
      0,
    )
  })

  it('goes on slowly after the pause that the service asked for, then faster, and nothing is sent twice', async () => {
    const { engine, gateway, countOf } = make()
    let refusals = 0
    gateway.script(() => (refusals < 8 && ++refusals ? throttled(300) : undefined))
    await enqueueMany(engine, 30, 'busy')
    await engine.start({ concurrency: 8 })
    const lowered = async () => (await engine.accounts.get('busy')).throttledRatePerSecond ?? undefined
    const slowest = await waitUntil(lowered)
    expect(slowest).toBeLessThanOrEqual(8)
    expect(await drain(engine)).toMatchObject({ settled: 30 })
    expect(gateway.transfers.size).toBe(30)
    expect(countOf('busy')).toBe(38)
    await enqueueMany(engine, 20, 'busy')
    await waitUntil(async () => ((await lowered()) ?? Number.POSITIVE_INFINITY) > slowest)
    expect(await drain(engine)).toMatchObject({ settled: 50 })
  })

  it('locks the throttles of few accounts at a time while it releases what waits at many', async () => {
    await pool.query(
      `insert into outlay.account_throttle (account_id, waiting) select 'many-' || lpad(n::text, 3, '0'), true from generate_series(1, 50) n`,
    )
    const store = createThrottleStore(pgDriver(pool), resolveNames({}).tokens)
    const releasing = await pool.connect()
    await releasing.query('begin')
    await releasing.query(`select * from outlay.release_waiting(200, 20, '')`)
    const free = 'select count(*)::integer as count from (select from outlay.account_throttle for update skip locked) p'
    expect((await pool.query(free)).rows).toEqual([{ count: 30 }])
    await releasing.query('rollback')
    releasing.release()
    // None of them has anything that waits.
    expect(await store.release()).toEqual([])
    expect((await pool.query('select from outlay.account_throttle where waiting')).rowCount).toBe(0)
  })

  it('releases nothing at a stopped gateway, where a claim would only hold it again', async () => {
    await pool.query(
      `insert into outlay.account_throttle (account_id, waiting) values ('acme', true), ('second acme', true)`,
    )
    await pool.query(`insert into outlay.stop (scope, name) values ('gateway', 'second')`)
    const store = createThrottleStore(pgDriver(pool), resolveNames({}).tokens)
    // Of an account without any transfer that waits, the mark goes.
    await store.release()
    const waiting = await pool.query('select account_id from outlay.account_throttle where waiting')
    expect(waiting.rows).toEqual([{ account_id: 'second acme' }])
    await pool.query('delete from outlay.stop')
    await store.release()
    expect((await pool.query('select from outlay.account_throttle where waiting')).rowCount).toBe(0)
  })

  it('lets transfers that await funds wait for their turn, not to be read again and again', async () => {
    const { engine } = make()
    const transfers = await enqueueMany(engine, 40, 'slow')
    await commit((tx) => engine.accounts.configure(tx, 'slow', { ratePerSecond: 0.1 }))
    await pool.query(
      `update outlay.transfer set stage = 'awaiting_funds', reason = 'insufficient_balance', attempt = 1`,
    )
    const attempts = createAttemptStore(pgDriver(pool), resolveNames({}).tokens)
    const jobs = await attempts.fetch(100, 'worker')
    await attempts.claim(jobs, 'worker')
    const waits = (await readJobs(pool, ...transfers.map(({ id }) => id))).filter(({ state }) => state === 'waiting')
    expect(waits).toHaveLength(39)
    expect(Math.max(...waits.map(({ dueInMinutes }) => dueInMinutes))).toBeGreaterThan(5)
  })
})
