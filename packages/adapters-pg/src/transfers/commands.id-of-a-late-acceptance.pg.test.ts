import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { listingGateway, restoredDatabase } from '../../test/restored-database.ts'
import { poor, slowWorker } from '../../test/slow-worker.ts'

describe('an id under which the service accepted another transfer after its end', async () => {
  const host = await testHost()
  const restored = restoredDatabase(host)
  const slow = slowWorker(() => host.pool)
  const { commit, rows } = restored

  /** A canceled payout that the service accepted as `remote-1`, and its twin, which was sent into the void and is blocked. */
  async function twins() {
    const gateway = listingGateway()
    const engine = restored.make({
      ...gateway,
      submit: async ({ transferId }) =>
        transferId === canceled.id ? poor : { outcome: 'unknown', detail: 'The answer was lost.' },
    })
    const enqueue = (idempotencyKey: string) =>
      commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme', { idempotencyKey })))
    const canceled = await enqueue('canceled')
    await slow.claim()
    const held = await slow.submission(canceled.id)
    await slow.lose()
    await engine.start()
    await waitUntil(async () => (await engine.transfers.get(canceled.id))?.stage === 'awaiting_funds')
    await host.forgetRequests()
    await commit((tx) => engine.transfers.cancel(tx, canceled.id))
    await gateway.submit(held, { signal: new AbortController().signal })
    expect(await slow.settle(canceled.id, 1, slow.accepted('remote-1'))).toBe('stale')
    const twin = await enqueue('twin')
    await waitUntil(async () => (await engine.transfers.get(twin.id))?.reason === 'outcome_unknown')
    await rows(`update outlay.transfer set unknown_since = now() - interval '25 hours' where id = $1`, [twin.id])
    await waitUntil(async () => (await engine.transfers.get(twin.id))?.stage === 'blocked')
    return { engine, gateway, canceled, twin }
  }

  it('is not given to its twin by a person', async () => {
    const { engine, twin } = await twins()
    await expect(commit((tx) => engine.transfers.resolve(tx, twin.id, { remoteId: 'remote-1' }))).rejects.toMatchObject(
      { code: 'conflict' },
    )
  })
})
