import type { EnqueueRequest, Policy } from '@outlay/core'
import { drain, memoryGateway } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

const note = { actor: 'petra', reason: 'decided' }
const names = { streetLine1: '1 Canary Row', city: 'Austin', state: 'TX', zip: '78701' }
const bank = {
  owner: 'Ada Canary',
  name: 'Ada, salary',
  accountNumber: '98765432101234',
  routingNumber: '021000021',
  accountType: 'checking',
  bankAddress: names,
  beneficiaryAddress: names,
  transferTypes: ['ach_credit'],
} as const
const leg = { valueType: 'USD', transferType: 'ach_credit' } as const
const ada = { ...leg, address: bank }
const bob = { ...leg, address: { ...bank, owner: 'Bob', accountNumber: '11112222333344' } }

describe('a policy about a counterparty by its id', async () => {
  const { driver, open, commit } = await testHost()
  const set = (engine: HostEngine, ...policies: Policy[]) => commit((tx) => engine.policies.set(tx, policies, note))
  const stageOf = async (engine: HostEngine, destination: EnqueueRequest['destination']) => {
    const request = samplePayout('acme', { destination, createdBy: 'carl' })
    return (await commit((tx) => engine.transfers.enqueue(tx, request))).stage
  }

  it('holds the same details in full, in every process, and lets others pass that the engine can compare', async () => {
    const engine = open({ gateway: memoryGateway() })
    await engine.start()
    for (const destination of [ada, bob]) {
      await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme', { destination })))
      await drain(engine)
    }
    const { transfers } = await engine.transfers.find({ accountId: 'acme' })
    const ids = transfers.map(({ request }) => request.destination.addressId)
    expect(ids).toEqual(['address-2', 'address-1'])
    await set(engine, { name: 'ada', when: { counterparties: ['address-1'] }, hold: 'not to Ada' })
    for (const one of [engine, open()]) {
      expect(await stageOf(one, ada)).toBe('held')
      expect(await stageOf(one, { ...leg, addressId: 'address-1' })).toBe('held')
      expect(await stageOf(one, bob)).toBe('queued')
      expect(await stageOf(one, { ...leg, addressId: 'address-2' })).toBe('queued')
    }
    const many = [ada, bob].map((destination) => samplePayout('acme', { destination, createdBy: 'carl' }))
    const stages = (await commit((tx) => engine.transfers.enqueueMany(tx, many))).map(({ stage }) => stage)
    expect(stages).toEqual(['held', 'queued'])
    await set(engine, { name: 'ada', when: { counterparties: ['address-1'] }, refuse: 'not to Ada' })
    await expect(stageOf(engine, ada)).rejects.toMatchObject({ code: 'policy_refused' })
  })

  it('holds what is given in full while it names an id that the engine has not registered', async () => {
    const engine = open()
    await set(engine, { name: 'elsewhere', when: { counterparties: ['from-elsewhere'] }, hold: 'not to that one' })
    expect(await stageOf(engine, ada)).toBe('held')
    expect(await stageOf(engine, { ...leg, addressId: 'address-9' })).toBe('queued')
  })

  it('costs an enqueue no statement of its own, but for what it is about', async () => {
    const statements: string[] = []
    const counting: typeof driver = {
      ...driver,
      execute(tx, statement, values) {
        statements.push(statement.name.replace('outlay_outlay_', ''))
        return driver.execute(tx, statement, values)
      },
    }
    const engine = open({ driver: counting, gateway: memoryGateway() })
    await engine.start()
    await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme', { destination: ada })))
    await drain(engine)
    await engine.stop()
    await set(engine, { name: 'ada', when: { counterparties: ['address-1'] }, hold: 'not to Ada' })
    await stageOf(engine, bob)
    const count = async (destination: EnqueueRequest['destination'], overrides: Partial<EnqueueRequest> = {}) => {
      statements.length = 0
      const request = samplePayout('acme', { destination, ...overrides })
      await commit((tx) => engine.transfers.enqueue(tx, request))
      return [...statements]
    }
    const [byId, toAda] = [
      { ...leg, addressId: 'address-9' },
      { ...leg, addressId: 'address-1' },
    ]
    expect(await count(byId)).toEqual(['enqueue_one_by_facts'])
    expect(await count(byId, { createdBy: 'carl' })).toEqual(['enqueue_one_with_by_facts'])
    const { id: batchId } = await commit((tx) => engine.batches.create(tx, { accountId: 'acme' }))
    expect(await count(byId, { batchId })).toEqual(['enqueue_one_batched_by_facts'])
    expect(await count(bob)).toEqual(['enqueue_one_by_facts', 'keep_counterparties'])
    const twice = ['enqueue_one_with_by_facts', 'enqueue_one_with_by_facts']
    expect(await count(toAda, { createdBy: 'carl' })).toEqual(twice)
    expect(await count(ada, { createdBy: 'carl' })).toEqual([...twice, 'keep_counterparties'])
    await commit((tx) => engine.policies.set(tx, [], { ...note, clear: true }))
    await stageOf(engine, byId)
    expect(await count(byId)).toEqual(['enqueue_one'])
  })
})
