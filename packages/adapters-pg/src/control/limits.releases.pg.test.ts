import type { SumLimit } from '@outlay/core'
import { describe, expect, it, vi } from 'vitest'
import type { HostEngine } from '../../test/host.ts'
import { claimReady, noonZone, sweepLimits } from '../../test/limit-claims.ts'
import { daily, limitHost, note } from '../../test/limit-host.ts'
import { countJobs } from '../../test/queue.ts'

describe('the sweep that releases what limits hold', async () => {
  const { pool, open, commit, begin, rows, enqueue, enqueueMany, set, used, stages, passDays } = await limitHost()
  /** Holds so many of an account, of which nothing else is counted today. */
  const hold = async (engine: HostEngine, count: number, accountId = 'acme') => {
    await set(engine, { ...daily, most: { USD: '0.01' } })
    const all = await enqueueMany(engine, count, accountId)
    await claimReady(pool)
    return all.map(({ id }) => id)
  }

  it('releases once what fits, however often it runs before anybody claims', async () => {
    const engine = open()
    const ids = await hold(engine, 6)
    await set(engine, daily)
    expect(await sweepLimits(pool)).toBe(2)
    expect(await sweepLimits(pool)).toBe(0)
    expect(await used()).toEqual([25])
    expect(await claimReady(pool)).toEqual(ids.slice(0, 2))
    expect(await used()).toEqual([25])
    const events = await rows(
      `select type, count(*)::integer as count from outlay.event where type <> 'transfer.enqueued' group by 1 order by 1`,
    )
    expect(events).toEqual([
      { type: 'transfer.held', count: 6 },
      { type: 'transfer.released', count: 2 },
    ])
  })

  it('leaves nothing to a claim of what others were released for', async () => {
    const engine = open()
    await hold(engine, 2)
    await set(engine, daily)
    await sweepLimits(pool)
    const { id } = await enqueue(engine)
    expect(await claimReady(pool)).not.toContain(id)
    expect(await used()).toEqual([25])
    expect(await stages()).toEqual({ submitting: 2, held: 1 })
  })

  it('never releases beyond a limit with several that sweep and claim at once', async () => {
    const engine = open()
    await hold(engine, 40)
    await set(engine, { ...daily, most: { USD: '130' } })
    await Promise.all(
      Array.from({ length: 6 }, async () => {
        for (let turn = 0; turn < 4; turn += 1) {
          await sweepLimits(pool)
          await claimReady(pool, 5)
        }
      }),
    )
    // A claim puts back what a sweep has locked.
    await vi.waitFor(
      async () => {
        await claimReady(pool)
        expect(await stages()).toEqual({ submitting: 10, held: 30 })
      },
      { timeout: 60_000 },
    )
    expect(await used()).toEqual([125])
    const [{ released }] = await rows(
      `select count(*)::integer as released from outlay.event where type = 'transfer.released'`,
    )
    expect(released).toBe(10)
  })

  it('gives back what it counted of one that is canceled before its claim', async () => {
    const engine = open()
    const [id = ''] = await hold(engine, 1)
    await set(engine, daily)
    await sweepLimits(pool)
    expect(await used()).toEqual([12.5])
    await commit((tx) => engine.transfers.cancel(tx, id, note))
    await sweepLimits(pool)
    expect(await used()).toEqual([0])
  })

  it('counts in the day of the claim what was released the day before', async () => {
    const engine = open()
    const [id = ''] = await hold(engine, 1)
    await set(engine, daily)
    await sweepLimits(pool)
    await passDays(1)
    expect(await claimReady(pool)).toEqual([id])
    expect(await used()).toEqual([0, 12.5])
  })

  it('counts in the day of the claim what was released in a later one, where the clock was set back', async () => {
    const engine = open()
    const [id = ''] = await hold(engine, 1)
    await set(engine, daily)
    await sweepLimits(pool)
    await passDays(-1)
    expect(await claimReady(pool)).toEqual([id])
    expect((await engine.limits.uses()).map(({ used: now }) => now)).toEqual(['12.5'])
    expect(await used()).toEqual([0, 12.5])
  })

  it.each([
    ['an account is paused', `insert into outlay.account (account_id, paused) values ('acme', true)`],
    ['an account is stopped', `insert into outlay.stop (scope, name, reason) values ('account', 'acme', 'test')`],
    ['a gateway is stopped', `insert into outlay.stop (scope, name, reason) values ('gateway', 'default', 'test')`],
    ['everything is stopped', `insert into outlay.stop (scope, name, reason) values ('all', '', 'test')`],
  ])('releases nothing of it while %s', async (_, stop) => {
    const engine = open()
    await hold(engine, 1)
    await set(engine, daily)
    await rows(stop)
    expect(await sweepLimits(pool)).toBe(0)
    expect(await stages()).toEqual({ held: 1 })
    expect((await used()).filter((sum) => sum > 0)).toEqual([])
    await rows('delete from outlay.stop')
    await rows('delete from outlay.account')
    expect(await sweepLimits(pool)).toBe(1)
  })

  it('releases nothing of a paused batch, and the others', async () => {
    const engine = open()
    const { id: batchId } = await commit((tx) => engine.batches.create(tx))
    await set(engine, { ...daily, most: { USD: '0.01' } })
    await enqueue(engine, { batchId })
    const { id } = await enqueue(engine)
    await claimReady(pool)
    await commit((tx) => engine.batches.pause(tx, batchId))
    await set(engine, daily)
    expect(await sweepLimits(pool)).toBe(1)
    expect(await claimReady(pool)).toEqual([id])
  })

  it('passes over very many that may not go, to those of the same sum that may', async () => {
    const engine = open()
    const host: SumLimit = { name: 'host', most: { USD: '0.01' }, span: 'month', zone: noonZone }
    await set(engine, host)
    await enqueueMany(engine, 600, 'paused')
    await enqueueMany(engine, 1, 'other')
    while ((await countJobs(pool)) > 0) await claimReady(pool, 700)
    await rows(`insert into outlay.account (account_id, paused) values ('paused', true)`)
    await set(engine, { ...host, most: { USD: '1000' } })
    for (let turn = 0; turn < 200 && (await stages())['queued'] !== 1; turn += 1) await sweepLimits(pool)
    expect(await stages()).toEqual({ held: 600, queued: 1 })
  })

  it('holds by the limit of now what the one of before has let go', async () => {
    const engine = open()
    const ids = await hold(engine, 3)
    await set(engine, { ...daily, name: 'another' })
    expect(await sweepLimits(pool)).toBe(2)
    const [left = ''] = ids.slice(2)
    const { holds = [] } = (await engine.transfers.holds(left)) ?? {}
    expect(holds).toMatchObject([{ name: 'limit', policy: 'another', excess: { used: '25', most: '30' } }])
    const sequences = await rows('select type from outlay.event where transfer_id = $1 order by sequence', [left])
    expect(sequences.map(({ type }) => type).filter((type) => type !== 'transfer.enqueued')).toEqual(['transfer.held'])
  })

  it('ends what it holds of one that a person holds, too, and counts nothing of it yet', async () => {
    const engine = open()
    const [id = ''] = await hold(engine, 1)
    await commit((tx) => engine.transfers.hold(tx, id, note))
    await set(engine, daily)
    expect(await sweepLimits(pool)).toBe(0)
    expect((await engine.transfers.holds(id))?.holds.map(({ name }) => name)).toEqual(['operator'])
    expect((await used()).filter((sum) => sum > 0)).toEqual([])
    await commit((tx) => engine.transfers.release(tx, id, { ...note, hold: 'operator' }))
    expect(await claimReady(pool)).toEqual([id])
    expect(await used()).toEqual([12.5])
  })

  it('is not held up by a claim that stands still with one of the sums', async () => {
    const engine = open()
    await hold(engine, 1)
    await hold(engine, 1, 'other')
    await set(engine, daily)
    await enqueue(engine)
    const stuck = await begin()
    expect(await claimReady(stuck)).toHaveLength(1)
    expect(await sweepLimits(pool)).toBe(1)
    expect(await rows(`select account_id from outlay.transfer where stage = 'held'`)).toEqual([{ account_id: 'acme' }])
  })

  it('takes no permit of a throttled account for what is held', async () => {
    const engine = open()
    await commit((tx) => engine.accounts.configure(tx, 'acme', { ratePerSecond: 0.01 }))
    await set(engine, { ...daily, most: { USD: '13' } })
    const { id: large } = await enqueue(engine, { amount: { value: '14', currency: 'USD' } })
    expect(await claimReady(pool)).toEqual([])
    expect(await stages()).toEqual({ held: 1 })
    const { id: small } = await enqueue(engine)
    expect(await claimReady(pool)).toEqual([small])
    expect(await engine.transfers.get(large)).toMatchObject({ stage: 'held' })
    // And one that goes takes its permit.
    await enqueue(engine, { amount: { value: '0.1', currency: 'USD' } })
    expect(await claimReady(pool)).toEqual([])
    expect(await stages()).toEqual({ held: 1, submitting: 1, queued: 1 })
  })
})
