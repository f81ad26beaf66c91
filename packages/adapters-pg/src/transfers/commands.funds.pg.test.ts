import { drain, memoryGateway } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'

describe('the arrival of funds', async () => {
  const { open, commit, enqueue } = await testHost()

  it('reaches a transfer whose refusal is written while the arrival has not committed yet', async () => {
    const gateway = memoryGateway()
    const refusal = Promise.withResolvers<void>()
    gateway.script((submission) =>
      submission.attempt === 1 ? { outcome: 'insufficient_balance', detail: 'short' } : undefined,
    )
    const { submit } = gateway
    const slow = {
      ...gateway,
      submit: async (...args: Parameters<typeof submit>) => {
        const result = await submit(...args)
        if (args[0].attempt === 1) await refusal.promise
        return result
      },
    }
    // Without the arrival the transfer would go out again after ten minutes.
    const engine = open({ gateway: slow, fraction: 20, polling: { maxDelayMs: 50 } })
    await engine.start()
    const { id } = await enqueue(engine)
    await reach(engine, id, { stage: 'submitting' })

    const found = await commit(async (tx) => {
      const count = await engine.accounts.fundsArrived(tx, 'acme')
      refusal.resolve()
      await reach(engine, id, { stage: 'awaiting_funds' })
      return count
    })
    expect(found).toBe(0)
    await drain(engine, { awaitingFunds: true, timeoutMs: 60_000 })
    expect(await engine.transfers.get(id)).toMatchObject({ status: 'complete', attempt: 2 })
  })
})
