import type { SubmitResult } from '@outlay/core'
import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { listingGateway, restoredDatabase } from '../../test/restored-database.ts'

describe('an acceptance that comes after a reconciliation took its number', async () => {
  const host = await testHost()
  const restored = restoredDatabase(host)
  const { commit, rows } = restored

  it('keeps a person from saying that nothing was paid', async () => {
    const gateway = listingGateway()
    let answer = () => {}
    const answered = new Promise<void>((resolve) => {
      answer = resolve
    })
    const engine = restored.make({
      ...gateway,
      async submit(...sent): Promise<SubmitResult> {
        const result = await gateway.submit(...sent)
        await answered
        return result
      },
    })
    await engine.start()
    const { id } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await waitUntil(() => gateway.transfers.size === 1)
    // The snapshot is from before the claim, and the time to send it is over.
    await commit((tx) => engine.fence(tx))
    await rows(
      `update outlay.transfer set attempt = 0, stage = 'queued', submission_key = null, client = null, expires_at = now() where id = $1`,
      [id],
    )
    await rows('delete from outlay.attempt where transfer_id = $1', [id])
    await engine.reconcile({ since: new Date(Date.now() - 60_000) })
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'blocked', reason: 'reconcile', attempt: 1 })
    answer()
    await engine.stop()
    await rows(`update outlay.attempt set claimed_at = claimed_at - interval '11 minutes'`)
    await expect(commit((tx) => engine.transfers.resolve(tx, id, { notPaid: true }))).rejects.toMatchObject({
      code: 'conflict',
    })
  })
})
