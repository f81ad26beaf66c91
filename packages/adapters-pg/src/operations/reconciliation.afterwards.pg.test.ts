import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { listingGateway, restoredDatabase } from '../../test/restored-database.ts'

const since = () => new Date(Date.now() - 60_000)

describe('a database that was restored', async () => {
  const host = await testHost()
  const { pool, commit, enqueue, rows } = host
  const { make, sendAndRewind, isSent } = restoredDatabase(host)

  const isNoted = (count: number) =>
    waitUntil(async () => (await rows('select 1 from outlay.found_transfer')).length === count)
  const adopt = () => rows('select id from outlay.adopt_found(10)')
  const twins = ['one', 'two'].map((idempotencyKey) => samplePayout('acme', { idempotencyKey }))

  it('sends a twin that a person releases under the key that was sent before', async () => {
    const gateway = listingGateway()
    const { engine, ids } = await sendAndRewind(gateway, twins)
    // A transfer that is late already is not sent again without a person.
    await pool.query(`update outlay.transfer set expires_at = now()`)
    await engine.reconcile({ since: since(), acknowledge: true })
    for (const id of ids) {
      expect(await engine.transfers.get(id)).toMatchObject({ stage: 'blocked', reason: 'reconcile' })
      await commit((tx) => engine.transfers.release(tx, id))
    }
    await engine.start()
    for (const id of ids) await isSent(engine, id)
    expect(new Set(gateway.submissions.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2)
    expect(gateway.transfers.size).toBe(2)
  })

  it('does not send a twin that a person releases when its key may be forgotten', async () => {
    const gateway = listingGateway()
    const { engine, ids } = await sendAndRewind(gateway, twins)
    await pool.query(`update outlay.transfer set created_at = created_at - interval '40 days'`)
    await engine.reconcile({ since: since(), acknowledge: true })
    for (const id of ids) await commit((tx) => engine.transfers.release(tx, id))
    await engine.start()
    const isBlocked = async (id: string) => (await engine.transfers.get(id))?.reason === 'key_expired'
    for (const id of ids) await waitUntil(() => isBlocked(id))
    expect(gateway.submissions).toHaveLength(2)
  })

  it('adopts nothing while it is fenced, since its own rows stand for what was sent', async () => {
    const gateway = listingGateway()
    const { engine, ids } = await sendAndRewind(gateway, twins.slice(0, 1))
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    await engine.start()
    await isNoted(1)
    expect(await adopt()).toEqual([])
    const { differences } = await engine.reconcile({ since: since() })
    expect(differences.map(({ kind }) => kind)).toEqual(['resent', 'undecided'])
    await isSent(engine, ids[0] ?? '')
    expect((await engine.transfers.get(ids[0] ?? ''))?.remoteId).toBe('remote-1')
  })

  it('adopts none of those that a blocked transfer may be, also when the fence is lifted', async () => {
    const gateway = listingGateway()
    const { engine } = await sendAndRewind(gateway, twins)
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    await engine.start()
    await isNoted(2)
    await pool.query(`update outlay.transfer set expires_at = now()`)
    const { lifted } = await engine.reconcile({ since: since(), acknowledge: true })
    expect(lifted).toBe(true)
    expect(await adopt()).toEqual([])
  })

  it('does not send one that the service has lost when its key may be forgotten', async () => {
    const gateway = listingGateway()
    const engine = make(gateway)
    await engine.start()
    const { id } = await enqueue(engine)
    await isSent(engine, id)
    await pool.query(`update outlay.attempt set claimed_at = claimed_at - interval '40 days'`)
    await pool.query(
      `update outlay.transfer set reason = 'missing_at_service', unknown_since = now() - interval '1 hour',
         next_poll_at = now() + interval '1 hour'`,
    )
    await commit((tx) => engine.transfers.release(tx, id))
    const isOver = async () => (await engine.transfers.get(id))?.stage === 'blocked' || gateway.submissions.length > 1
    await waitUntil(isOver)
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'blocked', reason: 'key_expired' })
    expect(gateway.submissions).toHaveLength(1)
  })

  it('never sends a transfer of others, also when the service has lost it', async () => {
    const gateway = listingGateway()
    const { engine } = await sendAndRewind(gateway, twins.slice(0, 1), [])
    await engine.reconcile({ since: since(), accounts: ['acme'] })
    await pool.query(
      `update outlay.transfer set reason = 'missing_at_service', unknown_since = now() - interval '1 hour',
         next_poll_at = now() + interval '1 hour'`,
    )
    const [adopted] = await rows('select id, idempotency_key from outlay.transfer')
    expect(adopted?.idempotency_key).toBe('adopted remote-1')
    const released = await commit((tx) => engine.transfers.release(tx, adopted?.id))
    await engine.start()
    const { id } = await enqueue(engine, { idempotencyKey: 'next' })
    await isSent(engine, id)
    await waitUntil(async () => (await engine.backlog()).queued === 0)
    expect(gateway.transfers.size).toBe(2)
    expect(released).toBe(false)
  })

  it('keeps a release whose request a stop kept from leaving', async () => {
    const gateway = listingGateway()
    let isStopped = false
    const engine = make({
      ...gateway,
      async submit(submission, sending) {
        if (isStopped) return gateway.submit(submission, sending)
        isStopped = true
        await commit((tx) => engine.stops.add(tx, { scope: 'all' }))
        await waitUntil(() => sending.mayBegin?.() === false)
        return { outcome: 'throttled', detail: 'not sent' }
      },
    })
    const { id } = await enqueue(engine)
    await pool.query(
      `update outlay.transfer set attempt = 1, stage = 'blocked', reason = 'outcome_unknown', client = '',
         unknown_since = now() - interval '2 days'`,
    )
    await commit((tx) => engine.transfers.release(tx, id))
    await engine.start()
    await waitUntil(async () => (await engine.transfers.get(id))?.attempt === 2 && isStopped)
    await reach(engine, id, { stage: 'queued' })
    await commit((tx) => engine.stops.end(tx, { scope: 'all' }))
    await waitUntil(async () => (await engine.transfers.get(id))?.stage !== 'queued' || gateway.submissions.length > 0)
    await isSent(engine, id)
    expect(gateway.transfers.size).toBe(1)
  })
})
