import type { Submission } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { poor, slowWorker } from '../../test/slow-worker.ts'

describe('an acceptance that came between a claim and its request', async () => {
  const { pool, open, commit } = await testHost()
  const slow = slowWorker(() => pool)

  it('keeps the key from leaving as another client', async () => {
    // Keys are unique within a client.
    const services = { one: memoryGateway({ idPrefix: 'one' }), two: memoryGateway({ idPrefix: 'two' }) }
    let client: 'one' | 'two' = 'one'
    let first: Submission | undefined
    let calls = 0
    const { get } = services.one
    const engine = open({
      gateway: {
        get,
        async identify() {
          if (first === undefined || client === 'one') return client
          // The vault takes a moment. Meanwhile the request that was held takes effect, and its answer is written.
          await services.one.submit(first, { signal: new AbortController().signal })
          await slow.settle(first.transferId, 1, slow.accepted('one-1'))
          return client
        },
        async submit(submission, options) {
          calls += 1
          return calls === 1 ? poor : services[client].submit(submission, options)
        },
      },
    })
    const { id } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await slow.claim()
    await pool.query(`select outlay.record_client($1, 1, 'one')`, [id])
    const held = await slow.submission(id)
    await slow.lose()
    await engine.start()
    await waitUntil(async () => (await engine.transfers.get(id))?.stage === 'awaiting_funds')
    first = held
    client = 'two'
    await commit((tx) => engine.accounts.fundsArrived(tx, 'acme'))
    await waitUntil(() => services.one.transfers.size === 1)
    await waitUntil(async () => (await engine.transfers.get(id))?.stage !== 'submitting')
    expect([services.one.transfers.size, services.two.transfers.size]).toEqual([1, 0])
  })
})
