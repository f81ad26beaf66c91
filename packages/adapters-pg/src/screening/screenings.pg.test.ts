import type { ScreeningAnswer } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type HostEngine, reach, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { resolveNames } from '../schema/database-names.ts'
import { createScreeningStore, type ScreeningLease } from './screenings.ts'

const note = { actor: 'petra', reason: 'as the law asks' }
const by = 'a worker'
const pass: ScreeningAnswer = { result: 'pass' }

describe('leases of screenings', async () => {
  const { pool, driver, open, commit, rows } = await testHost()
  const store = createScreeningStore(driver, resolveNames({}).tokens)
  const demand = (engine: HostEngine) =>
    commit((tx) => engine.policies.set(tx, [{ name: 'sanctions', screen: 'the list' }], note))
  const pay = async (engine: HostEngine, accountId = 'acme', count = 1, overrides = {}) => {
    const payouts = Array.from({ length: count }, () => samplePayout(accountId, { createdBy: 'carl', ...overrides }))
    return (await commit((tx) => engine.transfers.enqueueMany(tx, payouts))).map(({ id }) => id)
  }
  const lease = (more: Partial<ScreeningLease> = {}) =>
    store.lease({ after: '', limit: 10, mostEach: 5, underWay: new Map(), leaseMs: 60_000, ...more })
  const accountsOf = async (more: Partial<ScreeningLease> = {}) => {
    const { transfers, next } = await lease(more)
    const counts = [...Map.groupBy(transfers, ({ accountId }) => accountId)].map(([name, all]) => [name, all.length])
    return { ...Object.fromEntries(counts), next }
  }
  const answer = async (id: string, ask: number, given: ScreeningAnswer) =>
    (await store.answer([{ id, accountId: 'acme', ask, answer: given, by }]))[0]
  const endLeases = () => rows(`update outlay.screening set due_at = clock_timestamp()`)
  const stageOf = async (engine: HostEngine, id = '') => (await engine.transfers.get(id))?.stage

  it('give each account the same share, however many one has', async () => {
    const engine = open()
    await demand(engine)
    await pay(engine, 'acme', 3_000)
    await pay(engine, 'beta')
    await pay(engine, 'coop', 2)
    expect(await accountsOf()).toEqual({ acme: 4, beta: 1, coop: 2, next: undefined })
    // What is under way counts.
    expect(await accountsOf({ underWay: new Map([['acme', 4]]) })).toEqual({ acme: 1, next: undefined })
    expect(await accountsOf({ underWay: new Map([['acme', 5]]) })).toEqual({ next: undefined })
    await pay(engine, 'dune')
    // From where the last search ended.
    expect(await accountsOf({ limit: 1 })).toEqual({ acme: 1, next: 'acme' })
    expect(await accountsOf({ limit: 1, after: 'acme' })).toEqual({ dune: 1, next: 'dune' })
    // Each once, in all of them.
    const leased = await rows('select count(*)::integer as count from outlay.screening where asks = 1')
    expect(leased).toEqual([{ count: 4 + 1 + 2 + 1 + 1 + 1 }])
  })

  it('screen one account while all calls for another one hang', async () => {
    const gateway = memoryGateway()
    const engine = open({
      gateway,
      screen: ({ accountId }) => (accountId === 'acme' ? new Promise(() => undefined) : { result: 'pass' }),
    })
    await demand(engine)
    await pay(engine, 'acme', 50)
    await engine.start({ screeningConcurrency: 4 })
    await waitUntil(async () => (await rows('select from outlay.screening where asks = 1')).length === 2)
    const [id] = await pay(engine, 'beta')
    await reach(engine, id ?? '', { status: 'complete' })
    // Half of the calls, and no more, are those of the account that hangs.
    expect((await rows('select from outlay.screening where asks > 0')).length).toBe(2)
  })

  it('wait for the time from which a transfer may be sent', async () => {
    const engine = open()
    await demand(engine)
    await pay(engine, 'acme', 1, { notBefore: new Date(Date.now() + 3_600_000) })
    expect((await lease()).transfers).toEqual([])
  })

  it('let a pass count of the last call alone, and what stops a transfer of any', async () => {
    const engine = open()
    await demand(engine)
    const [first = '', second = '', third = ''] = await pay(engine, 'acme', 3)
    await lease()
    await endLeases()
    // The worker of the first call died, or was late.
    await lease()
    expect(await answer(first, 1, pass)).toBe('late')
    expect(await stageOf(engine, first)).toBe('held')
    expect(await answer(first, 2, pass)).toBe('released')
    expect(await answer(second, 1, { result: 'refuse' })).toBe('refused')
    expect(await answer(second, 2, pass)).toBe('late')
    expect(await answer(third, 1, { result: 'hold', case: 'c' })).toBe('held')
    expect(await answer(third, 2, pass)).toBe('late')
    await endLeases()
    expect((await lease()).transfers).toEqual([])
    const stored = await rows(
      'select transfer_id as id, number, result, counted from outlay.screening_answer order by transfer_id, number',
    )
    expect(stored.map(({ result, counted }) => [result, counted])).toEqual([
      ['pass', false],
      ['pass', true],
      ['refuse', true],
      ['pass', false],
      ['hold', true],
      ['pass', false],
    ])
  })

  it('wait for nobody who has a transfer locked, and change nothing of what somebody let go meanwhile', async () => {
    const engine = open()
    await demand(engine)
    const [id = ''] = await pay(engine)
    await lease()
    const tx = await pool.connect()
    await tx.query('begin')
    await engine.transfers.release(tx, id, { ...note, hold: 'screening', policy: 'sanctions' })
    expect(await answer(id, 1, pass)).toBe('locked')
    expect(await answer(id, 1, { result: 'refuse' })).toBe('locked')
    await tx.query('commit')
    tx.release()
    expect(await answer(id, 1, { result: 'refuse' })).toBe('late')
    expect(await stageOf(engine, id)).toBe('queued')
    expect((await engine.transfers.holds(id))?.screenings).toMatchObject([{ result: 'refuse', isCounted: false }])
  })

  it('store what cannot be text of Postgres', async () => {
    const engine = open()
    await demand(engine)
    const [id = '', other = ''] = await pay(engine, 'acme', 2)
    await lease()
    expect(await answer(id, 1, { result: 'hold', note: 'a\0b\ud800' })).toBe('held')
    await store.fail(other, 1, 'a\0b\ud800', 1)
    expect((await engine.transfers.holds(id))?.screenings?.[0]?.note).toBe('a\ufffdb\ufffd')
  })

  it('are not given behind the fence, where an answer counts for nothing', async () => {
    const engine = open()
    await demand(engine)
    const [id = ''] = await pay(engine)
    await lease()
    await endLeases()
    await commit((tx) => engine.fence(tx))
    expect(await lease()).toEqual({ transfers: [], leased: 0, next: undefined })
    expect(await answer(id, 1, pass)).toBe('late')
    expect(await stageOf(engine, id)).toBe('held')
  })

  it('end with the hold, whoever ends it, and do not ask about what is about to expire', async () => {
    const engine = open()
    await demand(engine)
    const [canceled = '', rejected = ''] = await pay(engine, 'acme', 2)
    await commit((tx) => engine.transfers.cancel(tx, canceled))
    await commit((tx) => engine.transfers.reject(tx, rejected, note))
    expect(await rows('select * from outlay.screening')).toEqual([])
    const [late = ''] = await pay(engine, 'acme', 1, { expiresAt: new Date(Date.now() + 3_600_000) })
    await rows(`update outlay.transfer set expires_at = now() - interval '1 second' where id = $1`, [late])
    expect(await lease()).toEqual({ transfers: [], leased: 1, next: undefined })
    const given = { result: 'pass', case: undefined, ...note } as const
    await expect(commit((tx) => engine.transfers.answerScreening(tx, late, given))).rejects.toMatchObject({
      code: 'conflict',
    })
  })

  it('cost an enqueue without such a policy no statement and no row', async () => {
    const engine = open()
    await commit((tx) => engine.policies.set(tx, [{ name: 'two', approvals: [{}] }], note))
    const seen: string[] = []
    const on = {
      ...driver,
      execute: (...[tx, statement, values]: Parameters<typeof driver.execute>) => {
        seen.push(statement.name)
        return driver.execute(tx, statement, values)
      },
    }
    const watched = open({ driver: on, screen: () => ({ result: 'pass' }) })
    await commit((tx) => watched.transfers.enqueue(tx, samplePayout('acme', { createdBy: 'carl' })))
    await commit((tx) => watched.policies.set(tx, [], { ...note, clear: true }))
    seen.length = 0
    await commit((tx) => watched.transfers.enqueue(tx, samplePayout('acme')))
    await commit((tx) => watched.transfers.enqueue(tx, samplePayout('acme')))
    expect(seen.filter((name) => /screen/.test(name))).toEqual([])
    expect(seen.filter((name) => /enqueue_one/.test(name)).length).toBeGreaterThan(1)
    expect(await rows('select * from outlay.screening')).toEqual([])
  })
})
