import type { ApproveBatchOptions, BatchReview, EnqueueRequest } from '@outlay/core'
import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'

const note = { actor: 'petra', reason: 'as the board decided' }

describe('the approval of a batch', async () => {
  const { pool, open, commit, rows, enqueue } = await testHost()
  const openBatch = async () => {
    const engine = open()
    const large = { name: 'large', when: { amounts: { USD: { from: '10' }, USDC: { from: '10' } } }, approvals: [{}] }
    await commit((tx) => engine.policies.set(tx, [large], note))
    const { id: batchId } = await commit((tx) => engine.batches.create(tx, { key: 'salaries', accountId: 'acme' }))
    const add = (value: string, overrides: Partial<EnqueueRequest> = {}) =>
      enqueue(engine, { batchId, createdBy: 'carl', amount: { value, currency: 'USD' }, ...overrides })
    return { engine, batchId, add }
  }
  const review = async (engine: HostEngine, batchId: string): Promise<BatchReview> => {
    const found = await engine.batches.review(batchId)
    if (found === undefined) throw new Error('There is a batch.')
    return found
  }
  const approve = (engine: HostEngine, batchId: string, expected?: ApproveBatchOptions['expected']) =>
    commit((tx) =>
      engine.batches.approve(tx, batchId, { actor: 'anna', ...(expected === undefined ? {} : { expected }) }),
    )
  const expectRefused = async (engine: HostEngine, batchId: string, expected: object, field: string) => {
    await expect(approve(engine, batchId, expected)).rejects.toMatchObject({ code: 'conflict', field })
    expect(await rows('select from outlay.approval')).toEqual([])
  }

  it('shows what it is about, without what nothing holds for approval', async () => {
    const { engine, batchId, add } = await openBatch()
    expect(await review(engine, batchId)).toMatchObject({ transfers: 0, totals: {} })
    await add('10.00')
    await add('20.5', { amount: { value: '20.5', currency: 'USDC' } })
    await add('30.00')
    const small = await add('1.00')
    await commit((tx) => engine.transfers.hold(tx, small.id, note))
    expect(await review(engine, batchId)).toEqual({
      transfers: 3,
      totals: { USD: '40.00', USDC: '20.5' },
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(await engine.batches.review('01J0000000000000000000000A')).toBeUndefined()
    expect(await engine.batches.review('no')).toBeUndefined()
  })

  it('is of what was seen, by its digest, its number or its totals', async () => {
    for (const only of ['digest', 'transfers', 'totals'] as const) {
      const { engine, batchId, add } = await openBatch()
      await add('10.00')
      await add('20.00')
      const seen = await review(engine, batchId)
      const expected = only === 'totals' ? { totals: { USD: '30' } } : { [only]: seen[only] }
      expect(await approve(engine, batchId, expected)).toEqual({ approved: 2, released: 2 })
      await rows('delete from outlay.batch')
    }
  })

  it('is refused where a line was added, has gone, or is another one of the same amount', async () => {
    const { engine, batchId, add } = await openBatch()
    await add('10.00')
    const second = await add('20.00')
    const seen = await review(engine, batchId)
    await commit((tx) => engine.transfers.reject(tx, second.id, note))
    await expectRefused(engine, batchId, { transfers: seen.transfers }, 'expected.transfers')
    await expectRefused(engine, batchId, { totals: seen.totals }, 'expected.totals')
    await add('20.00')
    await expectRefused(engine, batchId, seen, 'expected.digest')
    await add('10.00', { amount: { value: '10.00', currency: 'USDC' } })
    await expectRefused(engine, batchId, { totals: seen.totals }, 'expected.totals')
    await expectRefused(
      engine,
      batchId,
      await review(engine, batchId).then((now) => ({ ...now, transfers: 2 })),
      'expected.transfers',
    )
    const now = await review(engine, batchId)
    expect(await approve(engine, batchId, now)).toEqual({ approved: 3, released: 3 })
  })

  it('is refused where a line goes while it waits for its lock', async () => {
    const { engine, batchId, add } = await openBatch()
    const { id } = await add('10.00')
    await add('20.00')
    const seen = await review(engine, batchId)
    const other = await pool.connect()
    try {
      await other.query('begin')
      await engine.transfers.reject(other, id, note)
      const approving = approve(engine, batchId, seen).catch((error: unknown) => error)
      await waitUntil(async () => {
        const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
        return (await rows(waiting)).length > 0
      })
      await other.query('commit')
      expect(await approving).toMatchObject({ code: 'conflict', field: 'expected.transfers' })
      expect(await rows('select from outlay.approval')).toEqual([])
    } finally {
      other.release()
    }
  })

  it('does not take what is enqueued behind its lock', async () => {
    const { engine, batchId, add } = await openBatch()
    await add('10.00')
    const seen = await review(engine, batchId)
    const approver = await pool.connect()
    try {
      await approver.query('begin')
      // The line comes between the lock and the comparison.
      const query = approver.query.bind(approver)
      let late: Promise<unknown> | undefined
      const between = Object.assign(Object.create(approver), {
        async query(...given: Parameters<typeof approver.query>) {
          const text = JSON.stringify(given[0]) ?? ''
          if (text.includes('sha256')) {
            late = add('20.00')
            await late
          }
          return query(...given)
        },
      })
      expect(await engine.batches.approve(between, batchId, { actor: 'anna', expected: seen })).toEqual({
        approved: 1,
        released: 1,
      })
      expect(late).toBeDefined()
      await approver.query('commit')
    } finally {
      approver.release()
    }
    expect(await review(engine, batchId)).toMatchObject({ transfers: 1, totals: { USD: '20.00' } })
  })

  it('checks what is expected before any SQL', async () => {
    const { engine, batchId } = await openBatch()
    for (const [expected, field] of [
      [{}, 'expected'],
      [3, 'expected'],
      [{ total: {} }, 'expected.total'],
      [{ transfers: -1 }, 'expected.transfers'],
      [{ transfers: '1' }, 'expected.transfers'],
      [{ totals: [] }, 'expected.totals'],
      [{ totals: { USD: 10 } }, 'expected.totals.USD'],
      [{ totals: { USD: '1e3' } }, 'expected.totals.USD'],
      [{ digest: 'abc' }, 'expected.digest'],
    ] as const) {
      const approving = engine.batches.approve(undefined as never, batchId, { actor: 'anna', expected } as never)
      await expect(approving).rejects.toMatchObject({ code: 'invalid_request', field })
    }
  })

  it('finds the batch by its key, of its account alone', async () => {
    const { engine, batchId } = await openBatch()
    await commit(async (tx) => {
      const { id } = await engine.batches.create(tx, { key: 'bonus' })
      expect(await engine.batches.getByKey('bonus', { tx })).toMatchObject({ id, accountId: null })
      expect(await engine.batches.getByKey('bonus')).toBeUndefined()
    })
    expect(await engine.batches.getByKey('salaries', { accountId: 'acme' })).toMatchObject({ id: batchId })
    expect(await engine.batches.getByKey('salaries', { accountId: 'other' })).toBeUndefined()
    expect(await engine.batches.getByKey('salaries')).toBeUndefined()
    await expect(engine.batches.getByKey('salaries', { account: 'acme' } as never)).rejects.toMatchObject({
      code: 'invalid_request',
      field: 'account',
    })
  })

  it('is refused where what is expected is undefined, which would approve anything', async () => {
    const { engine, batchId, add } = await openBatch()
    await add('10.00')
    const given: readonly [object, string][] = [
      [{ expected: undefined }, 'expected'],
      [{ expected: { transfers: 1, digest: undefined } }, 'expected.digest'],
    ]
    for (const [expected, field] of given) {
      const approving = commit((tx) => engine.batches.approve(tx, batchId, { actor: 'anna', ...expected }))
      await expect(approving).rejects.toMatchObject({ code: 'invalid_request', field })
    }
    expect(await rows('select from outlay.approval')).toEqual([])
  })

  it('neither shows nor counts a line whose time to be sent has passed', async () => {
    const { engine, batchId, add } = await openBatch()
    await add('10.00')
    const { id } = await add('20.00', { expiresAt: new Date(Date.now() + 3_600_000) })
    await rows(`update outlay.transfer set expires_at = now() - interval '1 second' where id = $1`, [id])
    const seen = await review(engine, batchId)
    expect(seen).toMatchObject({ transfers: 1, totals: { USD: '10.00' } })
    expect(await approve(engine, batchId, seen)).toEqual({ approved: 1, released: 1 })
  })

  it('takes as many statements for its states, whatever it has', async () => {
    const { engine, batchId, add } = await openBatch()
    const statements = async () => {
      const texts: string[] = []
      await commit(async (tx) => {
        const query = tx.query.bind(tx) as (...given: unknown[]) => unknown
        const spy = (...given: unknown[]) => {
          const [first] = given as [string | { readonly text: string }]
          texts.push(typeof first === 'string' ? first : first.text)
          return query(...given)
        }
        const spied = Object.assign(Object.create(tx) as typeof tx, { query: spy })
        await engine.batches.approve(spied, batchId, { actor: 'anna' })
      })
      return texts.filter((text) => text.includes('is_expired')).length
    }
    await add('10.00')
    const ofOne = await statements()
    for (const value of ['10.00', '20.00', '30.00']) await add(value)
    expect(await statements()).toBe(ofOne)
  })
})
