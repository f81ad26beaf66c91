import type { SumLimit } from '@outlay/core'
import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type Answer, consoleHost, type Json } from '../../test/host.ts'

const reason = 'measured'

describe('the sums of limits', async () => {
  const { engine, again, commit, enqueue, call } = await consoleHost()
  const tenant = { actor: 'tenant', roles: [], permissions: { read: ['acme'] } }
  const most = { USD: '2000000' }
  const limits: readonly SumLimit[] = [
    { name: 'all', most, span: 'day', zone: 'UTC' },
    { name: 'each', most, span: 'day', zone: 'UTC', per: ['account'] },
  ]
  const textOf = (answers: readonly Answer<Json>[]) => answers.map(({ text }) => text).join('\n')

  it('are those of all accounts only for who may read them all', async () => {
    await commit((tx) => engine.limits.set(tx, limits, { actor: 'o', reason }))
    const others = { accountId: 'bolt', amount: { value: '1234567.89', currency: 'USD' } }
    const paid = await enqueue(others)
    const worker = again()
    await worker.start()
    await waitUntil(async () => ((await engine.transfers.get(paid.id))?.stage === 'settled' ? true : undefined))
    const { id } = await enqueue({ amount: { value: '1000000', currency: 'USD' } })
    await waitUntil(async () => ((await engine.transfers.get(id))?.reason === 'limit' ? true : undefined))
    const read = async (as?: typeof tenant) => [
      await call(`GET /transfers/${id}`, { as }),
      await call(`GET /audit?transferId=${id}`, { as }),
    ]
    const check = async () => {
      const seen = await read(tenant)
      expect(seen.map(({ status }) => status)).toEqual([200, 200])
      expect(textOf(seen)).not.toContain('1234567.89')
      expect(textOf(seen)).not.toContain('2000000')
      expect(textOf(await read())).toContain('1234567.89')
    }
    await check()
    await commit((tx) => engine.transfers.release(tx, id, { actor: 'o', reason, hold: 'limit', policy: 'all' }))
    await check()
  })
})
