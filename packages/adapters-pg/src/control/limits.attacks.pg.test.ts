import type { SumLimit } from '@outlay/core'
import type { PoolClient } from 'pg'
import { describe, expect, it } from 'vitest'
import { claimReady, noonZone, sweepLimits } from '../../test/limit-claims.ts'
import { limitHost } from '../../test/limit-host.ts'

/** What a session says that was ended by the server, or waited too long for a lock, as workers go on after. */
const survivable = new Set(['57P01', '55P03', '40P01'])

describe('limits on sums under attack', async () => {
  const { pool, open, rows, enqueue, set, used } = await limitHost()
  /** Runs `work` in a session of its own, which may be ended in the middle; the next call has another one. */
  const attempt = async (work: (session: PoolClient) => Promise<unknown>) => {
    const session = await pool.connect()
    let failure: Error | undefined
    session.on('error', () => {})
    try {
      await session.query("set application_name = 'victim'")
      await work(session)
    } catch (error) {
      failure = error as Error & { code?: string }
      const { code } = failure as { code?: string }
      if (!survivable.has(code ?? '') && !/terminated|not queryable/.test(failure.message)) throw failure
    } finally {
      session.release(failure ?? true)
    }
  }

  it('are kept while 64 write, workers claim and release, sessions are ended in the middle, and limits change', async () => {
    const engine = open()
    const account = (most: string): SumLimit => {
      return { name: 'account', most: { USD: most }, span: 'month', zone: noonZone, per: ['account'] }
    }
    const host: SumLimit = { name: 'host', most: { USD: '700' }, span: 'month', zone: 'Europe/Berlin' }
    await set(engine, account('60'), host)
    let isWriting = true
    const writers = Array.from({ length: 64 }, async (_, n) => {
      for (let at = 0; at < 3; at += 1)
        await enqueue(engine, {
          accountId: `account-${(n + at) % 9}`,
          amount: { value: String(1 + ((n * 7 + at * 13) % 25)), currency: 'USD' },
        })
    })
    const workers = Array.from({ length: 6 }, async (_, n) => {
      for (let idle = 0; isWriting || idle < 3; idle += isWriting ? 0 : 1)
        await attempt(async (session) => {
          await session.query('begin')
          await (n % 2 === 0 ? claimReady(session, 5) : sweepLimits(session))
          await session.query('commit')
        })
    })
    const killer = (async () => {
      for (let n = 0; isWriting; n += 1)
        await rows(`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name = 'victim' order by hashint8(pid + ${n}) limit 1`)
    })()
    const changes = (async () => {
      for (const most of ['90', '30', '75', '100']) await set(engine, account(most), host)
    })()
    await Promise.all([...writers, changes])
    isWriting = false
    await Promise.all([...workers, killer])
    for (let round = 0; round < 4; round += 1) {
      await sweepLimits(pool)
      await claimReady(pool)
    }
    // The highest that each limit ever was.
    expect(
      await rows(`select from outlay.limit_use where used > case when counter like 'host %' then 700 else 100 end`),
    ).toEqual([])
    expect(
      await rows(`select u.counter, u.scope from outlay.limit_use u where u.used <> coalesce((
        select sum(c.amount) from outlay.limit_charge c
        where c.counter = u.counter and c.scope = u.scope and c.began_at = u.began_at), 0)`),
    ).toEqual([])
    const [{ sent }] = await rows(`select coalesce(sum((request #>> '{amount,value}')::numeric), 0)::float as sent
      from outlay.transfer where stage in ('submitting', 'queued') and attempt > 0 or stage = 'queued' and id in (
        select transfer_id from outlay.limit_charge)`)
    expect(sent).toBe(Math.max(...(await used())))
    expect(
      await rows(`select from outlay.transfer t where t.stage = 'held' and not exists (
      select from outlay.hold h where h.transfer_id = t.id)`),
    ).toEqual([])
    // What is left is more than fits: nothing that does waits.
    expect(await sweepLimits(pool)).toBe(0)
    const waiting = await rows(`select from outlay.hold h
      where h.amount <= outlay.limit_left(h.counter, h.scope) and outlay.may_release(h.transfer_id)`)
    expect(waiting).toEqual([])
  })
})
