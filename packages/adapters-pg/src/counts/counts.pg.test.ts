import { waitUntil } from '@outlay/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { samplePayout as samplePayoutOf } from '../../test/outbox.ts'
import { resolveNames } from '../schema/database-names.ts'
import { createCountStore } from './counts.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

describe('counts of transfers', async () => {
  const host = await testHost()
  const { driver, pool, open, commit, enqueue, enqueueMany, rows } = host
  const store = createCountStore(driver, resolveNames({}).tokens)
  const at = (afterMs: number) => new Date(Date.now() + afterMs).toISOString()

  // Counts begin with the hour of the first one, which may end before a test has enqueued what it counts.
  beforeEach(() => store.count(at(-hourMs)))

  /** Lets time pass for what counts, until everything that is due by then is counted. */
  const countTo = async (afterMs: number) => {
    await store.count(at(0))
    let waitedMs = 0
    for (let turn = 0; turn < 4_000; turn += 1) {
      if (await store.count(at(afterMs + waitedMs))) continue
      const [{ counted_to: countedTo }] = await rows('select counted_to from outlay.transfer_count_progress')
      if (countedTo.getTime() + 6 * minuteMs > Date.now() + afterMs) return
      // There is a mark now, and what is before it is counted after some seconds.
      waitedMs += 16_000
    }
    throw new Error('There is no end of it.')
  }
  /** Goes on until no transaction is left that was open then: those of other databases count as open ones, too. */
  const countAllTo = async (afterMs: number) => {
    const isCounted = async () => {
      await countTo(afterMs)
      return (await rows('select from outlay.transfer_count_open')).length === 0
    }
    await waitUntil(isCounted, { describe: () => 'counted' })
  }
  const total = async (engine = open()) => {
    const { data } = await engine.stats({ from: at(-25 * hourMs), to: at(25 * hourMs) })
    const sum = (member: 'enqueued' | 'completed' | 'failed' | 'canceled' | 'blocked') =>
      data.reduce((one, bucket) => one + bucket[member], 0)
    return {
      enqueued: sum('enqueued'),
      completed: sum('completed'),
      failed: sum('failed'),
      canceled: sum('canceled'),
      blocked: sum('blocked'),
    }
  }

  it('are those of what was enqueued and ended, with what they came to and how long they took', async () => {
    const engine = open()
    const payouts = await enqueueMany(engine, 5)
    const other = await enqueue(engine, { accountId: 'bolt', amount: { value: '0.50', currency: 'USDC' } })
    const canceled = await enqueue(engine)
    await commit((tx) => engine.transfers.cancel(tx, canceled.id))
    await engine.start()
    for (const { id } of [...payouts, other]) await reach(engine, id, { stage: 'settled' })
    await engine.stop()
    await countTo(10 * minuteMs)
    expect(await total()).toEqual({ enqueued: 7, completed: 6, failed: 0, canceled: 1, blocked: 0 })
    const { data, rolledUpTo } = await engine.stats({ from: at(-25 * hourMs), to: at(25 * hourMs) })
    expect(Date.parse(rolledUpTo ?? '')).toBeGreaterThan(Date.now())
    const values = new Map<string, number[]>()
    for (const { value } of data) {
      for (const one of value) {
        const [enqueued = 0, completed = 0] = values.get(one.currency) ?? []
        values.set(one.currency, [enqueued + Number(one.enqueued), completed + Number(one.completed)])
      }
    }
    const [first] = await rows(
      `select (request -> 'amount' ->> 'value')::float8 as value from outlay.transfer where account_id = 'acme' limit 1`,
    )
    expect(values.get('USDC')).toEqual([0.5, 0.5])
    expect(values.get('USD')).toEqual([first.value * 6, first.value * 5])
    const latencies = data.map(({ toAccepted, toFinal }) => [toAccepted.count, toFinal.count])
    expect([sumOf(latencies, 0), sumOf(latencies, 1)]).toEqual([6, 6])
    const bolt = await engine.stats({ from: at(-25 * hourMs), to: at(25 * hourMs), accountIds: ['bolt'] })
    expect(
      sumOf(
        bolt.data.map(({ enqueued }) => [enqueued]),
        0,
      ),
    ).toBe(1)
    const nowhere = await engine.stats({ from: at(-25 * hourMs), to: at(25 * hourMs), gateway: 'nowhere' })
    expect(
      sumOf(
        nowhere.data.map(({ enqueued }) => [enqueued]),
        0,
      ),
    ).toBe(0)
    expect(nowhere.data.every(({ gateway }) => gateway === 'nowhere')).toBe(true)
  })

  it('count what was paid of what was completed, and what was asked for of what was enqueued', async () => {
    const engine = open()
    const { id } = await enqueue(engine, { amount: { value: '12.50', currency: 'USD' } })
    await engine.start()
    await reach(engine, id, { stage: 'settled' })
    await engine.stop()
    await pool.query(
      `update outlay.transfer set paid = '{"amount": {"value": "6", "currency": "USD"}}' where id = $1`,
      [id],
    )
    await countTo(10 * minuteMs)
    const { data } = await engine.stats({ from: at(-25 * hourMs), to: at(25 * hourMs) })
    expect(data.flatMap(({ value }) => value)).toEqual([{ currency: 'USD', enqueued: '12.50', completed: '6' }])
  })

  it('have what failed and what came to a person, and leave out what was adopted', async () => {
    const engine = open()
    const [adopted, blocked, failed] = [await enqueue(engine), await enqueue(engine), await enqueue(engine)]
    await pool.query(`update outlay.transfer set remote_id = 'of-others' where id = $1`, [adopted.id])
    const record = (id: string, sequence: number, type: string, stage: string) =>
      pool.query(
        `insert into outlay.event (transfer_id, sequence, type, stage, status, attempt) values ($1, $2, $3, $4, 'pending', 0)`,
        [id, sequence, type, stage],
      )
    await record(adopted.id, 1, 'transfer.adopted', 'submitted')
    await record(adopted.id, 2, 'transfer.completed', 'settled')
    await record(blocked.id, 2, 'transfer.blocked', 'blocked')
    // One that may be tried again at the service has not ended.
    await record(failed.id, 2, 'transfer.failed', 'submitted')
    await record(failed.id, 3, 'transfer.failed', 'settled')
    await countTo(10 * minuteMs)
    expect(await total()).toEqual({ enqueued: 2, completed: 0, failed: 1, canceled: 0, blocked: 1 })
  })

  it('have what a transaction wrote that was open while they were counted, once it has committed, and once', async () => {
    const engine = open()
    const [late, never] = [await pool.connect(), await pool.connect()]
    for (const tx of [late, never]) {
      await tx.query('begin')
      await engine.transfers.enqueue(tx, samplePayoutOf('acme'))
    }
    await enqueue(engine)
    await countTo(2 * hourMs)
    expect((await total()).enqueued).toBe(1)
    expect(await rows(`select from outlay.transfer_count where span = 'hour'`)).toEqual([])
    await late.query('commit')
    await countTo(3 * hourMs)
    expect((await total()).enqueued).toBe(2)
    await never.query('rollback')
    late.release()
    never.release()
    await countAllTo(3 * hourMs)
    expect((await total()).enqueued).toBe(2)
    expect(await rows(`select from outlay.transfer_count where span = 'part' and began_at < now()`)).toEqual([])
  })

  it('are the same when a step was lost before its commit', async () => {
    const engine = open()
    await enqueueMany(engine, 3)
    await store.count(at(0))
    await store.count(at(10 * minuteMs))
    const tx = await pool.connect()
    await tx.query('begin')
    await tx.query('select outlay.count_transfers($1)', [at(11 * minuteMs)])
    await tx.query('rollback')
    tx.release()
    await countTo(10 * minuteMs)
    await countTo(10 * minuteMs)
    expect((await total()).enqueued).toBe(3)
  })

  it('are counted by one worker at a time, of which neither another one nor a host waits', async () => {
    const engine = open()
    await enqueue(engine)
    await store.count(at(0))
    const tx = await pool.connect()
    await tx.query('begin')
    await tx.query('select outlay.count_transfers($1)', [at(10 * minuteMs)])
    expect(await store.count(at(10 * minuteMs))).toBe(false)
    await commit(async (own) => {
      await own.query(`set local lock_timeout = '1ms'`)
      await engine.transfers.enqueue(own, samplePayoutOf('acme'))
    })
    await tx.query('commit')
    tx.release()
    await countTo(10 * minuteMs)
    expect((await total()).enqueued).toBe(2)
  })

  it('become hours and days, which are forgotten after their time', async () => {
    const engine = open()
    await enqueueMany(engine, 2)
    await enqueue(engine, { accountId: 'bolt' })
    await countAllTo(49 * hourMs)
    const spans = () =>
      rows(
        `select span, account_id, sum(enqueued)::integer as enqueued from outlay.transfer_count group by 1, 2 order by 1, 2`,
      )
    const counted = [
      { account_id: '', enqueued: 3 },
      { account_id: 'acme', enqueued: 2 },
      { account_id: 'bolt', enqueued: 1 },
    ]
    expect(await spans()).toEqual(['day', 'hour'].flatMap((span) => counted.map((one) => ({ span, ...one }))))
    const days = await engine.stats({ step: 'day', from: at(-48 * hourMs), to: at(49 * hourMs) })
    expect(
      sumOf(
        days.data.map(({ enqueued }) => [enqueued]),
        0,
      ),
    ).toBe(3)
    const hours = await engine.stats({ from: at(-2 * hourMs), to: at(49 * hourMs) })
    expect(
      sumOf(
        hours.data.map(({ enqueued }) => [enqueued]),
        0,
      ),
    ).toBe(3)
    expect(await store.prune(at(61 * 24 * hourMs))).toBe(false)
    expect(await spans()).toEqual(counted.map((one) => ({ span: 'day', ...one })))
    await store.prune(at(800 * 24 * hourMs))
    expect(await spans()).toEqual([])
  })

  it('say that nothing was counted where no worker has been, and refuse what cannot be asked', async () => {
    const engine = open()
    await pool.query('delete from outlay.transfer_count_progress')
    expect(await engine.stats()).toMatchObject({ step: 'hour', rolledUpTo: null, data: [] })
    const refused = [
      [{ step: 'week' }, 'step'],
      [{ from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' }, 'from'],
      [{ from: '2020-01-01T00:00:00Z', to: '2026-01-01T00:00:00Z' }, 'from'],
      [{ to: 'tomorrow' }, 'to'],
      [{ accountIds: undefined }, 'accountIds'],
      [{ gateway: '' }, 'gateway'],
    ] as const
    for (const [query, field] of refused) await expect(engine.stats(query as object)).rejects.toMatchObject({ field })
  })
})

const sumOf = (pairs: readonly (readonly number[])[], at: number): number =>
  pairs.reduce((sum, pair) => sum + (pair[at] ?? 0), 0)
