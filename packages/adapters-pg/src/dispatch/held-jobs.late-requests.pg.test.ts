import type { Observation } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { fetchingUntil, hesitantGateway, poor } from '../../test/held-requests.ts'
import { type HostEngine, reach, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

describe('a request that was about to leave as its worker lost its job', async () => {
  const { pool, driver, open, stopAll, commit, enqueue, forgetRequests } = await testHost()

  /** An engine that has one transfer and asks for its permission to send it when the test lets it. */
  async function hesitate(unanswered: readonly string[]) {
    const inner = memoryGateway()
    const { gateway, counts, go } = hesitantGateway(inner)
    const slow = open({ gateway, driver: fetchingUntil(driver, () => counts.waiting > 0, unanswered) })
    await slow.start()
    const { id } = await enqueue(slow)
    await waitUntil(() => counts.waiting === 1)
    const at = new Date().toISOString()
    const alike = { remoteId: 'alike', status: 'processing', failure: null } as const
    const { amount, source, destination, note = null } = samplePayout('acme')
    const transfer = { ...alike, id: 'alike', amount, source, destination, note, createdAt: at, updatedAt: at }
    const list = async () => ({ observations: [{ ...alike, transfer }] as Observation[] })
    const quick = open({ gateway: { ...inner, list, submit: async () => poor } })
    const outcome = async () => {
      go()
      await waitUntil(() => counts.asked > 0)
      await stopAll()
      return [counts.waiting, inner.submissions]
    }
    return { id, quick, outcome }
  }
  /** Starts the other engine, whose service refuses the transfer for lack of funds, and cancels it. */
  async function refuseAndCancel(quick: HostEngine, id: string) {
    await quick.start()
    await reach(quick, id, { stage: 'awaiting_funds' }, 90_000)
    await forgetRequests()
    await commit((tx) => quick.transfers.cancel(tx, id))
  }

  it('does not leave any more: another one has found out that nothing was paid, and the host has canceled', async () => {
    // Heartbeats do not arrive, as from a process that stands still; all else does.
    const { id, quick, outcome } = await hesitate(['queue_extend'])
    await refuseAndCancel(quick, id)
    expect(await outcome()).toEqual([1, []])
  })

  it('does not leave any more: a person has compared with the service and released the transfer in the meantime', async () => {
    const { id, quick, outcome } = await hesitate([])
    await pool.query('update outlay.transfer set expires_at = now()')
    await commit((tx) => quick.fence(tx))
    await quick.reconcile({ since: new Date(Date.now() - 60_000), acknowledge: true })
    expect(await quick.transfers.get(id)).toMatchObject({ stage: 'blocked', reason: 'reconcile' })
    await pool.query('update outlay.transfer set expires_at = null')
    await commit((tx) => quick.transfers.release(tx, id))
    await refuseAndCancel(quick, id)
    expect(await outcome()).toEqual([1, []])
  })
})
