import { Id, type StoredRequest } from '@outlay/core'
import type { NewTransfer } from '@outlay/core/adapter'
import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'

describe('delays', async () => {
  const { pool, driver, commit } = await testHost()
  const backend = postgres({ driver })

  it('are nothing while nothing waits, and those of the oldest that is due', async () => {
    expect([await backend.unsubmittedMs(), await backend.subscriptionDelays()]).toEqual([0, []])
    await pool.query(`insert into outlay.subscription (name, types) values ('books', '{transfer.enqueued}')`)
    const { accountId, ...request } = samplePayout('acme') as StoredRequest & { readonly accountId: string }
    const base = { accountId, gateway: 'default', fingerprint: 'f', request, expiresAt: null }
    const id = () => Id.generate(backend.runtime.clock, backend.runtime.random)
    const write = (transfer: Pick<NewTransfer, 'idempotencyKey' | 'notBefore'>) =>
      commit((tx) => backend.enqueue(tx, [{ ...base, ...transfer, id: id() }], undefined, null, undefined))
    await write({ idempotencyKey: 'later', notBefore: '2999-01-01T00:00:00Z' })
    expect(await backend.unsubmittedMs()).toBe(0)
    await write({ idempotencyKey: 'now', notBefore: null })
    await pool.query(`update outlay.transfer set created_at = created_at - interval '1 hour'`)
    await pool.query(`update outlay.event set occurred_at = occurred_at - interval '2 hours'`)
    const subscriptions = await backend.subscriptionDelays()
    expect(await backend.unsubmittedMs()).toBeGreaterThanOrEqual(3_600_000)
    expect(subscriptions).toMatchObject([{ name: 'books', undelivered: 2, deadLetters: 0 }])
    expect(subscriptions[0]?.lagMs).toBeGreaterThanOrEqual(7_200_000)
  })
})
