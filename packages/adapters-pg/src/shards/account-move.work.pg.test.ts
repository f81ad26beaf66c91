import type { WebhookVerifier } from '@outlay/core'
import { drain, memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { moveHost, payAt } from '../../test/move-host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { refusingGateway } from '../../test/refusing-gateway.ts'

/** Ends a mover at a step, as a process that dies does after the route was switched. */
const endAt =
  (last: string) =>
  ({ step }: { readonly step: string }) => {
    if (step === last) throw new Error('The mover ends here.')
  }

const webhooks: WebhookVerifier = {
  verify: async ({ body }) => {
    const [remoteId = '', status] = String(body).split(' ')
    return { remoteId, status: status as 'complete', failure: null }
  },
}

describe('what has moved', async () => {
  const host = await moveHost()
  const { east, west } = host
  const rows = async (on: typeof east, text: string, ...values: unknown[]) => (await on.query(text, values)).rows

  it('has what holds it back before there is anything to send', async () => {
    const gateway = memoryGateway({ idPrefix: 'held' })
    const { shards, account } = await host.openAt({ engine: { gateway } })
    await payAt(shards, account, 'first')
    await shards.transaction(account, (tx) => shards.accounts.pause(tx, account))
    await shards.transaction(account, (tx) => shards.stops.add(tx, { scope: 'account', name: account }))
    let paused: unknown
    const ending = shards.accounts.move(account, {
      to: 'west',
      onProgress(progress) {
        if (progress.step !== 'unpacking') return
        paused ??= rows(west, 'select paused from outlay.account where account_id = $1', account)
        endAt('unpacking')(progress)
      },
    })
    await expect(ending).rejects.toThrow('ends here')
    expect([await paused, await host.live(account)]).toEqual([[{ paused: true }], { east: [], west: [] }])
    await shards.start()
    await shards.accounts.move(account, { to: 'west' })
    await shards.transaction(account, (tx) => shards.accounts.resume(tx, account))
    expect(gateway.submissions).toEqual([])
    await shards.transaction(account, (tx) => shards.stops.end(tx, { scope: 'account', name: account }))
    await drain({ backlog: () => shards.backlog() })
    expect(gateway.submissions).toHaveLength(1)
  })

  it('completes its batch once, with what ended on both nodes', async () => {
    const gateway = memoryGateway({ idPrefix: 'batch' })
    gateway.script(() => (gateway.submissions.length > 2 ? { outcome: 'unknown', detail: 'later' } : undefined))
    const { shards, account } = await host.openAt({ engine: { gateway } })
    const completed: string[] = []
    shards.subscribe('batches', ['batch.completed'], async ({ transferId }) => {
      completed.push(transferId)
    })
    const { id: batchId } = await shards.transaction(account, async (tx) => {
      const batch = await shards.batches.create(tx, { accountId: account })
      const requests = Array.from({ length: 4 }, () => samplePayout(account, { batchId: batch.id }))
      await shards.transfers.enqueueMany(tx, requests)
      await shards.batches.close(tx, batch.id)
      return batch
    })
    await shards.start()
    await waitUntil(() => gateway.submissions.length >= 4)
    await shards.accounts.move(account, { to: 'west' })
    expect(await rows(east, 'select id from outlay.batch')).toEqual([])
    gateway.script(() => undefined)
    await west.query(`update outlay.outbox set due_at = clock_timestamp(), ready = true`)
    await waitUntil(async () => (await shards.batches.get(batchId))?.state === 'completed')
    await drain({ backlog: () => shards.backlog() })
    expect(completed).toHaveLength(1)
    expect((await shards.batches.get(batchId))?.counts).toMatchObject({ complete: 4 })
    expect(gateway.transfers.size).toBe(4)
  })

  it('has its archived history, and that of what ended later', async () => {
    const { shards, account } = await host.openAt()
    await shards.start()
    const { id } = await payAt(shards, account, 'old')
    await drain({ backlog: () => shards.backlog() })
    expect(await shards.archive({ olderThanMs: 0 })).toMatchObject({ archived: 1 })
    const history = (on: typeof east) =>
      Promise.all([
        rows(on, 'select * from outlay.events_of($1) order by sequence', id),
        rows(on, 'select * from outlay.logged_attempts_of($1) order by attempt', id),
      ])
    const before = await history(east)
    expect(before.map((one) => one.length > 0)).toEqual([true, true])
    await shards.accounts.move(account, { to: 'west' })
    expect(await history(west)).toEqual(before)
    expect(await shards.archive({ olderThanMs: 0 })).toMatchObject({ archived: 1 })
    await shards.accounts.move(account, { to: 'east' })
    expect(await history(east)).toEqual(before)
  })

  it('is not adopted where it was, and another account is', async () => {
    const { shards, account } = await host.openAt()
    await shards.accounts.move(account, { to: 'west' })
    const found = `insert into outlay.found_transfer (account_id, remote_id, automated, transfer) values ($1, 'r-1', true, '{}')`
    for (const one of [account, 'other']) await east.query(found, [one])
    const adopted = await rows(east, 'select account_id, remote_id from outlay.adopt_found(10)')
    expect(adopted).toEqual([{ account_id: 'other', remote_id: 'r-1' }])
  })

  it('has webhooks sent again that came between two nodes, and to the old one', async () => {
    const gateway = memoryGateway({ idPrefix: 'hook', status: 'pending' })
    const { shards, account } = await host.openAt({ engine: { gateway, webhooks } })
    await shards.start()
    const { id } = await payAt(shards, account, 'first')
    const remoteId = await waitUntil(async () => (await shards.transfers.get(id))?.remoteId ?? undefined)
    const receive = (on: typeof shards) =>
      on.webhook({ body: `${remoteId} complete`, headers: {} }, { accountId: account })
    await expect(shards.accounts.move(account, { to: 'west', onProgress: endAt('switched') })).rejects.toThrow(
      'ends here',
    )
    expect(await receive(shards)).toEqual({ status: 503, code: 'account_moving', changed: 0 })
    await shards.accounts.move(account, { to: 'west' })
    const stale = host.make({ engine: { gateway, webhooks }, route: () => 'east' })
    expect(await receive(stale)).toEqual({ status: 503, code: 'wrong_node', changed: 0 })
    expect(await receive(shards)).toEqual({ status: 200, code: null, changed: 1 })
  })

  it('is not handed over to another gateway where its batch of several accounts stayed behind, and says so', async () => {
    const [first, second] = [refusingGateway(), refusingGateway(false)]
    const { shards, account } = await host.openAt({
      engine: {
        ...{ gateways: { default: first, second }, route: () => 'default' },
        failover: ({ gateway }) => (gateway === 'default' ? 'second' : undefined),
      },
    })
    const { id: batchId } = await shards.transaction(account, (tx) => shards.batches.create(tx))
    const { id } = await shards.transaction(account, (tx) =>
      shards.transfers.enqueue(tx, samplePayout(account, { batchId })),
    )
    // A request that may still arrive keeps it from being handed over, until nobody tries any more.
    const attempt = `insert into outlay.attempt (transfer_id, attempt, worker, claimed_at) values ($1, 0, 'dead', now())`
    await rows(east, attempt, id)
    await shards.start()
    await waitUntil(async () => (await rows(east, 'select from outlay.delivery where failures > 0')).length === 1)
    await rows(east, 'update outlay.delivery set dead = true, ready = false')
    await shards.transaction(account, (tx) => shards.batches.close(tx, batchId))
    const completed = () => rows(east, 'select from outlay.batch where completed_at is not null')
    await waitUntil(async () => (await completed()).length === 1)
    await rows(east, `update outlay.attempt set claimed_at = claimed_at - interval '11 minutes'`)
    expect(await shards.accounts.move(account, { to: 'west' })).toMatchObject({ result: 'moved' })
    await rows(west, 'update outlay.delivery set dead = false, ready = true, failures = 0, due_at = now()')
    await waitUntil(async () => (await rows(west, 'select from outlay.delivery')).length === 0)
    expect(await shards.transfers.get(id)).toMatchObject({ status: 'failed', reason: 'failover_refused' })
    expect(second.requests).toEqual([])
    const again = { gateway: 'second', createdBy: 'ann' }
    const next = await shards.transaction(account, (tx) => shards.transfers.resubmit(tx, id, again))
    expect(next).toMatchObject({ resubmissionOf: id, gateway: 'second' })
  })
})
