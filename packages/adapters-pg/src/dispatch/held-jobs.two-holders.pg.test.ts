import type { Observation } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { fetchingUntil, hesitantGateway, poor } from '../../test/held-requests.ts'
import { reach, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { loseJobs } from '../../test/queue.ts'

describe('a request of a worker whose job another one has got', async () => {
  const { pool, driver, open, stopAll, commit, enqueue, forgetRequests } = await testHost()

  it.each([1, 2])('does not leave after a cancel, when persons have released its transfer %i times', async (times) => {
    const inner = memoryGateway()
    const { gateway, counts, go } = hesitantGateway(inner)
    const slow = open({ gateway, driver: fetchingUntil(driver, () => counts.waiting > 0) })
    await slow.start()
    const { id } = await enqueue(slow)
    await waitUntil(() => counts.waiting === 1)
    const at = new Date().toISOString()
    const alike = { remoteId: 'alike', status: 'processing', failure: null } as const
    const { amount, source, destination, note = null } = samplePayout('acme')
    const transfer = { ...alike, id: 'alike', amount, source, destination, note, createdAt: at, updatedAt: at }
    const list = async () => ({ observations: [{ ...alike, transfer }] as Observation[] })
    const quick = open({ gateway: { ...inner, list, submit: async () => poor } })
    await pool.query('update outlay.transfer set expires_at = now()')
    await commit((tx) => quick.fence(tx))
    await quick.reconcile({ since: new Date(Date.now() - 60_000), acknowledge: true })
    expect(await quick.transfers.get(id)).toMatchObject({ stage: 'blocked', reason: 'reconcile' })
    await pool.query('update outlay.transfer set expires_at = null')
    for (let time = 0; time < times; time += 1) await commit((tx) => quick.transfers.release(tx, id))
    await quick.start()
    await reach(quick, id, { stage: 'awaiting_funds' }, 90_000)
    await forgetRequests()
    await commit((tx) => quick.transfers.cancel(tx, id))
    go()
    await waitUntil(() => counts.asked > 0)
    await stopAll()
    expect([counts.waiting, inner.submissions]).toEqual([1, []])
  })

  it('is not made, when the job went back to the queue between its fetch and its claim', async () => {
    const inner = memoryGateway()
    const { gateway, counts, go } = hesitantGateway(inner)
    let claims = 0
    // Its only attempt is that of a worker whose answer comes when its job was lost.
    const first = open({ gateway: inner })
    const { id } = await enqueue(first)
    await commit((tx) => first.accounts.configure(tx, 'acme', { concurrency: 5 }))
    const job = (await pool.query('select outlay.job_id($1) as job', [id])).rows[0].job
    await pool.query(`select * from outlay.fetch_and_claim(10, 'first', '')`)
    await pool.query(`select * from outlay.claim(array[$1], array[$2::uuid], 'first', '')`, [id, job])
    await loseJobs(pool)
    const answer = {
      id,
      job,
      attempt: 1,
      status: 'pending',
      events: [],
      stage: 'awaiting_funds',
      reason: 'insufficient_balance',
      outcome: 'insufficient_balance',
      retry_ms: 0,
    }
    const late = fetchingUntil(driver, () => claims > 0)
    const query: typeof driver.query = async (statement, values) => {
      if (!/\.claim(_fetched)?\(/.test(statement.text)) return late.query(statement, values)
      await pool.query('select * from outlay.settle($1, 2)', [JSON.stringify([answer])])
      const rows = await driver.query(statement, values)
      claims += 1
      return rows
    }
    const slow = open({ gateway, driver: { ...late, query } })
    await slow.start()
    await waitUntil(() => claims > 0)
    const quick = open({ gateway: { ...inner, submit: async () => poor } })
    await quick.start()
    await waitUntil(async () => {
      const { rows } = await pool.query('select attempt, stage from outlay.transfer')
      return rows[0].attempt > 1 && rows[0].stage === 'awaiting_funds'
    })
    await forgetRequests()
    await commit((tx) => quick.transfers.cancel(tx, id))
    go()
    await waitUntil(() => counts.asked === counts.waiting)
    await stopAll()
    expect(inner.submissions).toEqual([])
  })
})
