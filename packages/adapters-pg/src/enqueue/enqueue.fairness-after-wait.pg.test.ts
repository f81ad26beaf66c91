import type { SubmitResult } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

describe('the order of dispatch, when the wait of a whole account ends', async () => {
  const { pool, open, commit, enqueue, enqueueMany } = await testHost()

  it.each(['a pause', 'refused credentials', 'a lack of funds', 'its time'] as const)(
    'lets one payout of another account pass those that waited for %s',
    async (wait) => {
      const inner = memoryGateway()
      let answer: SubmitResult | undefined
      let sent: string[] = []
      inner.script(({ accountId }) => {
        if (accountId === 'big' && answer !== undefined) return answer
        sent.push(accountId)
        return undefined
      })
      const gateway: typeof inner = {
        ...inner,
        submit: async (...args) => {
          if (answer === undefined) await new Promise((resolve) => setTimeout(resolve, 50))
          return inner.submit(...args)
        },
      }
      const engine = open({ gateway })
      if (wait === 'refused credentials') answer = { outcome: 'unauthorized', detail: 'HTTP 401', httpStatus: 401 }
      if (wait === 'a lack of funds') answer = { outcome: 'insufficient_balance', detail: 'short' }
      if (wait === 'a pause') await commit((tx) => engine.accounts.pause(tx, 'big'))
      const notBefore = wait === 'its time' ? new Date(Date.now() + 6_000) : undefined
      const payouts = Array.from({ length: 2_000 }, () => samplePayout('big', { notBefore }))
      await commit((tx) => engine.transfers.enqueueMany(tx, payouts))
      await engine.start({ concurrency: 20 })
      const waiting = `select count(*)::integer as count from outlay.transfer
        where reason in ('account_paused', 'unauthenticated', 'insufficient_balance')`
      if (wait !== 'its time') await waitUntil(async () => (await pool.query(waiting)).rows[0].count === 2_000)
      answer = undefined
      sent = []
      if (wait === 'a pause') await commit((tx) => engine.accounts.resume(tx, 'big'))
      if (wait === 'refused credentials') await commit((tx) => engine.accounts.retryCredentials(tx, 'big'))
      if (wait === 'a lack of funds') await commit((tx) => engine.accounts.fundsArrived(tx, 'big'))
      await waitUntil(() => sent.length >= 40)
      await enqueue(engine, { accountId: 'well' })
      const before = sent.length
      await waitUntil(() => sent.includes('well'))
      // Twenty are under way, and at most half of what is fetched next belongs to the others.
      expect(sent.indexOf('well') - before).toBeLessThan(400)
    },
  )

  it('lets the second attempt of another account pass them too', async () => {
    const gateway = memoryGateway()
    const sent: string[] = []
    gateway.script(async ({ accountId }) => {
      sent.push(accountId)
      await new Promise((resolve) => setTimeout(resolve, 50))
      const isFirst = accountId === 'well' && sent.indexOf('well') === sent.lastIndexOf('well')
      return isFirst ? { outcome: 'unknown', detail: 'HTTP 500', httpStatus: 500 } : undefined
    })
    const engine = open({ gateway })
    await enqueueMany(engine, 3_000, 'big')
    await engine.start({ concurrency: 20 })
    await waitUntil(() => sent.length >= 40)
    await enqueue(engine, { accountId: 'well' })
    await waitUntil(() => sent.indexOf('well') !== sent.lastIndexOf('well'))
    // The pause before a second attempt is some seconds, in which four hundred are sent each.
    expect(sent.length).toBeLessThan(2_500)
  })
})
