import type { SubmitResult } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

describe('a payout whose id at the service was given to its twin', async () => {
  const { pool, open, commit } = await testHost()

  it('is not resolved as not paid', async () => {
    const service = memoryGateway({ status: 'processing' })
    let answer = () => {}
    const answered = new Promise<void>((resolve) => (answer = resolve))
    const slow = { id: '' }
    const engine = open({
      gateway: {
        ...service,
        async submit(submission, options): Promise<SubmitResult> {
          if (submission.transferId !== slow.id) return { outcome: 'unknown', detail: 'The answer was lost.' }
          const result = await service.submit(submission, options)
          await answered
          return result
        },
      },
    })
    const enqueue = (idempotencyKey: string) =>
      commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme', { idempotencyKey })))
    const { id: twin } = await enqueue('twin')
    await engine.start()
    await waitUntil(async () => (await engine.transfers.get(twin))?.reason === 'outcome_unknown')
    await pool.query(`update outlay.transfer set unknown_since = now() - interval '25 hours'`)
    await waitUntil(async () => (await engine.transfers.get(twin))?.stage === 'blocked')
    await commit(async (tx) => {
      slow.id = (await engine.transfers.enqueue(tx, samplePayout('acme', { idempotencyKey: 'paid' }))).id
    })
    await waitUntil(() => service.transfers.size === 1)
    await commit((tx) => engine.transfers.resolve(tx, twin, { remoteId: 'remote-1' }))
    answer()
    await waitUntil(async () => (await engine.transfers.get(slow.id))?.reason === 'remote_id_taken')
    // Eleven minutes later, as the command asks for.
    await pool.query(`update outlay.attempt set claimed_at = claimed_at - interval '11 minutes'`)
    await expect(commit((tx) => engine.transfers.resolve(tx, slow.id, { notPaid: true }))).rejects.toMatchObject({
      code: 'conflict',
    })
  })
})
