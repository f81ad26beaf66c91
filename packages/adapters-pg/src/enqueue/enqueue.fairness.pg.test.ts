import { drain, memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

describe('the order of dispatch', async () => {
  const { open, commit, enqueue, enqueueMany } = await testHost()
  const host = () => {
    const gateway = memoryGateway()
    return { gateway, engine: open({ gateway }) }
  }
  const payouts = (accountId: string, count: number) => Array.from({ length: count }, () => samplePayout(accountId))

  it('lets ten payouts of each of ten accounts pass a flood of another', async () => {
    const flooding = host()
    const late = host()
    await enqueueMany(flooding.engine, 3_000, 'flood')
    for (let account = 0; account < 10; account += 1) {
      await commit(async (tx) => {
        for (const request of payouts(`small-${account}`, 10)) await late.engine.transfers.enqueue(tx, request)
      })
    }
    const { engine, gateway } = host()
    await engine.start({ concurrency: 10 })
    await drain(engine)
    await engine.stop()
    const order = gateway.submissions.map((submission) => submission.accountId)
    expect(order).toHaveLength(3_100)
    const lastSmall = order.findLastIndex((accountId) => accountId !== 'flood')
    expect(lastSmall).toBeLessThan(150)
    // The flood is not starved either: it has its own share from the start.
    expect(order.slice(0, lastSmall).filter((accountId) => accountId === 'flood').length).toBeGreaterThan(5)
  })

  it('lets ten payouts of each of ten accounts pass a hundred thousand of another, which goes on all along', async () => {
    const flooding = host()
    for (let batch = 0; batch < 10; batch += 1) {
      await enqueueMany(flooding.engine, 10_000, 'flood')
    }
    const late = host()
    const accounts = [...'bcdefghijk'].map((name) => `small-${name}`)
    for (const accountId of accounts) {
      await enqueueMany(late.engine, 10, accountId)
    }
    const { engine, gateway } = host()
    await engine.start({ concurrency: 20 })
    const flooded = () => gateway.submissions.filter(({ accountId }) => accountId === 'flood').length
    const smalls = () => gateway.submissions.length - flooded()
    await waitUntil(() => smalls() === 100, { timeoutMs: 120_000 })
    const soFar = flooded()
    await waitUntil(() => flooded() >= soFar + 200, { timeoutMs: 120_000 })
    await engine.stop()
    const order = gateway.submissions.map(({ accountId }) => accountId)
    const lastSmall = order.findLastIndex((accountId) => accountId !== 'flood')
    const before = order.slice(0, lastSmall).filter((accountId) => accountId === 'flood').length
    expect(before).toBeLessThan(2_000)
    expect(before).toBeGreaterThan(5)
    expect(new Set(order)).toEqual(new Set([...accounts, 'flood']))
  }, 240_000)

  it('gives an account of weight two two thirds beside one of weight one', async () => {
    const { engine, gateway } = host()
    await commit((tx) => engine.accounts.configure(tx, 'heavy', { weight: 2 }))
    await enqueueMany(engine, 150, 'light')
    await enqueueMany(engine, 200, 'heavy')
    for (let count = 0; count < 100; count += 1) {
      await enqueue(engine, { accountId: 'heavy' })
    }
    await engine.start({ concurrency: 5 })
    await drain(engine)
    await engine.stop()
    const order = gateway.submissions.map(({ accountId }) => accountId)
    expect(order).toHaveLength(450)
    // Half of them would be 40 fewer at least.
    for (const length of [240, 300]) {
      const heavy = order.slice(0, length).filter((accountId) => accountId === 'heavy').length
      expect(Math.abs(heavy - (length * 2) / 3)).toBeLessThan(30)
    }
  })
})
