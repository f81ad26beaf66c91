import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { listedGateway } from '../../test/listed-gateway.ts'
import { samplePayout } from '../../test/outbox.ts'
import { poor, slowWorker } from '../../test/slow-worker.ts'

describe('a payout that awaits funds while an earlier request is open', async () => {
  const { pool, open, commit } = await testHost()
  const slow = slowWorker(() => pool)

  it('is not adopted as a transfer of others', async () => {
    const service = listedGateway()
    let hasFunds = false
    service.answer = (_, moment) => (moment === 'before' && !hasFunds ? Promise.resolve(poor) : undefined)
    const engine = open({ gateway: service, polling: { maxDelayMs: 50 } })
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    const { id } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await slow.claim()
    const held = await slow.submission(id)
    await slow.lose()
    await engine.start()
    await waitUntil(async () => (await engine.transfers.get(id))?.stage === 'awaiting_funds')
    hasFunds = true
    await service.submit(held, { signal: new AbortController().signal })
    const lists = service.requests.list
    await waitUntil(() => service.requests.list >= lists + 2, { timeoutMs: 60_000 })
    await waitUntil(async () => (await pool.query('select 1 from outlay.found_transfer')).rowCount === 0, {
      timeoutMs: 5_000,
    }).catch(() => 0)
    expect.soft((await pool.query('select idempotency_key from outlay.transfer where id <> $1', [id])).rows).toEqual([])
    // The slow worker's answer, and the next attempt.
    await slow.settle(id, 1, slow.accepted('remote-1'))
    await commit((tx) => engine.accounts.fundsArrived(tx, 'acme'))
    await waitUntil(async () =>
      ['submitted', 'settled', 'blocked'].includes((await engine.transfers.get(id))?.stage ?? ''),
    )
    expect(await engine.transfers.get(id)).toMatchObject({ remoteId: 'remote-1' })
  })
})
