import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { claimAndLose } from '../../test/lost-claims.ts'
import { samplePayout } from '../../test/outbox.ts'
import { slowWorker } from '../../test/slow-worker.ts'

describe('after a fail-over that lost a claim, its unknown outcome', async () => {
  const { pool, open, commit, rows } = await testHost()
  const slow = slowWorker(() => pool)

  it('keeps a refusal that is no proof from ending the transfer as failed', async () => {
    const service = memoryGateway({ status: 'processing' })
    const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let calls = 0
    const engine = open({
      gateway: {
        ...service,
        async submit(submission, options) {
          const call = calls
          calls += 1
          if (call > 1) return service.submit(submission, options)
          // It pays, and the answer is lost on the way back.
          if (call === 0) await service.submit(submission, options)
          await answers[call]?.promise
          if (call === 0) return { outcome: 'unknown', detail: 'The connection was reset.' }
          // Decided before the key was checked.
          return { outcome: 'rejected', code: 'invalid_request', detail: 'The service was changed.', httpStatus: 422 }
        },
      },
    })
    const { id } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await claimAndLose(pool, async () => {
      await engine.start()
      await waitUntil(() => calls === 1)
    })
    await waitUntil(() => calls === 2)
    answers[0]?.resolve()
    // The first outcome has been written by then: outcomes are written in the order in which they come.
    const { id: next } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('brick')))
    await reach(engine, next, { stage: 'submitted' })
    answers[1]?.resolve()
    await waitUntil(async () => ['submitted', 'settled'].includes((await engine.transfers.get(id))?.stage ?? ''))
    const { status, failure } = (await engine.transfers.get(id)) ?? {}
    expect({ status, failure }).toEqual({ status: 'processing', failure: null })
    expect([...service.transfers.values()].filter(({ submission }) => submission.accountId === 'acme')).toHaveLength(1)
  })

  it('is in the log once, with the time of the claim, and keeps the transfer from being canceled', async () => {
    const engine = open()
    const { id } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await claimAndLose(pool, slow.claim)
    const since = new Date(Date.now() - 1_000).toISOString()
    const lost = {
      outcome: 'unknown',
      stage: 'queued',
      reason: 'outcome_unknown',
      unknown_since: since,
      retry_ms: 1_000,
    }
    const settle = () => slow.settle(id, 1, { ...lost, claimed_at: since, detail: 'reset' })
    await settle()
    await settle()
    const log = await rows('select attempt, claimed_at, outcome, detail from outlay.attempt')
    expect(log).toEqual([
      { attempt: 1, claimed_at: new Date(since), outcome: 'unknown', detail: 'reset; the answer to a lost claim' },
    ])
    const row = await rows('select stage, attempt, unknown_since from outlay.transfer')
    expect(row).toEqual([{ stage: 'queued', attempt: 1, unknown_since: new Date(since) }])
    await expect(commit((tx) => engine.transfers.cancel(tx, id))).rejects.toMatchObject({
      code: 'transfer_not_cancelable',
    })
  })

  it('does not count where the service has the transfer, or where it has ended', async () => {
    const engine = open()
    const unknown = { outcome: 'unknown', stage: 'queued', unknown_since: new Date().toISOString(), retry_ms: 1_000 }
    const { id: had } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await slow.claim()
    expect(await slow.settle(had, 1, slow.accepted('remote-1'))).toBe('settled')
    const { id: ended } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await commit((tx) => engine.transfers.cancel(tx, ended))
    for (const id of [had, ended]) {
      expect(await slow.settle(id, 7, { ...unknown, worker: 'lost' })).toBe('stale')
    }
    expect(await rows('select id, stage, attempt, unknown_since from outlay.transfer order by id')).toEqual([
      { id: had, stage: 'submitted', attempt: 1, unknown_since: null },
      { id: ended, stage: 'settled', attempt: 0, unknown_since: null },
    ])
  })
})
