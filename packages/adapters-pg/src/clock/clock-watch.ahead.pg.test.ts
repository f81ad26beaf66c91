import type { Gateway } from '@outlay/core'
import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { listedGateway } from '../../test/listed-gateway.ts'
import { deferJobs, loseJobs, postponeJobs, readJobs } from '../../test/queue.ts'

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** What a clock that was three hours ahead wrote, and was then set right. */
const writeAhead = `
  update outlay.known_database set seen_at = seen_at + interval '3 hours';
  update outlay.attempt set claimed_at = claimed_at + interval '3 hours', answered_at = answered_at + interval '3 hours';
  update outlay.transfer set unknown_since = unknown_since + interval '3 hours', updated_at = updated_at + interval '3 hours',
    created_at = created_at + interval '3 hours'`

describe('after a clock that was three hours ahead', async () => {
  const { pool, open, stopAll, commit, enqueue } = await testHost()

  const make = (gateway: Gateway) => open({ gateway })
  const rows = async () => (await pool.query('select * from outlay.transfer order by created_at')).rows

  /** A payout that the service made, and whose answer was lost. */
  async function lose(more: Partial<Gateway> = {}) {
    const inner = listedGateway()
    inner.answer = async (_, moment) => (moment === 'after' ? { outcome: 'unknown', detail: 'lost' } : undefined)
    const engine = make({ ...inner, ...more })
    await engine.start()
    const { id } = await enqueue(engine)
    await reach(engine, id, { reason: 'outcome_unknown' })
    await stopAll()
    await pool.query(writeAhead)
    await postponeJobs(pool, '3 hours')
    return { id, inner }
  }

  it('no transfer that was sent from here is adopted as one of others', async () => {
    const { id, inner } = await lose()
    await deferJobs(pool, '10 seconds')
    const engine = make(inner)
    await commit((tx) => engine.accounts.watch(tx, 'acme', { since: new Date(Date.now() - 60_000) }))
    await engine.start()
    await waitUntil(async () => (await pool.query('select 1 from outlay.found_transfer')).rowCount === 1)
    await pause(4_000)
    inner.answer = () => undefined
    await waitUntil(async () => ['submitted', 'blocked'].includes((await engine.transfers.get(id))?.stage ?? ''), {
      timeoutMs: 60_000,
    })
    expect((await rows()).map((row) => [row.id, row.stage, row.reason, row.remote_id])).toEqual([
      [id, 'submitted', null, 'remote-1'],
    ])
  })

  it('nor is it after a small step back, whose times nobody moves', async () => {
    const { inner } = await lose()
    const engine = make(inner)
    await commit((tx) => engine.accounts.watch(tx, 'acme', { since: new Date(Date.now() - 60_000) }))
    await commit((tx) => engine.transfers.observe(tx, 'acme', [inner.observe('remote-1')]))
    await pool.query(`
      update outlay.attempt set claimed_at = now() - interval '1 second';
      update outlay.transfer set unknown_since = now() - interval '1 second';
      update outlay.found_transfer set seen_at = now() - interval '26 seconds'`)
    expect((await pool.query('select * from outlay.adopt_found(10)')).rows).toEqual([])
  })

  it.each([
    ['soon after the request', 0],
    ['later than it was ahead', 4],
  ])('no key is sent beyond its life, when it is set right %s', async (_, hours) => {
    const keyLifetimeMs = 24 * 3_600_000
    const { id, inner } = await lose({ keyLifetimeMs })
    const pass = (passed: number) =>
      pool.query(`
        update outlay.known_database set seen_at = seen_at - interval '${passed} hours';
        update outlay.attempt set claimed_at = claimed_at - interval '${passed} hours', answered_at = answered_at - interval '${passed} hours';
        update outlay.transfer set unknown_since = unknown_since - interval '${passed} hours',
          updated_at = updated_at - interval '${passed} hours', created_at = created_at - interval '${passed} hours'`)
    await pass(hours)
    await pool.query(`update outlay.known_database set seen_at = now() + interval '3 hours'`)
    const sooner = make({ ...inner, keyLifetimeMs })
    await commit((tx) => sooner.accounts.pause(tx, 'acme'))
    await sooner.start()
    await pause(5_000)
    await stopAll()
    // The rest of a day passes, in which the account is paused and no worker runs. The service forgets the key.
    await pass(24 - hours)
    const later = listedGateway()
    const engine = make({ ...later, keyLifetimeMs })
    await commit((tx) => engine.accounts.resume(tx, 'acme'))
    await loseJobs(pool, id)
    await engine.start()
    await waitUntil(async () => ['submitted', 'blocked'].includes((await engine.transfers.get(id))?.stage ?? ''), {
      timeoutMs: 60_000,
    })
    expect([...later.transfers.keys()]).toEqual([])
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'blocked' })
    expect(await engine.sending()).toMatchObject({ fence: null })
  })

  it('each time is moved once, however many workers notice it and whenever they start', async () => {
    await pool.query(`insert into outlay.stop (scope) values ('all')`)
    const first = make(listedGateway())
    await first.start()
    const { id } = await enqueue(first)
    await deferJobs(pool, '3 hours 30 minutes')
    await pool.query(`update outlay.known_database set seen_at = now() + interval '3 hours'`)
    const minutes = async () => (await readJobs(pool, id))[0]?.dueInMinutes
    await waitUntil(async () => (await minutes()) === 30)
    await make(listedGateway()).start()
    await pause(5_000)
    expect(await minutes()).toBe(30)
  })
})
