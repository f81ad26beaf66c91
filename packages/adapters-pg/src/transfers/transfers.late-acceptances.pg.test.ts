import { memoryGateway, waitUntil } from '@outlay/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { countJobs, loseJobs } from '../../test/queue.ts'
import { pgDriver } from '../drivers/pg.ts'
import { inspect } from '../inspection/inspection.ts'

describe('an acceptance that came when another attempt was under way', async () => {
  const { pool, open, commit, enqueue, forgetRequests } = await testHost()
  const gateway = memoryGateway()
  const engine = open({ gateway })
  afterEach(() => engine.stop())

  /** Another worker claims the transfers, whose worker has lost its jobs. */
  async function claim() {
    await loseJobs(pool)
    await pool.query(`select * from outlay.fetch_and_claim(10, 'one of two', '', null)`)
  }
  async function settle(id: string, attempt: number, outcome: object): Promise<string> {
    const job = (await pool.query('select outlay.job_id($1) as job', [id])).rows[0].job
    const settlement = { id, job, attempt, status: 'pending', events: [], ...outcome }
    return (await pool.query('select result from outlay.settle($1, 2)', [JSON.stringify([settlement])])).rows[0].result
  }
  const accepted = {
    ...{ outcome: 'accepted', http_status: 201, stage: 'submitted', status: 'processing', remote_id: 'remote-1' },
    events: ['transfer.submitted'],
  }
  const poor = {
    outcome: 'insufficient_balance',
    http_status: 422,
    stage: 'awaiting_funds',
    reason: 'insufficient_balance',
    retry_ms: 30_000,
  }
  const lost = {
    outcome: 'unknown',
    stage: 'blocked',
    reason: 'outcome_unknown',
    unknown_since: new Date().toISOString(),
  }

  it('keeps nobody from resubmitting the transfer, once it got that id itself and failed at the service', async () => {
    const { id } = await enqueue(engine)
    await claim()
    await claim()
    expect(await settle(id, 1, accepted)).toBe('settled')
    expect(await settle(id, 2, accepted)).toBe('stale')
    const failure = {
      type: 'returned',
      code: 'returned',
      detail: 'returned',
      occurredAt: new Date().toISOString(),
      retriable: false,
    } as const
    await commit((tx) => engine.transfers.observe(tx, 'acme', [{ remoteId: 'remote-1', status: 'failed', failure }]))
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'settled', status: 'failed', remoteId: 'remote-1' })
    expect(await commit((tx) => engine.transfers.resubmit(tx, id))).toMatchObject({ stage: 'queued' })
  })

  it.each([
    ['waits for funds', poor],
    ['is blocked', lost],
  ])('settles a transfer that %s by then', async (_, answer) => {
    const { id } = await enqueue(engine)
    await claim()
    await claim()
    expect(await settle(id, 2, answer)).toBe('settled')
    expect(await settle(id, 1, accepted)).toBe('settled')
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'submitted', remoteId: 'remote-1', reason: null })
    expect(await countJobs(pool)).toBe(0)
  })

  it('counts when both come together', async () => {
    const { id } = await enqueue(engine)
    await claim()
    await claim()
    const settlements = [
      { ...poor, id, attempt: 2, status: 'pending', events: [] },
      { ...accepted, id, attempt: 1 },
    ]
    await pool.query('select * from outlay.settle($1, 2)', [JSON.stringify(settlements)])
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'submitted', remoteId: 'remote-1' })
  })

  it('may still come, so the transfer is not canceled and does not expire', async () => {
    const { id } = await enqueue(engine)
    await claim()
    await claim()
    expect(await settle(id, 2, { ...poor, retry_ms: 0 })).toBe('settled')
    await expect(commit((tx) => engine.transfers.cancel(tx, id))).rejects.toMatchObject({
      code: 'transfer_not_cancelable',
    })
    await pool.query('update outlay.transfer set expires_at = now()')
    await engine.start()
    await waitUntil(async () => (await engine.transfers.get(id))?.stage === 'settled')
    expect(await engine.transfers.get(id)).toMatchObject({ status: 'complete' })
  })

  it('keeps the history from the archive for good, and the transfer from being resubmitted until a person has dealt with it', async () => {
    const { id } = await enqueue(engine)
    await claim()
    await claim()
    expect(await settle(id, 2, poor)).toBe('settled')
    await forgetRequests()
    await commit((tx) => engine.transfers.cancel(tx, id))
    expect(await settle(id, 1, accepted)).toBe('stale')
    const resubmit = () => commit((tx) => engine.transfers.resubmit(tx, id))
    await expect(resubmit()).rejects.toMatchObject({ code: 'conflict' })
    await pool.query(`update outlay.transfer set updated_at = now() - interval '400 days'`)
    const archive = async () =>
      (await pool.query(`select archived from outlay.archive_history('', 'Z', 86400000, 100, false)`)).rows[0].archived
    expect(await archive()).toBe(0)
    await expect(resubmit()).rejects.toMatchObject({ code: 'conflict' })
    await pool.query('update outlay.attempt set unmatched = false where transfer_id = $1 and unmatched', [id])
    expect(await archive()).toBe(0)
    expect(await resubmit()).toMatchObject({ stage: 'queued' })
  })

  it('leaves its effect unknown or conflicting until the transfer has that id', async () => {
    const { id } = await enqueue(engine)
    const effect = async () =>
      (await pool.query('select outlay.effect_of(t) as effect from outlay.transfer t where id = $1', [id])).rows[0]
        .effect
    expect(await effect()).toBe('none')
    await claim()
    expect(await effect()).toBe('unknown')
    await claim()
    expect(await settle(id, 2, poor)).toBe('settled')
    expect(await effect()).toBe('unknown')
    await forgetRequests()
    expect(await effect()).toBe('none')
    await commit((tx) => engine.transfers.cancel(tx, id))
    expect(await settle(id, 1, accepted)).toBe('stale')
    expect(await effect()).toBe('conflicting')
    await pool.query(`update outlay.transfer set stage = 'submitted', remote_id = 'remote-1' where id = $1`, [id])
    expect(await effect()).toBe('known')
  })

  it('is reported where a person had said that the transfer is another one of the service', async () => {
    const { id } = await enqueue(engine)
    await claim()
    await claim()
    expect(await settle(id, 2, lost)).toBe('settled')
    await commit((tx) => engine.transfers.resolve(tx, id, { remoteId: 'remote-of-another' }))
    expect(await settle(id, 1, accepted)).toBe('stale')
    const { transfers } = await inspect({ driver: pgDriver(pool) }).health()
    expect(transfers.acceptedTwice).toMatchObject({ count: 1, samples: [id] })
  })
})
