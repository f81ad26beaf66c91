import type { EngineOptions } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { type HostEngine, reach, testHost } from '../../test/host.ts'

const { rows, commit, open, enqueue } = await testHost()

const full = { name: 'Ada', address: '0x52908400098527886E0F7030069857D2E4169EE7', transferTypes: ['base'] }
const toFull = { address: full, valueType: 'USDC', transferType: 'base' }
const links = () => rows('select transfer_id, successor_id from outlay.resubmission')

function two(options: Partial<EngineOptions<pg.PoolClient>> = {}) {
  const [first, second] = [memoryGateway({ status: 'processing' }), memoryGateway()]
  const gateways = { default: first, second }
  return { first, second, engine: open({ gateways, route: () => 'default', fraction: 0.001, ...options }) }
}

async function canceled(engine: HostEngine, overrides: Parameters<typeof enqueue>[1] = {}) {
  const { id } = await enqueue(engine, { idempotencyKey: 'rent', ...overrides })
  await commit((tx) => engine.transfers.cancel(tx, id))
  return id
}

/** A payout to a payee given in full, whom the first gateway has registered before it refused the payout. */
async function refused({ engine, first }: ReturnType<typeof two>) {
  first.script(() => ({ outcome: 'rejected', code: 'limit_reached', detail: 'no more today', httpStatus: 422 }))
  await engine.start()
  const { id } = await enqueue(engine, {
    ...{ idempotencyKey: 'rent', amount: { value: '12.50', currency: 'USDC' } },
    destination: toFull as never,
  })
  await reach(engine, id, { stage: 'settled', status: 'failed' })
  return id
}

describe('a resubmission at another gateway', () => {
  it('is a transfer of its own there, and the ended one stays where it was', async () => {
    const { engine, first, second } = two()
    const id = await canceled(engine)
    const again = await commit((tx) => engine.transfers.resubmit(tx, id, { gateway: 'second' }))
    expect(again).toMatchObject({ gateway: 'second', resubmissionOf: id, idempotencyKey: 'rent:at:second' })
    expect(await engine.transfers.get(id)).toMatchObject({ gateway: 'default', resubmittedAs: again.id })
    await engine.start()
    await reach(engine, again.id, { stage: 'settled', status: 'complete' })
    expect([first.submissions.length, second.submissions.length]).toEqual([0, 1])
  })

  it('is one with a resubmission at its own gateway at the same time, whichever is first', async () => {
    const { engine } = two()
    const id = await canceled(engine)
    const all = await Promise.allSettled([
      commit((tx) => engine.transfers.resubmit(tx, id)),
      commit((tx) => engine.transfers.resubmit(tx, id, { gateway: 'second' })),
    ])
    expect(all.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await links()).toHaveLength(1)
  })

  it('is refused for a gateway that this engine does not have, before any SQL', async () => {
    const { engine } = two()
    const id = await canceled(engine)
    await expect(engine.transfers.resubmit(undefined as never, id, { gateway: 'third' })).rejects.toMatchObject({
      ...{ code: 'invalid_request', field: 'gateway' },
    })
  })

  it('is refused where the first gateway had accepted it, and the transaction goes on', async () => {
    const { engine, first } = two({ polling: { maxDelayMs: 50 } })
    await engine.start()
    const { id } = await enqueue(engine)
    await reach(engine, id, { stage: 'submitted' })
    first.setStatus('remote-1', 'failed', {
      ...{
        type: 'returned' as const,
        code: 'refused',
        detail: 'no',
        occurredAt: '2026-01-01T00:00:00Z',
        retriable: false,
      },
    })
    await reach(engine, id, { stage: 'settled', status: 'failed' })
    await commit(async (tx) => {
      await expect(engine.transfers.resubmit(tx, id, { gateway: 'second' })).rejects.toMatchObject({
        ...{ code: 'conflict', field: 'gateway' },
      })
      expect(await engine.transfers.resubmit(tx, id)).toMatchObject({ gateway: 'default' })
    })
  })

  it.each([{}, { amount: { value: '11.00', currency: 'USDC' } }])(
    'does not take the id of a payee along that only the first gateway knows: %j',
    async (correction) => {
      const both = two()
      const { engine, second } = both
      const id = await refused(both)
      await commit(async (tx) => {
        const elsewhere = engine.transfers.resubmit(tx, id, { gateway: 'second', ...correction })
        await expect(elsewhere).rejects.toMatchObject({ code: 'conflict', field: 'destination' })
      })
      expect(await links()).toEqual([])
      const given = { gateway: 'second', destination: toFull as never, ...correction }
      const again = await commit((tx) => engine.transfers.resubmit(tx, id, given))
      await reach(engine, again.id, { stage: 'settled', status: 'complete' })
      expect([...second.addresses.values()]).toMatchObject([{ address: full.address }])
    },
  )

  it('registers a payee there whom no gateway knows yet', async () => {
    const { engine, second } = two()
    const id = await canceled(engine, {
      amount: { value: '12.50', currency: 'USDC' },
      destination: toFull as never,
    })
    const again = await commit((tx) => engine.transfers.resubmit(tx, id, { gateway: 'second' }))
    await engine.start()
    await reach(engine, again.id, { stage: 'settled', status: 'complete' })
    expect(second.registrations).toHaveLength(1)
  })
})
