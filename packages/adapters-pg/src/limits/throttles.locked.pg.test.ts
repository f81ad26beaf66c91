import { memoryGateway, waitUntil } from '@outlay/testing'
import { expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'

const { pool, open, commit, enqueueMany } = await testHost({ max: 40 })

it('a worker that stands still while it writes the throttle of an account holds up no other account', async () => {
  const memory = memoryGateway()
  memory.script(({ accountId, attempt }) =>
    accountId !== 'limited' && attempt === 1
      ? { outcome: 'throttled', detail: 'HTTP 429', httpStatus: 429, retryAfterMs: 100 }
      : undefined,
  )
  const engine = open({ gateway: memory })
  const sentOf = (accountId: string) =>
    [...memory.transfers.values()].filter(({ submission }) => submission.accountId === accountId).length
  await commit((tx) => engine.accounts.configure(tx, 'limited', { concurrency: 2 }))
  await pool.query(
    `insert into outlay.account_throttle (account_id, rate, throttled_until, changed_at) values ('a-held', 1, now(), now())`,
  )
  const still = await pool.connect()
  try {
    await still.query('begin')
    await still.query(`update outlay.account_throttle set rate = 0.5 where account_id = 'a-held'`)
    await enqueueMany(engine, 20, 'a-held')
    await enqueueMany(engine, 6, 'limited')
    await enqueueMany(engine, 3, 'refused')
    await engine.start({ concurrency: 8 })
    await waitUntil(() => sentOf('limited') === 6 && sentOf('refused') === 3, { timeoutMs: 30_000 })
    expect(sentOf('a-held')).toBe(0)
    await still.query('rollback')
  } finally {
    still.release(true)
  }
  await waitUntil(() => sentOf('a-held') > 0)
})
