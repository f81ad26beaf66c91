import type { Gateway } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { heldRequests, hesitantGateway, poor } from '../../test/held-requests.ts'
import { reach, testHost } from '../../test/host.ts'
import { loseJobs, removeJobs } from '../../test/queue.ts'

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

describe('a request that waits for its turn', async () => {
  const host = await testHost()
  const { pool, open, stopAll, commit, enqueue, forgetRequests } = host
  const { hesitate, refuseAndCancel } = heldRequests(host)

  it.each<[string, { lostAfterMs: number; claimedAfterMs: number; answerMs: number }]>([
    ['and its worker has not noticed', { lostAfterMs: 16_000, claimedAfterMs: 0, answerMs: 0 }],
    ['and the heartbeats of both are alike', { lostAfterMs: 0, claimedAfterMs: 16_000, answerMs: 4_000 }],
  ])('does not leave once its job was deleted and another worker has the new one, %s', async (_, times) => {
    const { id, inner, outcome } = await hesitate()
    await pause(times.lostAfterMs)
    await removeJobs(pool, id)
    await pause(times.claimedAfterMs)
    const submit = async () => {
      await pause(times.answerMs)
      return poor
    }
    const quick = open({ gateway: { ...inner, submit } })
    await refuseAndCancel(quick, id)
    expect(await outcome()).toEqual([1, []])
  })

  it('does not leave once its own worker has the job again, since the clock of Postgres went forward', async () => {
    const inner = memoryGateway()
    const { gateway, counts, go } = hesitantGateway(inner)
    const submit: Gateway['submit'] = async (submission, options) =>
      submission.attempt > 1 ? poor : gateway.submit(submission, options)
    const engine = open({ gateway: { ...gateway, submit } })
    await engine.start()
    const { id } = await enqueue(engine)
    await waitUntil(() => counts.waiting === 1)
    // What the supervision does then, since the last heartbeat seems to be hours old.
    await loseJobs(pool, id)
    await reach(engine, id, { stage: 'awaiting_funds' })
    await forgetRequests()
    await commit((tx) => engine.transfers.cancel(tx, id))
    await pause(4_000)
    go()
    await waitUntil(() => counts.asked > 0)
    await stopAll()
    expect(inner.submissions).toEqual([])
  })

  it('does not leave once its key may be forgotten', async () => {
    // The key may leave for 1,900 seconds; only after 2,000 does the sweep of unknown outcomes block what nobody has claimed.
    const keyLifetimeMs = 2_000_000
    const inner = memoryGateway()
    inner.script(() => ({ outcome: 'unknown', detail: 'no answer' }))
    const first = open({ gateway: { ...inner, keyLifetimeMs } })
    await first.start()
    const { id } = await enqueue(first)
    await reach(first, id, { reason: 'outcome_unknown' })
    await stopAll()
    const sent = inner.submissions.length
    await pool.query(`update outlay.transfer set unknown_since = now() - interval '1880 seconds' where id = $1`, [id])
    await loseJobs(pool, id)
    const { gateway, counts, go } = hesitantGateway(inner)
    const second = open({ gateway: { ...gateway, keyLifetimeMs } })
    await second.start()
    await waitUntil(() => counts.waiting === 1)
    await pause(20_000)
    go()
    await reach(second, id, { stage: 'blocked' })
    expect((await second.transfers.get(id))?.reason).toBe('key_expired')
    expect(inner.submissions).toHaveLength(sent)
  })
})
