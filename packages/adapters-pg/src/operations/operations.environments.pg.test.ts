import type { Environment, Gateway } from '@outlay/core'
import { drain, memoryGateway, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

describe('test and live', async () => {
  const { open, commit, enqueue } = await testHost()

  function make(environment?: Environment) {
    const memory = memoryGateway()
    const gateway: Gateway = environment === undefined ? memory : { ...memory, environment }
    const engine = open({ gateway })
    return { engine, memory }
  }
  const bank = {
    source: { addressId: '01J0000000000000000000000A', valueType: 'USD', transferType: 'ach_debit' },
    destination: { addressId: '01J0000000000000000000000B', valueType: 'USDC', transferType: 'base_sepolia' },
  }

  it('are kept apart: a row of one is never sent by the gateway of the other', async () => {
    const live = make('mainnet')
    const test = make('testnet')
    await live.engine.start()
    const enqueue = (engine: typeof live.engine, request: ReturnType<typeof samplePayout>) =>
      commit((tx) => engine.transfers.enqueue(tx, request))
    const mine = await enqueue(live.engine, samplePayout('acme'))
    const theirs = await enqueue(test.engine, samplePayout('acme', bank))
    const many = await commit((tx) =>
      test.engine.transfers.enqueueMany(tx, [samplePayout('acme', bank), samplePayout('acme', bank)]),
    )
    for (const { id } of [theirs, ...many]) {
      await waitUntil(async () => (await live.engine.transfers.get(id))?.stage === 'blocked')
      const stored = await live.engine.transfers.get(id)
      expect(stored).toMatchObject({ reason: 'environment_mismatch', environment: 'testnet', remoteId: null })
    }
    await waitUntil(async () => (await live.engine.transfers.get(mine.id))?.stage === 'settled')
    expect(await live.engine.transfers.get(mine.id)).toMatchObject({ environment: 'mainnet' })
    expect(live.memory.submissions.map(({ transferId }) => transferId)).toEqual([mine.id])
    await commit((tx) => live.engine.transfers.cancel(tx, theirs.id))
  })

  it('stay apart when a transfer is enqueued again, also by an engine whose gateway declares nothing', async () => {
    const live = make('mainnet')
    const theirs = await commit((tx) => make('testnet').engine.transfers.enqueue(tx, samplePayout('acme', bank)))
    await commit((tx) => live.engine.transfers.cancel(tx, theirs.id))
    const resubmit = (engine: HostEngine) => commit((tx) => engine.transfers.resubmit(tx, theirs.id))
    await expect(resubmit(live.engine)).rejects.toMatchObject({ code: 'environment_mismatch' })
    const again = await resubmit(make().engine)
    expect(again).toMatchObject({ environment: 'testnet', reused: false })
    await live.engine.start()
    await waitUntil(async () => (await live.engine.transfers.get(again.id))?.stage === 'blocked')
    expect(live.memory.submissions).toEqual([])
  })

  it('do not share a database: workers of the other refuse to start there, and those of no environment', async () => {
    const live = make('mainnet')
    await live.engine.start()
    await live.engine.stop()
    for (const other of [make('testnet'), make()]) {
      await expect(other.engine.start()).rejects.toMatchObject({ code: 'environment_mismatch' })
    }
    await expect(make('testnet').engine.start()).rejects.toThrow('This database belongs to mainnet')
    await live.engine.start()
    await drain(live.engine)
  })

  it('have chains of their own: an enqueue with a chain of the other is refused before any SQL', async () => {
    const tx = undefined as never
    const chain = (engine: HostEngine, overrides = {}) => engine.transfers.enqueue(tx, samplePayout('acme', overrides))
    await expect(chain(make('testnet').engine)).rejects.toMatchObject({
      code: 'environment_mismatch',
      field: 'source.transferType',
    })
    await expect(chain(make('mainnet').engine, bank)).rejects.toMatchObject({ field: 'destination.transferType' })
    const many = make('mainnet').engine.transfers.enqueueMany(tx, [samplePayout('acme', bank)])
    await expect(many).rejects.toMatchObject({ field: '0.destination.transferType' })
  })

  it('are not compared where no gateway declares which it is', async () => {
    const { engine, memory } = make()
    await engine.start()
    const { id } = await enqueue(engine)
    await drain(engine)
    expect(memory.submissions).toHaveLength(1)
    expect(await engine.transfers.get(id)).not.toHaveProperty('environment')
  })
})
