import type { SumLimit } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import type { HostEngine } from '../../test/host.ts'
import { claimReady, noonZone, sweepLimits } from '../../test/limit-claims.ts'
import { limitHost, note } from '../../test/limit-host.ts'

const host: SumLimit = { name: 'host', most: { USD: '0.01' }, span: 'month', zone: noonZone }
const perAccount: SumLimit = { name: 'account', most: { USD: '1000' }, span: 'month', zone: noonZone, per: ['account'] }

describe('the sweep of limits on sums, where somebody stands still or cannot send', async () => {
  const { pool, open, commit, begin, rows, enqueue, set, stages } = await limitHost()
  const holdAmounts = async (engine: HostEngine, ...amounts: readonly string[]) => {
    const ids: string[] = []
    for (const value of amounts) ids.push((await enqueue(engine, { amount: { value, currency: 'USD' } })).id)
    await claimReady(pool)
    expect(await stages()).toEqual({ held: amounts.length })
    return ids
  }
  const queued = async () =>
    (await rows(`select id from outlay.transfer where stage = 'queued' order by id`)).map(({ id }) => id)

  it('releases what fits beside one that a host has locked', async () => {
    const engine = open()
    await set(engine, host)
    const [large = '', other = '', small = ''] = await holdAmounts(engine, '90', '80', '20')
    await set(engine, { ...host, most: { USD: '100' } })
    const tx = await begin()
    await engine.transfers.hold(tx, large, note)
    expect(await sweepLimits(pool)).toBe(2)
    expect(await queued()).toEqual([other, small])
  })

  it('releases others where a host has locked more than one statement releases', async () => {
    const engine = open()
    await set(engine, host)
    const ids = await holdAmounts(engine, ...Array.from({ length: 51 }, () => '1'), '2')
    await set(engine, { ...host, most: { USD: '100' } })
    const tx = await begin()
    await tx.query('select from outlay.transfer where id = any ($1) for update', [ids.slice(0, 51)])
    await pool.query(`select outlay.release_fitting('', '', 50, 50)`)
    expect(await queued()).toEqual(ids.slice(51))
  })

  it('releases what needs no sum with which a claim stands still', async () => {
    const engine = open()
    await set(engine, host, perAccount)
    await enqueue(engine, { accountId: 'stuck', amount: { value: '90', currency: 'USD' } })
    const second = await enqueue(engine, { accountId: 'other', amount: { value: '80', currency: 'USD' } })
    await claimReady(pool)
    await set(engine, { ...host, most: { USD: '100' } }, perAccount)
    const tx = await begin()
    const { rowCount } = await tx.query(`select from outlay.limit_use where scope like '%stuck%' for update`)
    expect(rowCount).toBe(1)
    expect(await sweepLimits(pool)).toBe(1)
    expect(await queued()).toEqual([second.id])
  })

  it('goes on where somebody changes what holds one that another limit holds now', async () => {
    const engine = open()
    await set(engine, host)
    const [large = '', small = ''] = await holdAmounts(engine, '90', '20')
    await set(engine, { ...host, name: 'another', most: { USD: '50' } })
    const tx = await begin()
    await tx.query('select from outlay.hold where transfer_id = $1 for update', [large])
    expect(await sweepLimits(pool)).toBe(1)
    expect(await queued()).toEqual([small])
  })

  it('releases nothing of an account whose credentials were refused while another one waits to probe them', async () => {
    const engine = open()
    await set(engine, host)
    const refused = await enqueue(engine, { accountId: 'refused' })
    const other = await enqueue(engine, { accountId: 'other' })
    await claimReady(pool)
    await set(engine)
    const probe = await enqueue(engine, { accountId: 'refused' })
    await rows(`update outlay.transfer set reason = 'unauthenticated' where id = $1`, [probe.id])
    await rows(`insert into outlay.unauthorized_account (account_id, probe_at)
      values (outlay.gateway_account('default', 'refused'), clock_timestamp() + interval '1 hour')`)
    expect(await sweepLimits(pool)).toBe(1)
    expect(await queued()).toEqual([other.id, probe.id].sort())
    // Without another one it goes, and probes.
    await commit((tx) => engine.transfers.cancel(tx, probe.id, note))
    expect(await sweepLimits(pool)).toBe(1)
    expect(await queued()).toContain(refused.id)
  })
})
