import type { SubmitResult } from '@outlay/core'
import { drain, memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { readJobs } from '../../test/queue.ts'

describe('an account whose credentials are refused', async () => {
  const { pool, open, commit, enqueueMany } = await testHost({ max: 40 })

  /** An engine that probes after `fraction` of the backoff's pause, with a service that refuses `refused` accounts. */
  function make(fraction: number) {
    const gateway = memoryGateway()
    const refused = new Set<string>()
    const answer: { now: SubmitResult } = { now: { outcome: 'unauthorized', detail: 'HTTP 401', httpStatus: 401 } }
    gateway.script(({ accountId }) => (refused.has(accountId) ? answer.now : undefined))
    const engine = open({ gateway, fraction })
    const news: string[] = []
    engine.subscribe(
      'news',
      ['account.credentials_refused', 'account.credentials_restored'],
      async ({ type, accountId, transfer }) => {
        news.push(`${accountId} ${type.split('_')[1]} ${transfer.stage}`)
      },
    )
    return { engine, gateway, refused, answer, news }
  }
  const deferred = async (): Promise<number> =>
    (await readJobs(pool)).filter(({ dueInMinutes }) => dueInMinutes > 500_000).length
  const refusals = async (): Promise<number> =>
    (await pool.query('select coalesce(sum(refusals), 0)::integer as count from outlay.unauthorized_account')).rows[0]
      .count

  it('waits as a whole behind one probe, while others go on, and goes on when the host retries the credentials', async () => {
    const { engine, gateway, refused, news } = make(0.9)
    refused.add('bad')
    await enqueueMany(engine, 40, 'bad')
    await engine.start({ concurrency: 4 })
    await waitUntil(async () => (await deferred()) >= 28)
    await enqueueMany(engine, 20, 'good')
    await drain(engine, { until: ({ settled, undelivered }) => settled === 20 && undelivered === 0 })
    const hammered = gateway.submissions.filter(({ accountId }) => accountId === 'bad').length
    // Those that were on their way before the first refusal was written, about three per slot; each probe since counts one.
    expect(hammered).toBeLessThanOrEqual(24 + (await refusals()))
    expect(news).toEqual(['bad refused queued'])

    refused.clear()
    expect(await commit((tx) => engine.accounts.retryCredentials(tx, 'good'))).toBe(false)
    expect(await commit((tx) => engine.accounts.retryCredentials(tx, 'bad'))).toBe(true)
    expect(await drain(engine)).toMatchObject({ settled: 60 })
    expect(news).toEqual(['bad refused queued', 'bad restored settled'])
    const keys = gateway.submissions.map(({ idempotencyKey }) => idempotencyKey)
    expect(new Set(keys).size).toBe(60)
    expect(gateway.transfers.size).toBe(60)
  })

  it('probes with one transfer at a time, slower and slower, and recovers without a command', async () => {
    const { engine, gateway, refused } = make(0.02)
    refused.add('bad')
    await enqueueMany(engine, 10, 'bad')
    await engine.start({ concurrency: 1 })
    await waitUntil(async () => (await refusals()) >= 4, { timeoutMs: 60_000 })
    // Three at most were on their way before the first refusal was written; each probe since counts one.
    expect(gateway.submissions.length).toBeLessThanOrEqual(3 + (await refusals()))
    refused.clear()
    expect(await drain(engine)).toMatchObject({ settled: 10 })
    expect(await refusals()).toBe(0)
  })

  it('learns nothing from a probe that the service was too busy to check', async () => {
    const { engine, gateway, refused, answer, news } = make(0.02)
    refused.add('bad')
    await enqueueMany(engine, 5, 'bad')
    await engine.start({ concurrency: 1 })
    await waitUntil(async () => (await refusals()) >= 1)
    answer.now = { outcome: 'throttled', detail: 'HTTP 429', retryAfterMs: 100 }
    const before = gateway.submissions.length
    await waitUntil(() => gateway.submissions.length >= before + 2)
    expect(await refusals()).toBeGreaterThanOrEqual(1)
    expect(news).toEqual(['bad refused queued'])
    refused.clear()
    expect(await drain(engine)).toMatchObject({ settled: 5 })
  })

  it('lets its host cancel what waits, the probe included', async () => {
    const { engine, gateway, refused } = make(0.02)
    refused.add('bad')
    const transfers = await enqueueMany(engine, 3, 'bad')
    await engine.start({ concurrency: 1 })
    await waitUntil(async () => (await deferred()) >= 2)
    const [oldest, ...others] = transfers
    await reach(engine, oldest?.id ?? '', { stage: 'queued' })
    await waitUntil(() =>
      commit((tx) => engine.transfers.cancel(tx, oldest?.id ?? '')).then(
        () => true,
        () => false,
      ),
    )
    refused.clear()
    await drain(engine)
    expect(await engine.transfers.get(oldest?.id ?? '')).toMatchObject({ status: 'canceled' })
    for (const { id } of others) expect(await engine.transfers.get(id)).toMatchObject({ status: 'complete' })
    expect(gateway.transfers.size).toBe(2)
  })

  it('does not probe while it is paused', async () => {
    const { engine, gateway, refused } = make(0.02)
    refused.add('bad')
    await enqueueMany(engine, 3, 'bad')
    await engine.start({ concurrency: 1 })
    await waitUntil(async () => (await refusals()) >= 1)
    await commit((tx) => engine.accounts.pause(tx, 'bad'))
    refused.clear()
    await waitUntil(async () => (await engine.backlog()).submitting === 0)
    const before = gateway.submissions.length
    // A probe that was under way as the pause began may have been accepted, so only the other account's end is certain.
    const [good] = await enqueueMany(engine, 1, 'good')
    await reach(engine, good?.id ?? '', { stage: 'settled' })
    expect(gateway.submissions.length).toBeLessThanOrEqual(before + 1)
    await commit((tx) => engine.accounts.resume(tx, 'bad'))
    expect(await drain(engine)).toMatchObject({ settled: 4 })
  })

  it('is forgotten when nothing has waited for it for a week, and not before', async () => {
    const { engine, refused } = make(0.9)
    for (const account of ['unused', 'waiting']) refused.add(account)
    const [unused] = await enqueueMany(engine, 1, 'unused')
    await enqueueMany(engine, 1, 'waiting')
    await engine.start()
    await waitUntil(async () => (await refusals()) >= 2)
    await reach(engine, unused?.id ?? '', { stage: 'queued' })
    await engine.stop()
    await commit((tx) => engine.transfers.cancel(tx, unused?.id ?? ''))
    await pool.query(`update outlay.unauthorized_account set probe_at = now() - interval '8 days'`)
    await pool.query(`insert into outlay.unauthorized_account (account_id, probe_at) values ('recent', now() - interval '6 days'),
      ('paused', now() - interval '8 days')`)
    await pool.query(`insert into outlay.account (account_id, paused) values ('paused', true)`)
    const again = make(0.9)
    again.refused.add('waiting')
    await again.engine.start()
    await waitUntil(
      async () =>
        (await pool.query(`select 1 from outlay.unauthorized_account where account_id = 'unused'`)).rowCount === 0,
    )
    const { rows } = await pool.query('select account_id from outlay.unauthorized_account order by 1')
    expect(rows.map((row) => row.account_id)).toEqual(['paused', 'recent', 'waiting'])
  })
})
