import type { SubmitResult } from '@outlay/core'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { emptyOutbox, samplePayout } from '../../test/outbox.ts'
import { listingGateway } from '../../test/restored-database.ts'

const host = await testHost()
const { commit, open, stopAll, pool } = host

describe('a restore that has forgotten a reroute', () => {
  const closed: SubmitResult = { outcome: 'rejected', code: 'closed', detail: 'No such rail.', nothingMoved: true }
  const since = () => new Date(Date.now() - 3_600_000)

  async function restored(reroutes: boolean) {
    const [first, second] = [listingGateway(), listingGateway()]
    first.script(() => closed)
    const gateways = { default: first, second }
    const options = { gateways, route: () => 'default', fraction: 0.001 }
    const reroute = () => 'second'
    const before = open({ ...options, reroute })
    const payout = samplePayout('acme', { idempotencyKey: 'rent' })
    const { id: sent } = await commit((tx) => before.transfers.enqueue(tx, payout))
    await before.start()
    await reach(before, sent, { stage: 'submitted', gateway: 'second' })
    await stopAll()
    await emptyOutbox(pool)
    const engine = open(reroutes ? { ...options, reroute } : options)
    const { id } = await commit((tx) => engine.transfers.enqueue(tx, payout))
    await commit((tx) => engine.fence(tx))
    return { engine, id, first, second }
  }

  it('does not pay again at the first gateway: a person decides', async () => {
    const { engine, id } = await restored(true)
    const { differences, lifted } = await engine.reconcile({ since: since() })
    expect(lifted).toBe(false)
    expect(differences).toContainEqual(
      expect.objectContaining({ kind: 'blocked', transferId: id, gateway: 'second', open: true }),
    )
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'blocked', reason: 'reconcile', gateway: 'default' })
  })

  it('is compared by an engine that reroutes alone: the others have never done it', async () => {
    const { engine, id } = await restored(false)
    await engine.reconcile({ since: since() })
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'queued', gateway: 'default' })
  })

  it('pays once where nobody compares, while both gateways keep the key', async () => {
    const { engine, id, first, second } = await restored(true)
    await host.rows('update outlay.known_database set fenced_since = null, fence_id = null')
    await engine.start()
    await reach(engine, id, { stage: 'submitted', gateway: 'second' })
    expect([first.transfers.size, second.transfers.size]).toEqual([0, 1])
  })
})
