import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'
import { listingGateway, restoredDatabase } from '../../test/restored-database.ts'

describe('a reconciliation whose fence another one has lifted', async () => {
  const host = await testHost()
  const restored = restoredDatabase(host)
  const since = new Date(Date.now() - 60_000)

  it('does not lift the fence that was put up since', async () => {
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
    expect(await engine.reconcile({ since, matches: { [ids[0] ?? '']: 'remote-1' } })).toMatchObject({ lifted: true })
    await engine.start()
    const [{ at } = {}] = await restored.rows('select pg_sleep(0.01), clock_timestamp()::text as at')
    await restored.rows('update outlay.known_database set seen_at = $1::timestamptz', [at])
    await restored.commit((tx) => engine.fence(tx, { reason: 'restored again' }))
    answer.resolve()
    const { lifted } = await late
    const [fence] = await restored.rows('select fence_reason from outlay.known_database')
    expect({ lifted, fence }).toEqual({ lifted: false, fence: { fence_reason: 'restored again' } })
  })
})
