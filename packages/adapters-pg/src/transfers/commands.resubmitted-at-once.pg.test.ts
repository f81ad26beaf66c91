import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { poor, slowWorker } from '../../test/slow-worker.ts'

describe('a payout that was canceled while an earlier request was open', async () => {
  const { pool, open, commit } = await testHost()
  const slow = slowWorker(() => pool)

  it('is not resubmitted at once', async () => {
    const service = memoryGateway({ status: 'processing' })
    let hasFunds = false
    const gateway = {
      ...service,
      submit: async (...sent: Parameters<typeof service.submit>) => (hasFunds ? service.submit(...sent) : poor),
    }
    const engine = open({ gateway })
    const { id } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await slow.claim()
    const held = await slow.submission(id)
    await slow.lose()
    await engine.start()
    await waitUntil(async () => (await engine.transfers.get(id))?.stage === 'awaiting_funds')
    const again = await commit(async (tx) => {
      await engine.transfers.cancel(tx, id)
      return engine.transfers.resubmit(tx, id)
    }).catch(() => undefined)
    hasFunds = true
    await service.submit(held, { signal: new AbortController().signal })
    if (again !== undefined) {
      await commit((tx) => engine.accounts.fundsArrived(tx, 'acme'))
      await waitUntil(async () =>
        ['submitted', 'settled'].includes((await engine.transfers.get(again.id))?.stage ?? ''),
      )
    }
    expect(service.transfers.size).toBe(1)
  })
})
