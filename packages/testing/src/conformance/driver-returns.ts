import { type Backend, createEngine, type EnqueueRequest, type TransferEvent } from '@outlay/core'
import { expect, it } from 'vitest'
import { drain, waitUntil } from '../harness.ts'
import { memoryGateway } from '../memory-gateway.ts'

/** What comes back of a transfer reaches a handler as it was reported, once. */
export function describeReturns<Tx>(
  {
    backend,
    transaction,
  }: {
    readonly backend: Backend<Tx>
    transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  },
  payout: (accountId: string) => EnqueueRequest,
  clear: () => Promise<void>,
): void {
  it('delivers what came back of a complete transfer, once', async () => {
    await clear()
    const engine = createEngine({ backend, gateway: memoryGateway({ idPrefix: 'returned' }) })
    const received: TransferEvent[] = []
    engine.subscribe('returns', ['transfer.returned'], async (event) => {
      received.push(event)
    })
    try {
      await engine.start()
      const { id } = await transaction((tx) => engine.transfers.enqueue(tx, payout('returns')))
      await drain(engine)
      const remoteId = (await engine.transfers.get(id))?.remoteId ?? ''
      const amount = { value: '12.50', currency: 'USD' }
      const returns = [{ code: 'R10', amount, occurredAt: '2026-01-09T09:00:00.000Z' }]
      const observe = (tx: Tx) =>
        engine.transfers.observe(tx, 'returns', [{ remoteId, status: 'complete', failure: null, returns }])
      expect([await transaction(observe), await transaction(observe)]).toEqual([1, 0])
      await waitUntil(() => received.length === 1)
      expect(received[0]).toMatchObject({ transferId: id, returned: { code: 'R10', amount } })
      expect(Date.parse(received[0]?.returned?.occurredAt ?? '')).toBe(Date.parse('2026-01-09T09:00:00Z'))
      expect(received[0]?.transfer).toMatchObject({ stage: 'settled', status: 'complete' })
    } finally {
      await engine.stop()
    }
  })
}
