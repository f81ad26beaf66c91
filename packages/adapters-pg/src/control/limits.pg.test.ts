import type { SumLimit } from '@outlay/core'
import { drain, memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type HostEngine, reach, testHost } from '../../test/host.ts'
import { claimReady, noonZone, sweepLimits } from '../../test/limit-claims.ts'
import { countJobs } from '../../test/queue.ts'
import { slowWorker } from '../../test/slow-worker.ts'

const note = { actor: 'petra', reason: 'as the board decided' }
const daily: SumLimit = { name: 'daily', most: { USD: '30' }, span: 'day', zone: noonZone, per: ['account'] }

describe('a limit on what leaves in a day', async () => {
  const { begin, pool, open, commit, rows, enqueue, enqueueMany } = await testHost()
  const slow = slowWorker(() => pool)
  const set = (engine: HostEngine, ...limits: readonly SumLimit[]) =>
    commit((tx) => engine.limits.set(tx, limits, { ...note, clear: limits.length === 0 }))
  const stages = async () =>
    Object.fromEntries(
      (await rows('select stage, count(*)::integer as count from outlay.transfer group by 1')).map((row) => [
        row.stage,
        row.count,
      ]),
    )
  const used = async () =>
    (await rows('select used::float as used from outlay.limit_use order by used')).map((row) => row.used)
  /** Lets the windows of now be those of so long ago. */
  const passTime = async () => {
    // A row would come to be where another one still is: all of them leave first.
    await rows(`with gone as (delete from outlay.limit_use returning *)
      insert into outlay.limit_use (counter, scope, began_at, until, used, address_id)
      select counter, scope, began_at - interval '1 day', until - interval '1 day', used, address_id from gone order by began_at`)
    await rows(
      `update outlay.limit_charge set began_at = began_at - interval '1 day', until = until - interval '1 day'`,
    )
  }

  it('holds what is beyond it, says why, and lets others go', async () => {
    const engine = open()
    await set(engine, daily)
    await enqueueMany(engine, 3)
    const [{ id: other } = { id: '' }] = await enqueueMany(engine, 1, 'other')
    const claimed = await claimReady(pool)
    expect(claimed).toHaveLength(3)
    expect(claimed).toContain(other)
    expect(await stages()).toEqual({ submitting: 3, held: 1 })
    expect(await used()).toEqual([12.5, 25])
    const [held] = (await engine.transfers.find({ stage: 'held' })).transfers
    expect(held).toMatchObject({ reason: 'limit', status: 'pending', attempt: 0 })
    const { holds = [] } = (await engine.transfers.holds(held?.id ?? '')) ?? {}
    expect(holds).toMatchObject([
      {
        name: 'limit',
        policy: 'daily',
        policyVersion: 1,
        why: expect.stringMatching(
          /^The limit daily is 30 USD a day for the account acme: 25 of it are used, and this is 12.5. It goes when it fits: from \d{4}-.*Z on, or earlier/,
        ),
        excess: { limit: 'daily', used: '25', most: '30', amount: '12.5', currency: 'USD', of: { account: 'acme' } },
      },
    ])
    expect(holds[0]?.excess?.fitsAt).toBe(holds[0]?.excess?.until)
    expect(await engine.limits.uses({ limit: 'daily' })).toMatchObject([
      { limit: 'daily', of: { account: 'acme' }, used: '25', most: '30', remaining: '5', held: 1 },
      { limit: 'daily', of: { account: 'other' }, used: '12.5', remaining: '17.5', held: 0 },
    ])
  })

  it('lets a small one go behind a large one that does not fit', async () => {
    const engine = open()
    await set(engine, daily)
    const large = await enqueue(engine, { amount: { value: '30.01', currency: 'USD' } })
    const small = await enqueue(engine, { amount: { value: '30', currency: 'USD' } })
    expect(await claimReady(pool)).toEqual([small.id])
    const [hold] = (await engine.transfers.holds(large.id))?.holds ?? []
    expect(hold?.excess).not.toHaveProperty('fitsAt')
    expect(hold?.why).toContain('It is more than the limit alone, so it waits for somebody who releases it.')
    await passTime()
    expect(await sweepLimits(pool)).toBe(0)
  })

  it('is not fetched again while it does not fit, and goes when the day is over', async () => {
    const engine = open()
    await set(engine, daily)
    await enqueueMany(engine, 3)
    expect(await claimReady(pool)).toHaveLength(2)
    expect(await countJobs(pool)).toBe(2)
    expect(await sweepLimits(pool)).toBe(0)
    expect(await claimReady(pool)).toEqual([])
    await passTime()
    expect(await sweepLimits(pool)).toBe(1)
    expect(await claimReady(pool)).toHaveLength(1)
    expect(await used()).toEqual([12.5, 25])
  })

  it('releases as many as fit, the oldest first', async () => {
    const engine = open()
    await set(engine, daily)
    const all = await enqueueMany(engine, 6)
    await claimReady(pool)
    await passTime()
    expect(await sweepLimits(pool)).toBe(2)
    expect(await claimReady(pool)).toEqual(all.slice(2, 4).map(({ id }) => id))
    expect(await sweepLimits(pool)).toBe(0)
  })

  it('counts all that is worth one of its currency, exactly, and nothing else', async () => {
    const engine = open()
    await set(engine, { ...daily, most: { USD: '0.3', MXN: '5' } })
    const pay = (value: string, currency: string) => enqueue(engine, { amount: { value, currency } })
    await pay('0.1', 'USD')
    await pay('0.2', 'USDC')
    await pay('0.01', 'USDC')
    expect(await claimReady(pool)).toHaveLength(2)
    expect((await engine.limits.uses()).map(({ used, remaining }) => [used, remaining])).toEqual([['0.3', '0']])
  })

  it('of a token counts what moves in it, in whatever currency it is stated', async () => {
    const engine = open()
    await set(engine, { ...daily, most: { USDC: '20' } })
    await enqueueMany(engine, 3)
    expect(await claimReady(pool)).toHaveLength(1)
    expect(await used()).toEqual([12.5])
  })

  it('holds by a limit that was changed since it was read, and lets that go', async () => {
    const engine = open()
    await set(engine, daily)
    await enqueueMany(engine, 3)
    // The claim waits in the middle, behind what it has read of the limits.
    await rows(`create function outlay.wait_for_test() returns trigger language plpgsql set lock_timeout = 0 as $$
      begin perform pg_advisory_xact_lock(4711); return new; end $$`)
    await rows(`create trigger wait_for_test before update on outlay.transfer for each row when (new.reason = 'limit')
      execute function outlay.wait_for_test()`)
    const gate = await begin()
    await gate.query('select pg_advisory_xact_lock(4711)')
    const claiming = claimReady(pool)
    const waiting = `select from pg_locks where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`
    await waitUntil(async () => (await rows(waiting)).length > 0)
    await set(engine, { ...daily, name: 'another' })
    await gate.query('commit')
    expect(await claiming).toHaveLength(2)
    await rows('drop function outlay.wait_for_test cascade')
    const [held] = (await engine.transfers.find({ stage: 'held' })).transfers
    expect((await engine.transfers.holds(held?.id ?? ''))?.holds).toMatchObject([{ name: 'limit', policy: 'daily' }])
    expect(await sweepLimits(pool)).toBe(1)
  })

  it('counts once what is sent again, in whatever day its outcome is unknown', async () => {
    const engine = open()
    await set(engine, daily)
    const { id } = await enqueue(engine)
    await claimReady(pool)
    const at = new Date().toISOString()
    const unknown = { outcome: 'unknown', stage: 'queued', reason: 'outcome_unknown', retry_ms: 0, detail: 'reset' }
    expect(await slow.settle(id, 1, { ...unknown, unknown_since: at, claimed_at: at })).toBe('settled')
    expect(await claimReady(pool)).toEqual([id])
    expect(await used()).toEqual([12.5])
    await passTime()
    await slow.settle(id, 2, { ...unknown, unknown_since: at, claimed_at: at })
    await set(engine, { ...daily, most: { USD: '1' } })
    expect(await claimReady(pool)).toEqual([id])
    expect(await used()).toEqual([12.5])
  })

  it('counts in the day of its next claim what was answered and has no effect', async () => {
    const engine = open()
    await set(engine, daily)
    const { id } = await enqueue(engine)
    await claimReady(pool)
    const broke = {
      outcome: 'refused',
      stage: 'awaiting_funds',
      reason: 'insufficient_funds',
      retry_ms: 0,
      http_status: 422,
    }
    await slow.settle(id, 1, broke)
    await passTime()
    expect(await claimReady(pool)).toEqual([id])
    expect(await used()).toEqual([0, 12.5])
    await slow.settle(id, 2, broke)
    await passTime()
    await set(engine, { ...daily, most: { USD: '1' } })
    expect(await claimReady(pool)).toEqual([])
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held', reason: 'limit' })
    await commit((tx) => engine.transfers.cancel(tx, id, note))
    await sweepLimits(pool)
    expect(await used()).toEqual([0, 0, 0])
  })

  it('is given back when it has failed here or at the service, or was canceled, and not when that is not certain', async () => {
    const engine = open()
    await set(engine, { ...daily, most: { USD: '100' } })
    const all = await enqueueMany(engine, 4)
    const [failed = { id: '' }, canceled = { id: '' }, unknown = { id: '' }, accepted = { id: '' }] = all
    await claimReady(pool)
    const over = { stage: 'settled', status: 'failed', outcome: 'refused', http_status: 422, reason: null }
    await slow.settle(failed.id, 1, over)
    await slow.settle(canceled.id, 1, {
      outcome: 'refused',
      stage: 'awaiting_funds',
      http_status: 422,
      retry_ms: 60_000,
    })
    await commit((tx) => engine.transfers.cancel(tx, canceled.id, note))
    await slow.settle(accepted.id, 1, slow.accepted('remote-1'))
    const at = new Date().toISOString()
    await slow.settle(unknown.id, 1, {
      outcome: 'unknown',
      stage: 'blocked',
      reason: 'outcome_unknown',
      unknown_since: at,
      claimed_at: at,
    })
    expect(await rows('select transfer_id from outlay.limit_refund order by 1')).toEqual(
      [failed, canceled].map(({ id }) => ({ transfer_id: id })),
    )
    await sweepLimits(pool)
    expect(await used()).toEqual([25])
    const failure = { type: 'returned' as const, code: 'R03', detail: 'no account', occurredAt: at, retriable: false }
    await commit((tx) => engine.transfers.observe(tx, 'acme', [{ remoteId: 'remote-1', status: 'failed', failure }]))
    expect(await engine.transfers.get(accepted.id)).toMatchObject({ stage: 'settled', status: 'failed' })
    await sweepLimits(pool)
    expect(await used()).toEqual([12.5])
    expect(await rows('select from outlay.limit_refund')).toEqual([])
  })

  it('is not locked by a host that cancels and stays open', async () => {
    const engine = open()
    await set(engine, { ...daily, most: { USD: '25' } })
    const [{ id } = { id: '' }] = await enqueueMany(engine, 2)
    await claimReady(pool)
    await slow.settle(id, 1, { outcome: 'refused', stage: 'awaiting_funds', http_status: 422, retry_ms: 60_000 })
    const host = await begin()
    await engine.transfers.cancel(host, id, note)
    const { id: next } = await enqueue(engine)
    expect(await claimReady(pool)).toEqual([])
    expect(await sweepLimits(pool)).toBe(0)
    await host.query('commit')
    expect(await sweepLimits(pool)).toBe(1)
    expect(await claimReady(pool)).toEqual([next])
    expect(await used()).toEqual([25])
  })

  it('is left behind by what somebody releases, which is counted, and not by whoever created it', async () => {
    const engine = open()
    await set(engine, daily)
    const all = await enqueueMany(engine, 2)
    const { id } = await enqueue(engine, { createdBy: 'carl' })
    await claimReady(pool)
    expect(all).toHaveLength(2)
    const release = (actor: string) =>
      commit((tx) =>
        engine.transfers.release(tx, id, { actor, reason: 'it is urgent', hold: 'limit', policy: 'daily' }),
      )
    await expect(release('Carl')).rejects.toMatchObject({ code: 'approval_refused', field: 'actor' })
    expect(await release('olga')).toBe(true)
    expect(await claimReady(pool)).toEqual([id])
    expect(await used()).toEqual([37.5])
    const [entry] = await engine.audit.list({ transferId: id })
    expect(entry).toMatchObject({
      command: 'transfers.release',
      actor: 'olga',
      before: { holds: [{ policy: 'daily' }] },
    })
  })

  it('holds what was released when another limit has come in between', async () => {
    const engine = open()
    await set(engine, daily)
    await enqueueMany(engine, 2)
    const { id } = await enqueue(engine)
    await claimReady(pool)
    await commit((tx) => engine.transfers.release(tx, id, { ...note, hold: 'limit', policy: 'daily' }))
    const hourly: SumLimit = { name: 'hourly', most: { USD: '12' }, span: 'hour', zone: 'UTC' }
    await set(engine, daily, hourly)
    expect(await claimReady(pool)).toEqual([])
    expect((await engine.transfers.holds(id))?.holds.map(({ policy }) => policy)).toEqual(['hourly'])
    await set(engine, daily)
    expect(await sweepLimits(pool)).toBe(1)
    expect(await claimReady(pool)).toEqual([id])
  })

  it('keeps what is counted when it is raised, and lets go what fits then, or without it', async () => {
    const engine = open()
    await set(engine, daily)
    await enqueueMany(engine, 5)
    await claimReady(pool)
    await set(engine, { ...daily, most: { USD: '40' } })
    expect(await sweepLimits(pool)).toBe(1)
    expect(await claimReady(pool)).toHaveLength(1)
    expect(await used()).toEqual([37.5])
    await set(engine)
    expect(await sweepLimits(pool)).toBe(2)
    expect(await claimReady(pool)).toHaveLength(2)
  })

  it('goes with the other limits that hold it alone', async () => {
    const engine = open()
    const host: SumLimit = { name: 'host', most: { USD: '20' }, span: 'month', zone: noonZone }
    await set(engine, { ...daily, most: { USD: '20' } }, host)
    await enqueueMany(engine, 2)
    await claimReady(pool)
    const [held] = (await engine.transfers.find({ stage: 'held' })).transfers
    const holds = async () => (await engine.transfers.holds(held?.id ?? ''))?.holds.map(({ policy }) => policy)
    expect(await holds()).toEqual(['daily', 'host'])
    await set(engine, { ...daily, most: { USD: '40' } }, host)
    expect(await sweepLimits(pool)).toBe(0)
    expect(await holds()).toEqual(['daily', 'host'])
    await set(engine, { ...daily, most: { USD: '40' } }, { ...host, most: { USD: '40' } })
    expect(await sweepLimits(pool)).toBe(1)
  })

  it('counts by counterparty and by gateway, and only what it is narrowed to', async () => {
    const engine = open()
    const [one, two] = ['01J0000000000000000000000B', '01J0000000000000000000000C']
    await set(
      engine,
      { name: 'payee', most: { USD: '13' }, span: 'day', zone: noonZone, per: ['counterparty', 'gateway'] },
      { name: 'acme', most: { USD: '26' }, span: 'day', zone: noonZone, accounts: ['acme'] },
    )
    const pay = (addressId: string, accountId = 'acme') =>
      enqueue(engine, { accountId, destination: { addressId, valueType: 'USD', transferType: 'ach_credit' } })
    await pay(one)
    const second = await pay(one, 'other')
    await pay(two)
    await pay('01J0000000000000000000000D', 'other')
    const fourth = await pay('01J0000000000000000000000E')
    await claimReady(pool)
    const why = async (id: string) => (await engine.transfers.holds(id))?.holds.map(({ excess }) => excess?.of)
    expect(await why(second.id)).toEqual([{ counterparty: one, gateway: 'default' }])
    expect(await why(fourth.id)).toEqual([{}])
    expect(await stages()).toEqual({ submitting: 3, held: 2 })
  })

  it('is kept by running workers, who let go what fits, and counts what is complete', async () => {
    const gateway = memoryGateway()
    const engine = open({ gateway })
    const events: unknown[] = []
    engine.subscribe('log', ['transfer.held', 'transfer.released'], async ({ type }) => void events.push(type))
    await set(engine, daily)
    const all = await enqueueMany(engine, 3)
    await engine.start()
    await waitUntil(async () => (await stages())['held'] === 1 && (await stages())['settled'] === 2)
    expect(gateway.submissions).toHaveLength(2)
    await passTime()
    await reach(engine, all[2]?.id ?? '', { stage: 'settled', status: 'complete' })
    await drain(engine)
    expect(events).toEqual(['transfer.held', 'transfer.released'])
  })

  it('forgets what is long over', async () => {
    const engine = open()
    await set(engine, daily)
    await enqueueMany(engine, 2)
    await claimReady(pool)
    const prune = async () => (await rows('select outlay.prune_limits(1000) as count'))[0]?.count
    expect(await prune()).toBe(0)
    await passTime()
    await passTime()
    await passTime()
    expect(await prune()).toBe(2)
    expect(await used()).toEqual([25])
    await rows(`update outlay.limit_use set until = until - interval '91 days'`)
    expect(await prune()).toBe(1)
    expect(await used()).toEqual([])
  })
})
