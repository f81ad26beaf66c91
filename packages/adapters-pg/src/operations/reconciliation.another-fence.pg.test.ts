import { describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { listingGateway, restoredDatabase } from '../../test/restored-database.ts'

describe('a reconciliation that ends behind another fence than it began', async () => {
  const host = await testHost()
  const restored = restoredDatabase(host)
  const since = new Date(Date.now() - 60_000)
  const fenceAgain = (engine: HostEngine) =>
    restored.commit((tx) => engine.fence(tx, { reason: 'restored again' }).then(() => undefined))
  const lift = async (engine: HostEngine, id: string) =>
    expect(await engine.reconcile({ since, matches: { [id]: 'remote-1' } })).toMatchObject({ lifted: true })

  it.each<[string, (engine: HostEngine, id: string) => Promise<void>]>([
    [
      'that another one lifted and a person put up again',
      async (engine, id) => {
        await lift(engine, id)
        await fenceAgain(engine)
      },
    ],
    ['that a person put up once more while it was up', fenceAgain],
    [
      'that was restored with the database',
      async (engine) => {
        await restored.rows(
          'update outlay.known_database set timeline = timeline + 1, seen_at = pg_postmaster_start_time()',
        )
        await engine.start()
        await engine.stop()
      },
    ],
    ['that another one lifted', lift],
  ])('leaves alone the one %s', async (_, meanwhile) => {
    const gateway = listingGateway()
    const { engine, ids } = await restored.sendAndRewind(gateway, [samplePayout('acme')])
    const reading = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<void>()
    const slow = restored.make({
      ...gateway,
      async list(...asked) {
        const page = await gateway.list?.(...asked)
        reading.resolve()
        await answer.promise
        return page ?? { observations: [] }
      },
    })
    const late = slow.reconcile({ since })
    await reading.promise
    await meanwhile(engine, ids[0] ?? '')
    const written = () =>
      restored.rows('select t.updated_at, h.fence_id from outlay.transfer t, outlay.known_database h')
    const before = await written()
    answer.resolve()
    await expect(late).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('put up again') })
    expect(await written()).toEqual(before)
  })

  it('counts for workers that start later, where none has recorded the restore yet', async () => {
    const gateway = listingGateway()
    const { engine, ids } = await restored.sendAndRewind(gateway, [samplePayout('acme')])
    await restored.rows(`update outlay.known_database set fenced_since = null, fence_id = null, timeline = timeline + 1,
      seen_at = pg_postmaster_start_time()`)
    expect(await engine.sending()).toMatchObject({ fence: { id: null, reason: 'restored' } })
    await lift(engine, ids[0] ?? '')
    await engine.start()
    expect(await engine.sending()).toMatchObject({ fence: null })
    expect(gateway.transfers.size).toBe(1)
  })
})
