import { describe, expect, it } from 'vitest'
import { claimReady, sweepLimits } from '../../test/limit-claims.ts'
import { daily, limitHost, note } from '../../test/limit-host.ts'
import { createLimitSweepStore } from './limit-sweeps.ts'

describe('what is counted of a transfer that was not paid', async () => {
  const { pool, driver, open, commit, begin, rows, enqueue, enqueueMany, set, used, slow, forgetRequests } =
    await limitHost()
  const poor = { outcome: 'refused', stage: 'awaiting_funds', http_status: 422, retry_ms: 60_000 }
  const makeDue = () => rows('update outlay.limit_refund set due_at = clock_timestamp()')

  it('is given back when an attempt without an answer cannot arrive any more, and not before', async () => {
    const engine = open()
    await set(engine, daily)
    const { id } = await enqueue(engine)
    await claimReady(pool)
    await slow.lose()
    await claimReady(pool)
    // The second request was refused for good; the first one may still be on its way.
    const failed = { stage: 'settled', status: 'failed', outcome: 'refused', http_status: 422, reason: null }
    expect(await slow.settle(id, 2, failed)).toBe('settled')
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'settled', status: 'failed' })
    await sweepLimits(pool)
    expect(await used()).toEqual([12.5])
    await makeDue()
    await sweepLimits(pool)
    expect(await used()).toEqual([12.5])
    await forgetRequests()
    expect(await sweepLimits(pool)).toBe(0)
    await makeDue()
    await sweepLimits(pool)
    expect(await used()).toEqual([0])
    expect(await rows('select from outlay.limit_refund')).toEqual([])
  })

  it('stays while a person has not said what became of it', async () => {
    const engine = open()
    await set(engine, daily)
    const { id } = await enqueue(engine)
    await claimReady(pool)
    const failed = { stage: 'settled', status: 'failed', outcome: 'refused', http_status: 422, reason: null }
    await slow.settle(id, 1, failed)
    await rows(`update outlay.attempt set unmatched = true where transfer_id = $1`, [id])
    await sweepLimits(pool)
    expect(await used()).toEqual([12.5])
    await rows(`update outlay.attempt set unmatched = false where transfer_id = $1`, [id])
    await makeDue()
    await sweepLimits(pool)
    expect(await used()).toEqual([0])
  })

  it('is checked less and less often, an hour apart at most', async () => {
    const engine = open()
    await set(engine, daily)
    const { id } = await enqueue(engine)
    await claimReady(pool)
    await slow.settle(id, 1, { stage: 'settled', status: 'failed', outcome: 'refused', http_status: 422, reason: null })
    await rows(`update outlay.attempt set unmatched = true where transfer_id = $1`, [id])
    const pause = async (ended: string) => {
      await rows(
        'update outlay.limit_refund set due_at = clock_timestamp(), ended_at = clock_timestamp() - $1::interval',
        [ended],
      )
      await pool.query('select outlay.return_charges(10)')
      const [{ seconds }] = await rows(
        'select extract(epoch from due_at - clock_timestamp())::float as seconds from outlay.limit_refund',
      )
      return Math.round(seconds)
    }
    expect(await pause('0 seconds')).toBe(30)
    expect(await pause('8 minutes')).toBe(120)
    expect(await pause('9 days')).toBe(3600)
  })

  it('of one sum is given back while a claim stands still with another, and what fits is released', async () => {
    const engine = open()
    await set(engine, daily)
    const { id: stuckOne } = await enqueue(engine, { accountId: 'stuck' })
    const [{ id: first } = { id: '' }, , { id: third } = { id: '' }] = await enqueueMany(engine, 3)
    expect(await claimReady(pool)).toHaveLength(3)
    for (const id of [stuckOne, first]) {
      await slow.settle(id, 1, poor)
      await commit((tx) => engine.transfers.cancel(tx, id, note))
    }
    await enqueue(engine, { accountId: 'stuck' })
    const stuck = await begin()
    expect(await claimReady(stuck)).toHaveLength(1)
    const sweeps = createLimitSweepStore(driver, { schema: 'outlay' })
    expect(await sweeps.sweep()).toEqual({ returned: 1, released: 1 })
    expect(await engine.transfers.get(third)).toMatchObject({ stage: 'queued' })
    expect(await rows('select transfer_id from outlay.limit_refund')).toEqual([{ transfer_id: stuckOne }])
    await stuck.query('rollback')
    await makeDue()
    await sweepLimits(pool)
    expect(await rows('select from outlay.limit_refund')).toEqual([])
    expect(await rows('select from outlay.limit_charge')).toHaveLength(2)
  })

  it('is checked again where the worker stands still until its next check is due', async () => {
    const engine = open()
    await set(engine, daily)
    const [{ id: unclear } = { id: '' }, { id: clear } = { id: '' }] = await enqueueMany(engine, 2)
    await claimReady(pool)
    const failed = { stage: 'settled', status: 'failed', outcome: 'refused', http_status: 422, reason: null }
    for (const id of [unclear, clear]) await slow.settle(id, 1, failed)
    await rows(`update outlay.attempt set unmatched = true where transfer_id = $1`, [unclear])
    const [{ text }] = await rows(
      `select pg_get_functiondef(oid) as text from pg_proc where proname = 'lock_uses' and pronamespace = 'outlay'::regnamespace`,
    )
    await rows(`create or replace function outlay.lock_uses(p_counters text[], p_scopes text[], p_began_at timestamptz[], p_until timestamptz[])
      returns integer[] language plpgsql set lock_timeout = '250ms' as $$
      begin update outlay.limit_refund set due_at = clock_timestamp(); return '{}'; end $$`)
    await pool.query('select outlay.return_charges(10)')
    await rows(text)
    expect(await used()).toEqual([12.5])
    expect(await rows('select transfer_id from outlay.limit_refund')).toEqual([{ transfer_id: unclear }])
  })

  it('keeps no release from going by failing', async () => {
    const engine = open()
    await set(engine, daily)
    const { id } = await enqueue(engine)
    await enqueueMany(engine, 2)
    await claimReady(pool)
    await slow.settle(id, 1, poor)
    await commit((tx) => engine.transfers.cancel(tx, id, note))
    await set(engine, { ...daily, most: { USD: '100' } })
    await rows(`create or replace function outlay.return_charges(p_limit integer) returns integer language plpgsql as $$
      begin raise exception 'out of order'; end $$`)
    const broken = createLimitSweepStore(driver, { schema: 'outlay' })
    await expect(broken.sweep()).rejects.toThrow('out of order')
    expect(await rows(`select from outlay.transfer where stage = 'held'`)).toEqual([])
  })
})

describe('sums that are long over', async () => {
  const { rows } = await limitHost()

  it('are forgotten as fast as they come, also where nothing of transfers is left', async () => {
    await rows(`insert into outlay.limit_use (counter, scope, began_at, until)
      select 'daily', n::text, now() - interval '100 days', now() - interval '99 days' from generate_series(1, 7) n`)
    const prune = async () => (await rows('select outlay.prune_limits(5) as count'))[0]?.count
    expect([await prune(), await prune(), await prune()]).toEqual([5, 2, 0])
  })
})
