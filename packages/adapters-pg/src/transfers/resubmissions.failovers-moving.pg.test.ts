import { silentLogger, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { reach, testHost } from '../../test/host.ts'
import { refusal, refusingGateway } from '../../test/refusing-gateway.ts'

describe('a transfer that was handed over, and is refused while its account moves', async () => {
  const { rows, open, enqueue } = await testHost()
  const isHandled = async () => (await rows('select from outlay.delivery')).length === 0

  it('goes to no gateway again that had the first one, which has left already', async () => {
    const first = refusingGateway()
    let packed: unknown
    const second = {
      ...refusingGateway(),
      async submit() {
        // What handlers hold does not leave.
        await waitUntil(isHandled)
        await rows(`select outlay.move_depart('acme', 'west', 1, 'ann', 'test')`)
        packed = await rows(`select packed, last_key from outlay.move_pack('acme', 1, '', 1, false)`)
        return refusal
      },
    }
    const engine = open({
      ...{ gateways: { default: first, second }, route: () => 'default', fraction: 0.001, logger: silentLogger },
      failover: ({ gateway }) => (gateway === 'default' ? 'second' : 'default'),
    })
    const { id } = await enqueue(engine, { idempotencyKey: 'rent' })
    await engine.start()
    const next = await waitUntil(() => engine.transfers.getByKey('acme', 'rent:at:second'))
    await reach(engine, next.id, { stage: 'settled', status: 'failed', reason: null })
    await waitUntil(isHandled)
    expect(packed).toEqual([{ packed: 1, last_key: 'rent' }])
    expect(await engine.transfers.get(id)).toBeUndefined()
    expect(await rows(`select transfer_id, reason from outlay.event where type = 'transfer.failed'`)).toEqual([
      { transfer_id: next.id, reason: null },
    ])
    expect(first.requests).toHaveLength(1)
  })
})
