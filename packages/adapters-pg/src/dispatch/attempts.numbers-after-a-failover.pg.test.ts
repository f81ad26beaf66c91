import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { claimAndLose } from '../../test/lost-claims.ts'
import { samplePayout } from '../../test/outbox.ts'
import { slowWorker } from '../../test/slow-worker.ts'
import { inspect } from '../inspection/inspection.ts'

describe('after a fail-over that lost a claim, the answer to the lost attempt', async () => {
  const { pool, driver, open, commit } = await testHost()
  const slow = slowWorker(() => pool)
  const busy = { outcome: 'throttled', http_status: 429, stage: 'queued', reason: 'rate_limited', retry_ms: 60_000 }

  async function failOver() {
    const service = memoryGateway({ status: 'processing' })
    let answer = () => {}
    const answered = new Promise<void>((resolve) => (answer = resolve))
    const engine = open({
      gateway: {
        ...service,
        async submit(submission, options) {
          const result = await service.submit(submission, options)
          await answered
          return result
        },
      },
    })
    const { id } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await claimAndLose(pool, slow.claim)
    await engine.start()
    await waitUntil(() => service.transfers.size === 1)
    await slow.settle(id, 1, busy)
    return { service, engine, id, answer }
  }

  it('does not let the transfer be canceled and paid twice', async () => {
    const { service, engine, id, answer } = await failOver()
    const again = await commit(async (tx) => {
      await engine.transfers.cancel(tx, id)
      return engine.transfers.resubmit(tx, id)
    }).catch(() => undefined)
    answer()
    if (again !== undefined) await waitUntil(async () => (await engine.transfers.get(again.id))?.stage === 'submitted')
    expect(service.transfers.size).toBe(1)
  })

  it('does not count for the next attempt of the same worker', async () => {
    const service = memoryGateway({ status: 'processing' })
    const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let calls = 0
    const engine = open({
      gateway: {
        ...service,
        async submit(submission, options) {
          const call = calls
          calls += 1
          await answers[call]?.promise
          if (call === 0) return { outcome: 'throttled', detail: 'come again', httpStatus: 429, retryAfterMs: 60_000 }
          return service.submit(submission, options)
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
    // The first answer has been written by then: outcomes are written in the order in which they come.
    const { id: next } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('brick')))
    await waitUntil(async () => (await engine.transfers.get(next))?.stage === 'submitted')
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'submitting', attempt: 1 })
    answers[1]?.resolve()
    await waitUntil(async () => (await engine.transfers.get(id))?.stage === 'submitted')
    expect(service.transfers.size).toBe(2)
  })

  it('does not hide the acceptance of the attempt that was made', async () => {
    const { engine, id, answer } = await failOver()
    await commit((tx) => engine.transfers.cancel(tx, id)).catch(() => undefined)
    answer()
    await engine.stop()
    const { status } = (await engine.transfers.get(id)) ?? {}
    const { transfers } = await inspect({ driver }).health()
    expect({ status, acceptedLate: transfers.acceptedLate.count }).not.toEqual({ status: 'canceled', acceptedLate: 0 })
  })
})
