import type { SumLimit } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import { claimReady, sweepLimits } from '../../test/limit-claims.ts'
import { daily, limitHost, note } from '../../test/limit-host.ts'

describe('what limits on sums hold, when the limits change', async () => {
  const { pool, open, commit, begin, rows, enqueue, set, used, stages } = await limitHost()
  const large = { amount: { value: '500', currency: 'USD' } }
  const listed: SumLimit = { ...daily, accounts: ['acme', 'third'] }

  it('goes where its limit does not count its account any more, also if it is larger, and if more is used than may be', async () => {
    const engine = open()
    await set(engine, listed)
    const { id: passed } = await enqueue(engine, large)
    const { id } = await enqueue(engine, large)
    await claimReady(pool)
    await commit((tx) => engine.transfers.release(tx, passed, { ...note, hold: 'limit', policy: 'daily' }))
    expect(await claimReady(pool)).toEqual([passed])
    await set(engine, { ...listed, accounts: ['third'] })
    expect(await sweepLimits(pool)).toBe(1)
    expect(await claimReady(pool)).toEqual([id])
    expect(await used()).toEqual([500])
  })

  it('stays held where its limit counts it again before it goes', async () => {
    const engine = open()
    await set(engine, listed)
    await enqueue(engine, large)
    await claimReady(pool)
    await set(engine, { ...listed, accounts: ['third'] })
    await set(engine, listed)
    expect(await sweepLimits(pool)).toBe(0)
    expect(await stages()).toEqual({ held: 1 })
  })

  it('waits for nobody who ends a hold, where limits are set', async () => {
    const engine = open()
    await set(engine, listed)
    const { id } = await enqueue(engine, large)
    await claimReady(pool)
    const tx = await begin()
    await engine.transfers.cancel(tx, id, note)
    await set(engine, { ...listed, accounts: ['third'] })
    await tx.query('commit')
    expect(await stages()).toEqual({ settled: 1 })
  })

  it('is of a known amount where the currency in which it is stated comes to count', async () => {
    const engine = open()
    await set(engine, daily)
    await enqueue(engine)
    await claimReady(pool)
    await rows(`insert into outlay.hold (transfer_id, name, policy, why, counter, scope, amount)
      select id, 'limit', 'daily', 'test', (select counter from outlay.sum_limit), '{"account": "acme"}', 'Infinity' from outlay.transfer`)
    await rows(`update outlay.transfer set stage = 'held', reason = 'limit'`)
    await rows('delete from outlay.limit_charge')
    await rows('update outlay.limit_use set used = 0')
    expect(await sweepLimits(pool)).toBe(0)
    await set(engine, { ...daily, most: { USD: '40' } })
    expect(await rows(`select amount::float as amount from outlay.hold`)).toEqual([{ amount: 12.5 }])
    expect(await sweepLimits(pool)).toBe(1)
  })

  it('is read before sums of which nothing is held, and what waits for a person before that', async () => {
    const engine = open()
    await set(engine, daily)
    const of = (accountId: string, value: string) => enqueue(engine, { accountId, amount: { value, currency: 'USD' } })
    await of('full', '30')
    await of('waits', '10')
    await of('waits', '25')
    await of('large', '500')
    await claimReady(pool)
    expect((await engine.limits.uses({ most: 2 })).map((use) => use.of.account)).toEqual(['large', 'waits'])
  })

  it('is beyond a limit that is gone, where its amount is not known', async () => {
    open()
    const [row] = await rows(
      `select f.counted, f.beyond from outlay.fit_needs(array['a', 'b'], array[1, 1], array['Infinity', '5']::numeric[], array[false, false], array[null]::numeric[], '{}') f`,
    )
    expect(row).toEqual({ counted: [2], beyond: [1] })
  })

  it('is never counted as what is no number', async () => {
    const engine = open()
    await set(engine, daily)
    await enqueue(engine)
    await claimReady(pool)
    for (const value of ['Infinity', '-Infinity', 'NaN'])
      await expect(rows('update outlay.limit_use set used = $1', [value])).rejects.toMatchObject({ code: '23514' })
  })
})
