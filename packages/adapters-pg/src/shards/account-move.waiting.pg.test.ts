import { drain, memoryGateway, waitUntil } from '@outlay/testing'
import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { moveHost, payAt } from '../../test/move-host.ts'
import { samplePayout } from '../../test/outbox.ts'
import type { HostShards } from '../../test/shard-host.ts'

describe('what waits for something while its account moves', async () => {
  const host = await moveHost()
  const { east, west } = host
  const rows = async (on: pg.Pool, text: string, ...values: unknown[]) => (await on.query(text, values)).rows

  /** Moves an account until the new node has a row of that table, as movers do that end after each step. */
  const moveUntil = async (shards: HostShards, account: string, table: string) => {
    const onProgress = ({ step }: { readonly step: string }) => {
      if (step === 'unpacking') throw new Error('The mover ends here.')
    }
    const found = async () => (await rows(west, `select from outlay.${table}`)).length > 0
    while (!(await found()))
      await expect(shards.accounts.move(account, { to: 'west', onProgress })).rejects.toThrow('ends here')
    expect(await host.live(account)).toEqual({ east: [], west: [] })
  }
  /** Lets workers run until so many transfers of an account wait for a reason, and stops them. */
  const workUntil = async (shards: HostShards, account: string, reason: string, count: number) => {
    await shards.start()
    const text = 'select from outlay.transfer where account_id = $1 and reason = $2'
    await waitUntil(async () => (await rows(east, text, account, reason)).length === count)
    await shards.stop()
  }

  it('is sent when its account gets permits again, though a worker saw the account before its transfers', async () => {
    const gateway = memoryGateway({ idPrefix: 'limited' })
    const { shards, account } = await host.openAt({ engine: { gateway } })
    await shards.transaction(account, (tx) => shards.accounts.configure(tx, account, { ratePerSecond: 0.01 }))
    for (const key of ['first', 'second', 'third']) await payAt(shards, account, key)
    await workUntil(shards, account, 'account_limited', 2)
    await moveUntil(shards, account, 'account_throttle')
    // There are permits again by now.
    await west.query(`update outlay.account_throttle set next_at = clock_timestamp() - interval '1 hour'`)
    await west.query(`select * from outlay.release_waiting(10, 10, '')`)
    expect(await rows(west, 'select waiting from outlay.account_throttle')).toEqual([{ waiting: false }])
    await shards.accounts.move(account, { to: 'west' })
    expect(await rows(west, 'select from outlay.outbox where ready')).toHaveLength(2)
    const next = host.make({ engine: { gateway }, route: host.route })
    // One is sent, the other one waits again, and the worker knows.
    await next.start()
    await waitUntil(async () => (await rows(west, 'select from outlay.account_throttle where waiting')).length === 1)
    expect(gateway.submissions.length).toBeLessThan(3)
    await next.transaction(account, (tx) => next.accounts.configure(tx, account, { ratePerSecond: null }))
    await drain({ backlog: () => next.backlog() })
    expect([gateway.submissions.length, gateway.transfers.size]).toEqual([3, 3])
  })

  it('is sent when its batch was resumed, though a worker saw that before its transfers', async () => {
    const gateway = memoryGateway({ idPrefix: 'resumed' })
    const { shards, account } = await host.openAt({ engine: { gateway } })
    const { id } = await shards.transaction(account, async (tx) => {
      const batch = await shards.batches.create(tx, { accountId: account })
      for (const _ of [1, 2]) await shards.transfers.enqueue(tx, samplePayout(account, { batchId: batch.id }))
      await shards.batches.pause(tx, batch.id)
      return batch
    })
    await workUntil(shards, account, 'batch_paused', 2)
    await shards.transaction(account, (tx) => shards.batches.resume(tx, id))
    await moveUntil(shards, account, 'resumed_batch')
    await west.query(`update outlay.resumed_batch set seen_at = clock_timestamp() - interval '1 minute'`)
    await west.query('select outlay.wake_resumed_batches(10)')
    expect(await rows(west, 'select from outlay.resumed_batch')).toEqual([])
    await shards.accounts.move(account, { to: 'west' })
    const next = host.make({ engine: { gateway }, route: host.route })
    await next.start()
    await drain({ backlog: () => next.backlog() })
    expect(gateway.submissions).toHaveLength(2)
  })

  it('waits on for a batch that is paused, and for the time of its host', async () => {
    const gateway = memoryGateway({ idPrefix: 'paused' })
    const { shards, account } = await host.openAt({ engine: { gateway } })
    const notBefore = new Date(Date.now() + 3_600_000).toISOString()
    const { id } = await shards.transaction(account, async (tx) => {
      const batch = await shards.batches.create(tx, { accountId: account })
      await shards.transfers.enqueue(tx, samplePayout(account, { batchId: batch.id }))
      await shards.transfers.enqueue(tx, samplePayout(account, { notBefore }))
      await shards.batches.pause(tx, batch.id)
      return batch
    })
    await workUntil(shards, account, 'batch_paused', 1)
    await shards.accounts.move(account, { to: 'west' })
    const next = host.make({ engine: { gateway }, route: host.route })
    await next.start()
    const reasons = () => rows(west, 'select reason, not_before is null as is_due from outlay.transfer order by id')
    const waiting = [
      { reason: 'batch_paused', is_due: true },
      { reason: null, is_due: false },
    ]
    await waitUntil(async () => (await reasons())[0]?.reason === 'batch_paused')
    expect([await reasons(), gateway.submissions]).toEqual([waiting, []])
    await next.transaction(account, (tx) => next.batches.resume(tx, id))
    await waitUntil(() => gateway.submissions.length === 1)
    expect(await rows(west, 'select from outlay.outbox where due_at > clock_timestamp()')).toHaveLength(1)
  })

  it('is counted for its payee on both nodes, though each calls the sum by another name', async () => {
    const gateway = memoryGateway({ idPrefix: 'payee' })
    const { shards, account } = await host.openAt({ engine: { gateway } })
    const destination = {
      valueType: 'USD',
      transferType: 'ach_credit',
      addressId: '01J0000000000000000000000P',
    } as const
    await rows(
      east,
      `insert into outlay.counterparty (account_id, fingerprint, idempotency_key, address_id, payee)
       values (outlay.gateway_account('default', $1), 'f', 'k', $2, 'digest')`,
      account,
      destination.addressId,
    )
    const limits = [{ name: 'payee', most: { USD: '20' }, span: 'month', zone: 'UTC', per: ['counterparty'] }] as const
    for (const { driver } of shards.nodes)
      await driver.transaction((tx) => shards.limits.set(tx, limits, { actor: 'ann', reason: 'test' }))
    const pay = (on: HostShards) =>
      on.transaction(account, (tx) => on.transfers.enqueue(tx, samplePayout(account, { destination })))
    const isHeld = async (on: HostShards, id: string) => (await on.transfers.get(id))?.stage === 'held'
    await shards.start()
    await pay(shards)
    await waitUntil(() => gateway.submissions.length === 1)
    const second = await pay(shards)
    await waitUntil(() => isHeld(shards, second.id))
    await shards.stop()
    await shards.accounts.move(account, { to: 'west' })
    const uses = async (node: string) => (await shards.limits.uses()).answers[node]
    const sum = { of: { counterparty: destination.addressId }, used: '12.5', remaining: '7.5', held: 1 }
    expect(await uses('west')).toMatchObject([sum])
    const next = host.make({ engine: { gateway }, route: host.route })
    await next.start()
    const third = await pay(next)
    await waitUntil(() => isHeld(next, third.id))
    expect(gateway.submissions).toHaveLength(1)
    await next.stop()
    await next.accounts.move(account, { to: 'east' })
    expect(await uses('east')).toMatchObject([{ ...sum, held: 2 }])
    expect(await uses('west')).toMatchObject([{ used: '0', held: 0 }])
  })
})
