import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { listingGateway, restoredDatabase } from '../../test/restored-database.ts'
import { poor, slowWorker } from '../../test/slow-worker.ts'

describe('a reconciliation after an acceptance that came too late', async () => {
  const host = await testHost()
  const restored = restoredDatabase(host)
  const slow = slowWorker(() => host.pool)

  it('does not adopt the payout as one of others', async () => {
    const gateway = listingGateway()
    const { commit, rows } = restored
    const quick = restored.make({ ...gateway, submit: async () => poor })
    const { id } = await commit((tx) => quick.transfers.enqueue(tx, samplePayout('acme')))
    await slow.claim()
    const held = await slow.submission(id)
    await slow.lose()
    await quick.start()
    await waitUntil(async () => (await quick.transfers.get(id))?.stage === 'awaiting_funds')
    // It would claim the transfer again now and then, and nobody can cancel one that is claimed.
    await quick.stop()
    await host.forgetRequests()
    await commit((tx) => quick.transfers.cancel(tx, id))
    // Funds have come, and so does the first request, and then its answer.
    await gateway.submit(held, { signal: new AbortController().signal })
    expect(await slow.settle(id, 1, slow.accepted('remote-1'))).toBe('stale')
    await commit((tx) => quick.fence(tx))
    const reconciler = restored.make(gateway)
    await reconciler.reconcile({ since: new Date(Date.now() - 60_000) })
    expect(await rows('select id, idempotency_key from outlay.transfer where id <> $1', [id])).toEqual([])
  })

  it('gives the payout the id of that acceptance where a person says so, as long as the payout waits', async () => {
    const gateway = listingGateway()
    const { engine, ids } = await restored.sendAndRewind(gateway, [samplePayout('acme')])
    const [id = ''] = ids
    await restored.rows(
      `with t as (update outlay.transfer set attempt = 1 where id = $1)
       insert into outlay.attempt (transfer_id, attempt, worker, answered_at, outcome, remote_id, unmatched, unmatched_id)
       values ($1, 1, 'w', now(), 'accepted', 'remote-1', true, 'remote-1')`,
      [id],
    )
    await engine.reconcile({ since: new Date(Date.now() - 60_000), matches: { [id]: 'remote-1' } })
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'submitted', remoteId: 'remote-1' })
  })
})
