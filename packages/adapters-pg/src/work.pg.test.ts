import type { Telemetry } from '@outlay/core'
import { drain, memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type OpenOptions, reach, testHost } from '../test/host.ts'
import { countJobs, loseJobs, removeJobs } from '../test/queue.ts'
import { postgres } from './backend.ts'

describe('the workers', async () => {
  const { pool, driver, open, commit, enqueueMany } = await testHost({ max: 40 })

  const make = (options: OpenOptions) => open({ polling: { maxDelayMs: 50 }, ...options })
  const attempts = async (id: string) =>
    (await pool.query('select attempt, outcome from outlay.attempt where transfer_id = $1 order by attempt', [id])).rows

  it('submit every transfer once and settle it', async () => {
    const gateway = memoryGateway()
    const engine = make({ gateway })
    await engine.start()
    await enqueueMany(engine, 300)
    const backlog = await drain(engine)
    expect(backlog).toMatchObject({ settled: 300, queued: 0, submitting: 0 })
    expect(gateway.transfers.size).toBe(300)
    expect(gateway.submissions).toHaveLength(300)
    expect(await countJobs(pool)).toBe(0)
  })

  it('send the same key again after a lost answer, and count one transfer', async () => {
    const gateway = memoryGateway()
    const engine = make({ gateway })
    gateway.scriptAfter((submission) => (submission.attempt < 3 ? { outcome: 'unknown', detail: 'reset' } : undefined))
    await engine.start()
    const [transfer] = await enqueueMany(engine, 1)
    await reach(engine, transfer?.id ?? '', { stage: 'settled' })
    expect(new Set(gateway.submissions.map((submission) => submission.idempotencyKey)).size).toBe(1)
    expect(gateway.transfers.size).toBe(1)
    expect(await attempts(transfer?.id ?? '')).toEqual([
      { attempt: 1, outcome: 'unknown' },
      { attempt: 2, outcome: 'unknown' },
      { attempt: 3, outcome: 'accepted' },
    ])
  })

  it('settle a refused transfer with the code of the service, and never try it again', async () => {
    const gateway = memoryGateway()
    gateway.script(() => ({
      outcome: 'rejected',
      code: 'invalid_account_number',
      detail: 'No such account.',
      httpStatus: 422,
    }))
    const engine = make({ gateway })
    await engine.start()
    const [transfer] = await enqueueMany(engine, 1)
    const settled = await reach(engine, transfer?.id ?? '', { stage: 'settled' })
    expect(settled).toMatchObject({ status: 'failed', failure: { type: 'rejected', code: 'invalid_account_number' } })
    expect(gateway.submissions).toHaveLength(1)
  })

  it('settle a refusal whose text the database cannot store as it is', async () => {
    const gateway = memoryGateway()
    gateway.script(() => ({ outcome: 'rejected', code: 'odd\0', detail: 'NUL \0 and half a pair \ud83d' }))
    const engine = make({ gateway })
    await engine.start()
    const [transfer] = await enqueueMany(engine, 1)
    const settled = await reach(engine, transfer?.id ?? '', { stage: 'settled' })
    expect(settled.failure).toMatchObject({ code: 'odd\ufffd', detail: 'NUL \ufffd and half a pair \ufffd' })
  })

  it('defer a transfer that lacks funds, and send its own key again when the host says that funds arrived', async () => {
    const gateway = memoryGateway()
    let funded = false
    gateway.script(() => (funded ? undefined : { outcome: 'insufficient_balance', detail: 'short' }))
    const engine = make({ gateway })
    const events: string[] = []
    engine.subscribe('log', ['transfer.awaiting_funds', 'transfer.released', 'transfer.completed'], async (event) => {
      events.push(event.type)
    })
    await engine.start()
    const [transfer] = await enqueueMany(engine, 1)
    await reach(engine, transfer?.id ?? '', { stage: 'awaiting_funds' })
    funded = true
    expect(await commit((tx) => engine.accounts.fundsArrived(tx, 'other'))).toBe(0)
    expect(await commit((tx) => engine.accounts.fundsArrived(tx, 'acme'))).toBe(1)
    await drain(engine)
    expect(events).toEqual(['transfer.awaiting_funds', 'transfer.released', 'transfer.completed'])
    expect(new Set(gateway.submissions.map((submission) => submission.idempotencyKey)).size).toBe(1)
  })

  it('block a key that the service has for another request until a person releases it', async () => {
    const gateway = memoryGateway()
    let retried = false
    gateway.script(() => (retried ? undefined : { outcome: 'key_mismatch', detail: 'another payload' }))
    const engine = make({ gateway })
    await engine.start()
    const [transfer] = await enqueueMany(engine, 1)
    const blocked = await reach(engine, transfer?.id ?? '', { stage: 'blocked' })
    expect(blocked).toMatchObject({ status: 'pending', reason: 'idempotency_key_mismatch' })
    retried = true
    expect(await commit((tx) => engine.transfers.release(tx, blocked.id))).toBe(true)
    await reach(engine, blocked.id, { stage: 'settled' })
    expect(await commit((tx) => engine.transfers.release(tx, blocked.id))).toBe(false)
  })

  it('follow a submitted transfer until its status is final', async () => {
    const gateway = memoryGateway({ status: 'pending' })
    const engine = make({ gateway })
    const events: string[] = []
    engine.subscribe('log', ['transfer.submitted', 'transfer.processing', 'transfer.completed'], async (event) => {
      events.push(event.type)
    })
    await engine.start()
    const [transfer] = await enqueueMany(engine, 1)
    const submitted = await reach(engine, transfer?.id ?? '', { stage: 'submitted' })
    gateway.setStatus(submitted.remoteId ?? '', 'processing')
    await reach(engine, submitted.id, { status: 'processing' })
    gateway.setStatus(submitted.remoteId ?? '', 'complete')
    const settled = await reach(engine, submitted.id, { stage: 'settled' })
    expect(settled.status).toBe('complete')
    await drain(engine)
    expect(events).toEqual(['transfer.submitted', 'transfer.processing', 'transfer.completed'])
  })

  it('apply an observation from the host, and never let a status go back', async () => {
    const gateway = memoryGateway({ status: 'processing' })
    const engine = make({ gateway, polling: { maxDelayMs: 3_600_000 } })
    await engine.start()
    const [transfer] = await enqueueMany(engine, 1)
    const { remoteId } = await reach(engine, transfer?.id ?? '', { stage: 'submitted' })
    const see = (status: 'pending' | 'processing' | 'complete', accountId = 'acme') =>
      commit((tx) => engine.transfers.observe(tx, accountId, [{ remoteId: remoteId ?? '', status, failure: null }]))
    expect(await see('complete', 'other')).toBe(0)
    expect(await see('complete')).toBe(1)
    expect(await see('processing')).toBe(0)
    expect(await see('complete')).toBe(0)
    expect(await engine.transfers.get(transfer?.id ?? '')).toMatchObject({ stage: 'settled', status: 'complete' })
  })

  it('leave the settlement of a worker without effect when another has claimed the transfer since', async () => {
    const gateway = memoryGateway()
    const answers: (() => void)[] = []
    gateway.scriptAfter((submission) => {
      if (submission.attempt > 1) return undefined
      return new Promise((resolve) => {
        answers.push(() => resolve({ outcome: 'rejected', code: 'stale', detail: 'The first worker was asleep.' }))
      })
    })
    const asleep = make({ gateway })
    await asleep.start()
    const [transfer] = await enqueueMany(asleep, 1)
    const id = transfer?.id ?? ''
    await waitUntil(() => answers.length === 1)
    // What the queue's supervisor does when heartbeats stop.
    await loseJobs(pool)
    const awake = make({ gateway })
    await awake.start()
    await reach(awake, id, { stage: 'settled' })
    for (const answer of answers) answer()
    await waitUntil(async () => (await attempts(id)).every((attempt) => attempt.outcome !== null))
    expect(await awake.transfers.get(id)).toMatchObject({ status: 'complete', failure: null, attempt: 2 })
    expect(await attempts(id)).toEqual([
      { attempt: 1, outcome: 'rejected' },
      { attempt: 2, outcome: 'accepted' },
    ])
    expect(gateway.transfers.size).toBe(1)
  })

  it('count a claim that was never settled as an unknown outcome', async () => {
    const gateway = memoryGateway()
    const engine = make({ gateway })
    const [transfer] = await enqueueMany(engine, 1)
    const id = transfer?.id ?? ''
    await pool.query(`select * from outlay.claim(array[$1], '{}', 'a worker that died', null)`, [id])
    const [claim] = (await pool.query(`select * from outlay.claim(array[$1], '{}', 'the next', null)`, [id])).rows
    expect(claim).toMatchObject({ attempt: 2 })
    expect(claim.unknown_since).toMatch(/^\d{4}-.*Z$/)
  })

  it('send the same key again, and go on, when the telemetry of an attempt throws after it', async () => {
    const gateway = memoryGateway()
    const span: Telemetry['span'] = async (name, _options, work) => {
      const done = await work({ traceparent: undefined, rename() {}, set() {}, fail() {}, measure() {} })
      if (name === 'outlay submit' && gateway.submissions.length === 1) throw new Error('The exporter is broken.')
      return done
    }
    const telemetry: Telemetry = {
      span,
      current: () => undefined,
      count() {},
      record() {},
      gauges: () => () => undefined,
    }
    const engine = make({ gateway, telemetry })
    await engine.start()
    const [transfer] = await enqueueMany(engine, 1)
    await waitUntil(() => gateway.submissions.length === 1)
    // What the queue's supervisor does when heartbeats stop.
    await loseJobs(pool)
    await reach(engine, transfer?.id ?? '', { stage: 'settled' })
    expect(new Set(gateway.submissions.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1)
    expect(gateway.transfers.size).toBe(1)
  })

  it('give a new job to a transfer that lost its own', async () => {
    const engine = make({ gateway: memoryGateway() })
    await enqueueMany(engine, 3)
    await removeJobs(pool)
    await pool.query(`update outlay.transfer set updated_at = now() - interval '1 minute'`)
    await engine.start()
    expect(await drain(engine)).toMatchObject({ settled: 3 })
  })

  it('finish what is in flight when the engine stops, and leave the rest in the queue', async () => {
    const gateway = memoryGateway()
    let release: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    gateway.scriptAfter(async () => {
      await gate
      return undefined
    })
    const engine = make({ gateway })
    await enqueueMany(engine, 20)
    await engine.start({ concurrency: 5 })
    await waitUntil(() => gateway.submissions.length === 5)
    const stopped = engine.stop()
    release()
    await stopped
    const backlog = await engine.backlog()
    expect(backlog).toMatchObject({ settled: 5, queued: 15, submitting: 0 })
  })

  it('refuse to start on a schema that was not migrated', async () => {
    const backend = postgres({ driver, schema: 'elsewhere' })
    const engine = open({ backend })
    await expect(engine.start()).rejects.toMatchObject({ code: 'not_migrated' })
  })
})
