import { describe, expect, it } from 'vitest'
import { cutPages } from '../../test/cut-pages.ts'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { listingGateway, restoredDatabase } from '../../test/restored-database.ts'

const since = () => new Date(Date.now() - 60_000)

describe('after a restore, an empty page that has a cursor', async () => {
  const restored = restoredDatabase(await testHost())
  const payout = samplePayout('acme', { idempotencyKey: 'one' })

  it('is not the end of the list: what follows was sent, and is not sent again', async () => {
    const gateway = listingGateway()
    const { engine, ids } = await restored.sendAndRewind({ ...gateway, list: cutPages(gateway, 1) }, [payout])
    const { lifted } = await engine.reconcile({ since: since() })
    expect(lifted).toBe(true)
    await engine.start()
    await restored.isSent(engine, ids[0] ?? '')
    expect((await engine.transfers.get(ids[0] ?? ''))?.remoteId).toBe('remote-1')
    expect(gateway.transfers.size).toBe(1)
    await engine.stop()
  })

  it('that is followed by others without an end keeps the fence up', async () => {
    const gateway = listingGateway()
    let pages = 0
    const endless = { ...gateway, list: async () => ({ observations: [], next: `page ${++pages}` }) }
    const { engine } = await restored.sendAndRewind(endless, [payout])
    const { lifted, differences } = await engine.reconcile({ since: since() })
    expect([lifted, differences.map(({ kind }) => kind)]).toEqual([false, ['unreadable']])
  })
})
