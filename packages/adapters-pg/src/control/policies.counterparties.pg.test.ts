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
  const { open, commit } = await testHost()
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
})
