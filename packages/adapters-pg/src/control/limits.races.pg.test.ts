import type { SumLimit } from '@outlay/core'
import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'
import { claimReady, noonZone, sweepLimits } from '../../test/limit-claims.ts'
import { slowWorker } from '../../test/slow-worker.ts'

const note = { actor: 'petra', reason: 'as the board decided' }
const ofLimit = { ...note, hold: 'limit', policy: 'monthly' } as const
const monthly: SumLimit = { name: 'monthly', most: { USD: '20' }, span: 'month', zone: noonZone, per: ['account'] }

describe('a limit on sums', async () => {
  const { begin, pool, open, commit, rows, enqueue, enqueueMany } = await testHost()
  const slow = slowWorker(() => pool)
  const set = (engine: HostEngine, ...limits: readonly SumLimit[]) =>
    commit((tx) => engine.limits.set(tx, limits, { ...note, clear: limits.length === 0 }))
  const used = async () =>
    (await rows('select used::float as used from outlay.limit_use order by used')).map((row) => row.used)
  const stageOf = async (engine: HostEngine, id: string) => (await engine.transfers.get(id))?.stage

  it('is kept by two that claim at the same remainder, of whom the second reads behind the first', async () => {
    const engine = open()
    await set(engine, monthly)
    await enqueue(engine)
    const first = await begin()
    expect(await claimReady(first)).toHaveLength(1)
    const { id } = await enqueue(engine)
    let isDone = false
    const second = claimReady(pool).finally(() => {
      isDone = true
    })
    // On a slow machine the second one may have given up before anybody sees it wait, and let the transfer wait.
    await waitForLock(() => isDone)
    await first.query('commit')
    expect(await second).toEqual([])
    expect(await used()).toEqual([12.5])
    expect(['held', 'queued']).toContain(await stageOf(engine, id))
  })

  it('is used by others when the first one does not commit', async () => {
    const engine = open()
    await set(engine, monthly)
    await enqueue(engine)
    const first = await begin()
    expect(await claimReady(first)).toHaveLength(1)
    await first.query('rollback')
    expect(await claimReady(pool)).toHaveLength(1)
    expect(await used()).toEqual([12.5])
  })

  it('of a worker that stands still costs the others nothing, and is not lost', async () => {
    const engine = open()
    await set(engine, monthly)
    await enqueue(engine)
    const stuck = await begin()
    expect(await claimReady(stuck)).toHaveLength(1)
    const { id } = await enqueue(engine)
    const { id: other } = await enqueue(engine, { accountId: 'other' })
    expect(await claimReady(pool)).toEqual([other])
    expect(await stageOf(engine, id)).toBe('queued')
    expect(await rows(`select due_at > now() as later from outlay.outbox where id = outlay.job_id('${id}')`)).toEqual([
      { later: true },
    ])
    await stuck.query('rollback')
  })

  it('counts nothing of what a host cancels while it is claimed', async () => {
    const engine = open()
    await set(engine, monthly)
    const { id } = await enqueue(engine)
    const host = await begin()
    await engine.transfers.cancel(host, id, note)
    expect(await claimReady(pool)).toEqual([])
    await host.query('commit')
    expect(await claimReady(pool)).toEqual([])
    expect(await rows('select from outlay.limit_charge')).toEqual([])
    expect(await rows('select from outlay.limit_refund')).toEqual([])
  })

  it('is not given back by a cancel that comes behind the claim', async () => {
    const engine = open()
    await set(engine, monthly)
    const { id } = await enqueue(engine)
    const worker = await begin()
    expect(await claimReady(worker)).toEqual([id])
    const canceling = commit((tx) => engine.transfers.cancel(tx, id, note)).catch((error: unknown) => error)
    await waitForLock()
    await worker.query('commit')
    expect(await canceling).toMatchObject({ code: 'transfer_not_cancelable' })
    expect(await used()).toEqual([12.5])
    expect(await rows('select from outlay.limit_refund')).toEqual([])
  })

  it('stays counted when its worker dies after the claim, and is not counted again', async () => {
    const engine = open()
    await set(engine, monthly)
    const { id } = await enqueue(engine)
    expect(await claimReady(pool)).toEqual([id])
    await slow.lose()
    // The request may have left: neither a lower limit nor another span holds it.
    await set(engine, { ...monthly, most: { USD: '1' } })
    expect(await claimReady(pool)).toEqual([id])
    expect(await used()).toEqual([12.5])
    await slow.settle(id, 2, slow.accepted('remote-1'))
    expect(await used()).toEqual([12.5])
  })

  it('is released by a person and by a worker once, whoever is first', async () => {
    const engine = open()
    await set(engine, monthly)
    const [, second = { id: '' }, third = { id: '' }] = await enqueueMany(engine, 3)
    await claimReady(pool)
    await set(engine, { ...monthly, most: { USD: '100' } })
    const person = await begin()
    expect(await engine.transfers.release(person, second.id, ofLimit)).toBe(true)
    expect(await sweepLimits(pool)).toBe(1)
    await person.query('commit')
    expect(await sweepLimits(pool)).toBe(0)
    const late = commit((tx) => engine.transfers.release(tx, third.id, ofLimit))
    await expect(late).rejects.toMatchObject({ code: 'conflict' })
    expect(await claimReady(pool)).toEqual([second.id, third.id])
    expect(await used()).toEqual([37.5])
  })

  it('is not released twice where a person waits for a worker that releases', async () => {
    const engine = open()
    await set(engine, monthly)
    const [, { id } = { id: '' }] = await enqueueMany(engine, 2)
    await claimReady(pool)
    await set(engine)
    const worker = await begin()
    expect(await sweepLimits(worker)).toBe(1)
    const releasing = commit((tx) => engine.transfers.release(tx, id, ofLimit)).catch((error: unknown) => error)
    await waitForLock()
    await worker.query('commit')
    expect(await releasing).toMatchObject({ code: 'conflict' })
    expect(await claimReady(pool)).toEqual([id])
    expect(await rows('select from outlay.limit_pass')).toEqual([])
  })

  it('is that of the moment of the claim, and the next claim knows the one that is set meanwhile', async () => {
    const engine = open()
    await set(engine, monthly)
    const { id: first } = await enqueue(engine)
    const host = await begin()
    await engine.limits.set(host, [{ ...monthly, most: { USD: '1' } }], note)
    expect(await claimReady(pool)).toEqual([first])
    await host.query('commit')
    const { id: second } = await enqueue(engine)
    expect(await claimReady(pool)).toEqual([])
    expect(await stageOf(engine, second)).toBe('held')
  })

  it('is never exceeded by many that claim at once, with several limits, while others enqueue', async () => {
    const engine = open()
    const limits: readonly SumLimit[] = [
      { name: 'host', most: { USD: '900' }, span: 'month', zone: noonZone },
      { name: 'account', most: { USD: '160.03' }, span: 'month', zone: noonZone, per: ['account'] },
      { name: 'payee', most: { USD: '240' }, span: 'month', zone: 'Europe/Berlin', per: ['counterparty', 'account'] },
    ]
    await set(engine, ...limits)
    const payees = ['01J0000000000000000000000B', '01J0000000000000000000000C']
    let written = 0
    const write = async (n: number) => {
      for (let at = 0; at < 5; at += 1) {
        const value = String(1 + ((n * 7 + at * 13) % 25) + 0.01).slice(0, 5)
        const destination = { addressId: payees[(n + at) % 2] ?? '', valueType: 'USD', transferType: 'ach_credit' }
        await enqueue(engine, { accountId: `account-${(n + at) % 8}`, amount: { value, currency: 'USD' }, destination })
        written += 1
      }
    }
    let isWriting = true
    const work = async () => {
      for (let idle = 0; isWriting || idle < 3; ) idle = (await claimReady(pool, 7)).length === 0 ? idle + 1 : 0
    }
    const workers = Array.from({ length: 8 }, work)
    await Promise.all(Array.from({ length: 64 }, (_, n) => write(n)))
    isWriting = false
    await Promise.all(workers)
    expect(written).toBe(320)
    expect(
      await rows(`select l.name from outlay.limit_use u join outlay.sum_limit l using (counter) where u.used > l.most`),
    ).toEqual([])
    expect(
      await rows(
        `select u.counter, u.used, c.amount from outlay.limit_use u
         left join (select counter, scope, began_at, sum(amount) as amount from outlay.limit_charge group by 1, 2, 3) c
           using (counter, scope, began_at)
         where u.used <> coalesce(c.amount, 0)`,
      ),
    ).toEqual([])
    const [sent] = await rows(
      `select sum((request #>> '{amount,value}')::numeric)::text as sum, count(*)::integer as count from outlay.transfer where stage = 'submitting'`,
    )
    const [counted] = await rows(`select used::text as sum from outlay.limit_use where counter like 'host %'`)
    expect(sent.sum).toBe(counted.sum)
    expect(sent.count).toBeGreaterThan(40)
    expect(
      await rows(`select stage from outlay.transfer where stage not in ('submitting', 'held', 'queued') limit 1`),
    ).toEqual([])
  })

  it.each([
    ['day', 'Europe/Berlin', '2026-03-29T00:30:00Z', '2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z'],
    ['day', 'Europe/Berlin', '2026-03-29T21:59:59Z', '2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z'],
    ['day', 'Europe/Berlin', '2026-03-29T22:00:00Z', '2026-03-29T22:00:00Z', '2026-03-30T22:00:00Z'],
    ['day', 'Europe/Berlin', '2026-10-25T22:59:59Z', '2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z'],
    // Midnight comes twice there, and the day begins once.
    ['day', 'America/Havana', '2026-11-01T04:30:00Z', '2026-11-01T05:00:00Z', '2026-11-02T05:00:00Z'],
    ['day', 'America/Havana', '2026-11-01T05:30:00Z', '2026-11-01T05:00:00Z', '2026-11-02T05:00:00Z'],
    ['month', 'Europe/Berlin', '2026-03-31T21:59:59Z', '2026-02-28T23:00:00Z', '2026-03-31T22:00:00Z'],
    ['month', 'Europe/Berlin', '2026-12-31T23:00:00Z', '2026-12-31T23:00:00Z', '2027-01-31T23:00:00Z'],
    // The hour from two to three comes twice, and is two.
    ['hour', 'Europe/Berlin', '2026-10-25T00:30:00Z', '2026-10-25T00:00:00Z', '2026-10-25T01:00:00Z'],
    ['hour', 'Europe/Berlin', '2026-10-25T01:30:00Z', '2026-10-25T01:00:00Z', '2026-10-25T02:00:00Z'],
    ['hour', 'Asia/Kolkata', '2026-10-25T01:29:59.999999Z', '2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z'],
  ])('counts in the %s of %s that %s is in', async (span, zone, at, from, until) => {
    const [found] = await rows(
      'select outlay.iso(began_at) as from, outlay.iso(until) as until from outlay.limit_window($1, $2, $3)',
      [span, zone, at],
    )
    const iso = (time: string) => new Date(time).getTime()
    expect([iso(found.from), iso(found.until)]).toEqual([iso(from), iso(until)])
  })

  /** Waits until a session waits for a lock. */
  const waitForLock = (isDone = () => false) =>
    waitUntil(async () => {
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return isDone() || (await rows(waiting)).length > 0
    })
})
