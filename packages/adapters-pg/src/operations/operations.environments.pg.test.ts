import { createEngine, type Environment, type Gateway } from '@outlay/core'
import { drain, memoryGateway, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { emptyOutbox, migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'

describe('test and live', async () => {
  const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  const pool = new pg.Pool({ connectionString: database.url, max: 20 })
  const driver = pgDriver(pool)
  const engines: { stop(): Promise<void> }[] = []
  afterEach(async () => {
    await Promise.all(engines.splice(0).map((engine) => engine.stop()))
    await emptyOutbox(pool)
  })
  afterAll(() => pool.end())

  function open(environment?: Environment) {
    const memory = memoryGateway()
    const gateway: Gateway = environment === undefined ? memory : { ...memory, environment }
    const engine = createEngine({ backend: postgres({ driver }), gateway })
    engines.push(engine)
    return { engine, memory }
  }
  const bank = {
    source: { addressId: '01J0000000000000000000000A', valueType: 'USD', transferType: 'ach_debit' },
    destination: { addressId: '01J0000000000000000000000B', valueType: 'USDC', transferType: 'base_sepolia' },
  }

  it('are kept apart: a row of one is never sent by the gateway of the other', async () => {
    const live = open('mainnet')
    const test = open('testnet')
    await live.engine.start()
    const enqueue = (engine: typeof live.engine, request: ReturnType<typeof samplePayout>) =>
      driver.transaction((tx) => engine.transfers.enqueue(tx, request))
    const mine = await enqueue(live.engine, samplePayout('acme'))
    const theirs = await enqueue(test.engine, samplePayout('acme', bank))
    const many = await driver.transaction((tx) =>
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
    await driver.transaction((tx) => live.engine.transfers.cancel(tx, theirs.id))
  })

  it('do not share a database: workers of the other refuse to start there, and those of no environment', async () => {
    const live = open('mainnet')
    await live.engine.start()
    await live.engine.stop()
    for (const other of [open('testnet'), open()]) {
      await expect(other.engine.start()).rejects.toMatchObject({ code: 'environment_mismatch' })
    }
    await expect(open('testnet').engine.start()).rejects.toThrow('This database belongs to mainnet')
    await live.engine.start()
    await drain(live.engine)
  })

  it('have chains of their own: an enqueue with a chain of the other is refused before any SQL', async () => {
    const tx = undefined as never
    const chain = (engine: ReturnType<typeof open>['engine'], overrides = {}) =>
      engine.transfers.enqueue(tx, samplePayout('acme', overrides))
    await expect(chain(open('testnet').engine)).rejects.toMatchObject({
      code: 'environment_mismatch',
      field: 'source.transferType',
    })
    await expect(chain(open('mainnet').engine, bank)).rejects.toMatchObject({ field: 'destination.transferType' })
    const many = open('mainnet').engine.transfers.enqueueMany(tx, [samplePayout('acme', bank)])
    await expect(many).rejects.toMatchObject({ field: '0.destination.transferType' })
  })

  it('are not compared where no gateway declares which it is', async () => {
    const { engine, memory } = open()
    await engine.start()
    const { id } = await driver.transaction((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await drain(engine)
    expect(memory.submissions).toHaveLength(1)
    expect(await engine.transfers.get(id)).not.toHaveProperty('environment')
  })
})
