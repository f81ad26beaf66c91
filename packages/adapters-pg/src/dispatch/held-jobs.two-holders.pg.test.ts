import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { fetchingUntil, heldRequests, hesitantGateway, poor } from '../../test/held-requests.ts'
import { testHost } from '../../test/host.ts'
import { loseJobs } from '../../test/queue.ts'

describe('a request of a worker whose job another one has got', async () => {
  const host = await testHost()
  const { pool, driver, open, stopAll, commit, enqueue, forgetRequests } = host
  const { hesitate, openQuick, reconcileAndRelease, refuseAndCancel } = heldRequests(host)

  it.each([1, 2])('does not leave after a cancel, when persons have released its transfer %i times', async (times) => {
    const { id, inner, outcome } = await hesitate()
    const quick = openQuick(inner)
    expect(await reconcileAndRelease(quick, id, times)).toMatchObject({ stage: 'blocked', reason: 'reconcile' })
    await refuseAndCancel(quick, id)
    expect(await outcome()).toEqual([1, []])
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
    await pool.query(`select * from outlay.fetch_and_claim(10, 'first', '', null)`)
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
      if (!/\.claim(_for_gateways)?\(/.test(statement.text)) return late.query(statement, values)
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
