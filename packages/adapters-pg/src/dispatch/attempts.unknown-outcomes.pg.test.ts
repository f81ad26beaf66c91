import type { Gateway, SubmitResult } from '@outlay/core'
import { drain, type MemoryGateway, memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { emptyOutbox } from '../../test/outbox.ts'
import { countJobs, deferJobs } from '../../test/queue.ts'

const day = 24 * 3_600_000
const lost = { outcome: 'unknown', detail: 'reset' } as const satisfies SubmitResult

describe('an outcome that is unknown', async () => {
  const { pool, open, commit, enqueue, outcomes } = await testHost()

  /** An engine that comes back soon after every answer, and what it has blocked and released. */
  function make(gateway: MemoryGateway & Gateway = memoryGateway(), now?: () => Date) {
    const runtime = now === undefined ? {} : { clock: { now } }
    const engine = open({ gateway: { keyLifetimeMs: 20 * day, ...gateway }, fraction: 0.001, runtime })
    const news: string[] = []
    engine.subscribe('news', ['transfer.blocked', 'transfer.released'], async ({ type, transfer }) => {
      news.push(`${type.split('.')[1]} ${transfer.reason}`)
    })
    return { engine, gateway, news }
  }
  const read = async (id: string) =>
    (await pool.query('select t.*, t.unknown_since::text as since from outlay.transfer t where id = $1', [id])).rows[0]
  /** Gives a transfer the state of one whose attempt went out so long ago and had no answer. */
  const makeUnknown = (id: string, age: string, set = '') =>
    pool.query(
      `with aged as (
         update outlay.transfer set attempt = 1, unknown_since = now() - $2::interval, client = coalesce(client, ''),
           submission_key = outlay.submission_key('transfer', account_id, idempotency_key) ${set}
         where id = $1 returning id, unknown_since
       )
       insert into outlay.attempt (transfer_id, attempt, worker, claimed_at) select id, 1, 'gone', unknown_since from aged`,
      [id, age],
    )

  it.each([
    { outcome: 'rejected', code: 'not_found', detail: 'the page of a proxy' },
    { outcome: 'insufficient_balance', detail: 'of another client' },
    { outcome: 'unauthorized', detail: 'HTTP 401', httpStatus: 401 },
    { outcome: 'throttled', detail: 'in flight', httpStatus: 409 },
    { outcome: 'throttled', detail: 'not sent: no connection' },
  ] as const)('does not end by $outcome ($detail), and has one effect in the end', async (answer) => {
    const { engine, gateway, news } = make()
    gateway.scriptAfter(({ attempt }) => (attempt === 1 ? lost : undefined))
    gateway.script(({ attempt }) => (attempt === 2 ? answer : undefined))
    const { id } = await enqueue(engine)
    await engine.start()
    await waitUntil(async () => (await outcomes(id)).length >= 2)
    await expect(commit((tx) => engine.transfers.cancel(tx, id))).rejects.toMatchObject({
      code: 'transfer_not_cancelable',
    })
    await drain(engine)
    expect(await read(id)).toMatchObject({ status: 'complete', since: null, attempt: 3 })
    expect(gateway.transfers.size).toBe(1)
    expect(news).toEqual([])
  })

  it('ends by a refusal that was decided behind the key', async () => {
    const { engine, gateway } = make()
    const refused = { outcome: 'rejected', code: 'invalid_account_number', detail: 'no', keyEvaluated: true } as const
    gateway.script(({ attempt }) => (attempt === 1 ? lost : refused))
    const { id } = await enqueue(engine)
    await engine.start()
    await drain(engine)
    expect(await read(id)).toMatchObject({ stage: 'settled', status: 'failed', since: null, attempt: 2 })
  })

  it('begins with the claim of the first unanswered attempt, and nothing moves it', async () => {
    const { engine, gateway } = make()
    let answer: SubmitResult | undefined = lost
    gateway.script(() => answer)
    const { id } = await enqueue(engine)
    await engine.start()
    await waitUntil(async () => (await outcomes(id)).length >= 2)
    const claimed = `select claimed_at::text as at from outlay.attempt where transfer_id = $1 and attempt = 1`
    const { at } = (await pool.query(claimed, [id])).rows[0]
    const isSince = async () => expect((await read(id)).since).toBe(at)
    await isSince()
    answer = { outcome: 'unauthorized', detail: '401' }
    await waitUntil(async () => (await outcomes(id)).some(({ outcome }) => outcome === 'unauthorized'))
    await isSince()
    await commit((tx) => engine.accounts.pause(tx, 'acme'))
    await commit((tx) => engine.accounts.resume(tx, 'acme'))
    await commit((tx) => engine.accounts.fundsArrived(tx, 'acme'))
    await commit((tx) => engine.transfers.release(tx, id))
    await isSince()
    answer = undefined
    await commit((tx) => engine.accounts.retryCredentials(tx, 'acme'))
    await drain(engine)
    expect(await read(id)).toMatchObject({ status: 'complete', since: null, released_at: null })
  })

  it('is for funds that arrive no younger than it was, on rows of earlier code', async () => {
    const { engine } = make()
    const { id } = await enqueue(engine)
    await makeUnknown(id, '3 hours', `, stage = 'awaiting_funds', reason = 'insufficient_balance'`)
    const { since } = await read(id)
    expect(await commit((tx) => engine.accounts.fundsArrived(tx, 'acme'))).toBe(1)
    expect(await read(id)).toMatchObject({ stage: 'queued', since, released_at: null })
  })

  it('is a person’s to decide after 24 hours, whatever is answered', async () => {
    const answers: readonly SubmitResult[] = [
      { outcome: 'rejected', code: 'not_found', detail: '404' },
      { outcome: 'insufficient_balance', detail: '422' },
      { outcome: 'unauthorized', detail: '401' },
      { outcome: 'throttled', detail: '409', httpStatus: 409 },
      { outcome: 'throttled', detail: 'not sent: no connection' },
      lost,
    ]
    for (const answer of answers) {
      const { engine, gateway, news } = make()
      gateway.script(() => answer)
      const { id } = await enqueue(engine)
      // A person has let one more attempt go, so this is about its answer.
      await makeUnknown(id, '25 hours', ', released_at = now()')
      const { since } = await read(id)
      await engine.start()
      await reach(engine, id, { stage: 'blocked' })
      expect(await read(id)).toMatchObject({ reason: 'outcome_unknown', since, attempt: 2, released_at: null })
      await drain(engine)
      expect([gateway.submissions.length, news]).toEqual([1, ['blocked outcome_unknown']])
      await engine.stop()
      await emptyOutbox(pool)
    }
  })

  it('is not sent again after 24 hours, but once for each release', async () => {
    const { engine, gateway, news } = make()
    gateway.script(() => lost)
    const { id } = await enqueue(engine)
    await makeUnknown(id, '25 hours')
    await engine.start()
    await reach(engine, id, { stage: 'blocked' })
    expect(gateway.submissions).toEqual([])
    expect(await commit((tx) => engine.transfers.release(tx, id))).toBe(true)
    expect(await read(id)).toMatchObject({ reason: 'released' })
    await waitUntil(() => gateway.submissions.length === 1)
    await reach(engine, id, { stage: 'blocked' })
    await drain(engine)
    expect(gateway.submissions).toHaveLength(1)
    expect(news).toEqual(['blocked outcome_unknown', 'released released', 'blocked outcome_unknown'])
    gateway.script(() => undefined)
    await commit((tx) => engine.transfers.release(tx, id))
    await drain(engine)
    expect(await read(id)).toMatchObject({ status: 'complete', since: null })
  })

  it('is never sent again once the service may have forgotten its key, released or not', async () => {
    const { engine, gateway, news } = make()
    const { id } = await enqueue(engine)
    await makeUnknown(id, '31 days')
    await engine.start()
    await reach(engine, id, { stage: 'blocked' })
    expect((await read(id)).reason).toBe('key_expired')
    await commit((tx) => engine.transfers.release(tx, id))
    await waitUntil(async () => (await read(id)).reason === 'key_expired')
    await drain(engine)
    expect(gateway.submissions).toEqual([])
    expect(news.at(-1)).toBe('blocked key_expired')
    const [last] = (await outcomes(id)).slice(-1)
    expect(last.detail).toMatch(/^not sent: the outcome of attempt 1 is unknown since .*keeps its key for 480 hours/)
  })

  it.each([
    ['of a paused account', 'account_paused', `insert into outlay.account (account_id, paused) values ('acme', true)`],
    [
      'of refused credentials',
      'unauthenticated',
      `insert into outlay.unauthorized_account (account_id, probe_at) values ('acme', now() + interval '1 hour')`,
    ],
  ])('is found although no worker claims a transfer %s', async (_, reason, defer) => {
    const { engine, gateway, news } = make()
    await pool.query(defer)
    const waits = `, reason = '${reason}'`
    const [old, young, released, doubtless] = [
      await enqueue(engine),
      await enqueue(engine),
      await enqueue(engine),
      await enqueue(engine),
    ]
    await deferJobs(pool, '10 years')
    await makeUnknown(old.id, '25 hours', waits)
    await makeUnknown(young.id, '23 hours', waits)
    await makeUnknown(released.id, '25 hours', `${waits}, released_at = now()`)
    await pool.query(`update outlay.transfer set reason = $2, created_at = now() - interval '9 days' where id = $1`, [
      doubtless.id,
      reason,
    ])
    await engine.start()
    await reach(engine, old.id, { stage: 'blocked' })
    expect(await read(old.id)).toMatchObject({ reason: 'outcome_unknown', attempt: 1 })
    await waitUntil(() => news.length > 0)
    expect(news).toEqual(['blocked outcome_unknown'])
    for (const { id } of [young, released, doubtless]) expect(await read(id)).toMatchObject({ stage: 'queued', reason })
    expect(await countJobs(pool)).toBe(3)
    expect(gateway.submissions).toEqual([])
  })

  it('is found by the limits of its own gateway, and says at once when its key may be forgotten', async () => {
    await pool.query(`insert into outlay.account (account_id, paused) values ('acme', true)`)
    const gateways = {
      default: { ...memoryGateway(), keyLifetimeMs: 20 * day },
      brief: { ...memoryGateway(), keyLifetimeMs: day / 24 },
      endless: { ...memoryGateway(), keyLifetimeMs: Number.POSITIVE_INFINITY },
    }
    const writer = open({
      gateways: { ...gateways, elsewhere: memoryGateway() },
      route: ({ note }) => note ?? 'default',
    })
    const ages = [
      ['default', '2 hours'],
      ['default', '25 hours'],
      ['default', '480 hours'],
      ['brief', '2 hours'],
      ['endless', '9000 hours'],
      ['elsewhere', '2 hours'],
      ['elsewhere', '25 hours'],
    ] as const
    const ids: string[] = []
    for (const [note, age] of ages) {
      const { id } = await enqueue(writer, { note })
      await makeUnknown(id, age, `, reason = 'account_paused'`)
      ids.push(id)
    }
    await deferJobs(pool, '10 years')
    await open({ gateways, route: () => 'default' }).start()
    await waitUntil(async () => (await read(ids.at(-1) ?? '')).stage === 'blocked')
    const reasons = []
    for (const id of ids) reasons.push((await read(id)).reason)
    expect(reasons).toEqual([
      'account_paused',
      'outcome_unknown',
      'key_expired',
      'key_expired',
      'outcome_unknown',
      'account_paused',
      'outcome_unknown',
    ])
  })

  it('does not wait for a lock on its row', async () => {
    const { engine } = make()
    await pool.query(`insert into outlay.account (account_id, paused) values ('acme', true)`)
    const [held, free] = [await enqueue(engine), await enqueue(engine)]
    for (const { id } of [held, free]) await makeUnknown(id, '25 hours', `, reason = 'account_paused'`)
    await deferJobs(pool, '10 years')
    await commit(async (tx) => {
      await tx.query('select from outlay.transfer where id = $1 for update', [held.id])
      await engine.start()
      await reach(engine, free.id, { stage: 'blocked' })
      expect(await read(held.id)).toMatchObject({ stage: 'queued' })
    })
    await reach(engine, held.id, { stage: 'blocked' })
  })

  it('and an expiry are judged by the clock of the database, not by that of a worker that is days ahead', async () => {
    const ahead = () => new Date(Date.now() + 3 * day)
    const { engine, gateway, news } = make(memoryGateway(), ahead)
    gateway.script(({ attempt }) => (attempt < 3 ? lost : undefined))
    const expiresAt = new Date(Date.now() + day).toISOString()
    const { id } = await enqueue(engine, { expiresAt })
    await engine.start()
    await drain(engine)
    expect(await read(id)).toMatchObject({ status: 'complete', attempt: 3 })
    expect(news).toEqual([])
  })

  it('is what an acceptance without an id leaves', async () => {
    const { engine, gateway } = make()
    gateway.scriptAfter(({ attempt }) => (attempt === 1 ? { outcome: 'accepted', remoteId: '' } : undefined))
    const { id } = await enqueue(engine)
    await engine.start()
    await drain(engine)
    expect(await outcomes(id)).toMatchObject([{ outcome: 'unknown' }, { outcome: 'accepted' }])
    expect(gateway.transfers.size).toBe(1)
  })
})
