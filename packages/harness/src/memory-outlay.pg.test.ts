import { pgDriver } from '@outlay/adapters-pg'
import { createEngine } from '@outlay/core'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { startMemoryOutlay } from './memory-outlay.ts'

describe('a harness without a service', async () => {
  const database = await testDatabase()
  const pool = new pg.Pool({ connectionString: database.url })
  afterAll(() => pool.end())
  const ended: string[] = []
  const outlay = await startMemoryOutlay<pg.PoolClient>({
    driver: pgDriver(pool),
    createEngine: (options) => {
      const engine = createEngine(options)
      engine.subscribe('ended', ['transfer.completed', 'transfer.failed'], async ({ type, transferId }) => {
        ended.push(`${transferId} ${type}`)
      })
      return engine
    },
  })
  afterAll(() => outlay.stop())
  const enqueue = () => {
    const account = outlay.account()
    return outlay.transaction((tx) =>
      outlay.engine.transfers.enqueue(tx, {
        accountId: account.id,
        amount: { value: '10', currency: 'USDC' },
        source: account.source(),
        destination: outlay.payee().destination(),
      }),
    )
  }

  it('delivers, settles a transfer as the test asks, and notifies the host', async () => {
    const [good, bad] = [await enqueue(), await enqueue()]
    expect(await outlay.settle(good, 'complete')).toMatchObject({ stage: 'settled', status: 'complete' })
    expect(await outlay.settle(bad.id, { fail: 'closed' })).toMatchObject({ failure: { code: 'closed' } })
    await outlay.drain()
    expect(ended.toSorted()).toEqual([`${good.id} transfer.completed`, `${bad.id} transfer.failed`].toSorted())
  })

  it('answers by a script, with one effect per key', async () => {
    let first = true
    outlay.gateway.scriptAfter(() => {
      if (!first) return undefined
      first = false
      return { outcome: 'unknown', detail: 'The answer was lost.' }
    })
    const { id } = await enqueue()
    expect(await outlay.submitted(id)).toMatchObject({ attempt: 2 })
    const sent = outlay.gateway.submissions.filter((one) => one.transferId === id)
    expect([sent.length, new Set(sent.map((one) => one.idempotencyKey)).size]).toEqual([2, 1])
    expect([...outlay.gateway.transfers.values()].filter((one) => one.submission.transferId === id)).toHaveLength(1)
  })
})
