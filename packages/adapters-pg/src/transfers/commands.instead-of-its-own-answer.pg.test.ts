import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { listedGateway } from '../../test/listed-gateway.ts'
import { samplePayout } from '../../test/outbox.ts'

describe('an id that the service itself gave a payout', async () => {
  const { pool, open, commit } = await testHost()

  it('is not given to its twin', async () => {
    const service = listedGateway()
    let isLost = false
    service.answer = (_, moment) =>
      moment === 'after' && isLost ? Promise.resolve({ outcome: 'unknown', detail: 'The answer was lost.' }) : undefined
    const engine = open({ gateway: service, polling: { maxDelayMs: 50 } })
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    await engine.start()
    const enqueue = (idempotencyKey: string) =>
      commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme', { idempotencyKey })))
    const { id: first } = await enqueue('first')
    await waitUntil(async () => (await engine.transfers.get(first))?.stage === 'submitted')
    service.setStatus('remote-1', 'processing')
    service.setStatus('remote-1', 'complete')
    await waitUntil(async () => (await engine.transfers.get(first))?.stage === 'settled')
    isLost = true
    const { id: twin } = await enqueue('twin')
    await waitUntil(async () => (await engine.transfers.get(twin))?.reason === 'outcome_unknown')
    await pool.query(`update outlay.transfer set unknown_since = now() - interval '25 hours' where id = $1`, [twin])
    await waitUntil(async () => (await engine.transfers.get(twin))?.stage === 'blocked')
    await expect
      .soft(commit((tx) => engine.transfers.resolve(tx, twin, { remoteId: 'remote-1', insteadOf: first })))
      .rejects.toMatchObject({ code: 'conflict' })
    await pool.query('update outlay.watched_account set next_poll_at = now()')
    const adopted = async () =>
      (await pool.query(`select remote_id from outlay.transfer where idempotency_key like 'adopted %'`)).rows
    await waitUntil(async () => (await adopted()).length > 0, { timeoutMs: 8_000 }).catch(() => 0)
    expect.soft(await adopted()).toEqual([])
    expect(await engine.transfers.get(first)).toMatchObject({
      stage: 'settled',
      status: 'complete',
      remoteId: 'remote-1',
    })
  })
})
