import { describe, expect, it } from 'vitest'
import { heldRequests } from '../../test/held-requests.ts'
import { testHost } from '../../test/host.ts'

describe('a request that was about to leave as its worker lost its job', async () => {
  const { hesitate, openQuick, reconcileAndRelease, refuseAndCancel } = heldRequests(await testHost())

  it('does not leave any more: another one has found out that nothing was paid, and the host has canceled', async () => {
    // Heartbeats do not arrive, as from a process that stands still; all else does.
    const { id, inner, outcome } = await hesitate(['queue_extend'])
    await refuseAndCancel(openQuick(inner), id)
    expect(await outcome()).toEqual([1, []])
  })

  it('does not leave any more: a person has compared with the service and released the transfer in the meantime', async () => {
    const { id, inner, outcome } = await hesitate()
    const quick = openQuick(inner)
    expect(await reconcileAndRelease(quick, id)).toMatchObject({ stage: 'blocked', reason: 'reconcile' })
    await refuseAndCancel(quick, id)
    expect(await outcome()).toEqual([1, []])
  })
})
