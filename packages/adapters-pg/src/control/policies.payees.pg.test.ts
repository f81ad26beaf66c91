import { Counterparty, defaultCatalog, type EnqueueRequest, type Policy, parseExternalAddress } from '@outlay/core'
import { drain, memoryGateway } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type HostEngine, testHost } from '../../test/host.ts'
import { samplePayout } from '../../test/outbox.ts'

const note = { actor: 'petra', reason: 'decided' }
const place = { streetLine1: '1 Canary Row', city: 'Austin', state: 'TX', zip: '78701' }
const bank = {
  owner: 'Ada Canary',
  name: 'Ada, salary',
  accountNumber: '98765432101234',
  routingNumber: '021000021',
  accountType: 'checking',
  bankAddress: place,
  beneficiaryAddress: place,
  transferTypes: ['ach_credit'],
} as const
const wallet = { name: 'Eve', address: '0x52908400098527886E0F7030069857D2E4169EE7', transferTypes: ['base'] } as const
const leg = { valueType: 'USD', transferType: 'ach_credit' } as const
const onChain = { valueType: 'USDC', transferType: 'base' } as const
const ada = { ...leg, address: bank }
const eve = { ...onChain, address: wallet }
const bob = { ...leg, address: { ...bank, owner: 'Bob', accountNumber: '11112222333344' } }

describe('a policy about a payee', async () => {
  const { open, commit, rows } = await testHost()
  const refuse = (engine: HostEngine, ...counterparties: string[]) => {
    const policy: Policy = { name: 'sanctioned', when: { counterparties }, refuse: 'not to them' }
    return commit((tx) => engine.policies.set(tx, [policy], note))
  }
  const pay = (
    engine: HostEngine,
    destination: EnqueueRequest['destination'],
    accountId = 'acme',
    times: Pick<EnqueueRequest, 'notBefore'> = {},
  ) => {
    const source = { addressId: '01J0000000000000000000000A', ...onChain }
    const request = samplePayout(accountId, { source, destination, createdBy: 'carl', ...times })
    return commit((tx) => engine.transfers.enqueue(tx, request))
  }
  /** Pays each in full, so that the engine registers it as `address-1` and so on. */
  const register = async (engine: HostEngine, ...payees: [EnqueueRequest['destination'], string?][]) => {
    for (const [destination, accountId] of payees) {
      await pay(engine, destination, accountId)
      await drain(engine)
    }
  }
  const started = async () => {
    const engine = open({ gateway: memoryGateway() })
    await engine.start()
    return engine
  }
  const refused = { code: 'policy_refused' }

  it('is about every id under which the same payee is registered, for any account', async () => {
    const engine = await started()
    const otherwise = { ...leg, address: { ...bank, name: 'Ada, bonus', owner: 'ADA CANARY' } }
    await register(engine, [ada, 'acme'], [ada, 'beta'], [otherwise, 'acme'], [bob, 'acme'])
    expect(await rows('select address_id from outlay.counterparty order by 1')).toHaveLength(4)
    await refuse(engine, 'address-1')
    for (const accountId of ['acme', 'beta']) {
      for (const addressId of ['address-1', 'address-2', 'address-3'])
        await expect(pay(engine, { ...leg, addressId }, accountId), addressId).rejects.toMatchObject(refused)
      expect(await pay(engine, { ...leg, addressId: 'address-4' }, accountId)).toMatchObject({ stage: 'queued' })
    }
  })

  it('is about what is resubmitted by another id of the payee', async () => {
    const engine = await started()
    await register(engine, [ada, 'acme'], [ada, 'beta'])
    const notBefore = new Date(Date.now() + 3_600_000)
    const byId = await pay(engine, { ...leg, addressId: 'address-2' }, 'beta', { notBefore })
    const inFull = await pay(engine, ada, 'beta', { notBefore })
    for (const { id } of [byId, inFull]) await commit((tx) => engine.transfers.cancel(tx, id))
    // One that the service refused when the payee was registered already.
    const [failed] = (await engine.transfers.find({ accountId: 'beta', status: 'complete' })).transfers
    const failure = { type: 'x', code: 'x', retriable: false, detail: '', occurredAt: '2026-01-01T00:00:00Z' }
    await rows(`update outlay.transfer set status = 'failed', failure = $2 where id = $1`, [failed?.id, failure])
    await refuse(engine, 'address-1')
    for (const id of [byId.id, inFull.id, failed?.id ?? ''])
      await commit((tx) =>
        expect(engine.transfers.resubmit(tx, id, { createdBy: 'dora', notBefore: null })).rejects.toMatchObject(
          refused,
        ),
      )
  })

  it('is about the account or the address alone, whatever else the details say', async () => {
    const engine = await started()
    await register(engine, [ada], [eve])
    await refuse(engine, 'address-1', 'address-2')
    const spelled = [
      { name: 'Ada, bonus' },
      { owner: 'ADA CANARY' },
      { owner: 'Ada Canary ' },
      { accountNumber: '0098765432101234' },
      { accountType: 'savings' as const },
      { beneficiaryAddress: { ...place, streetLine2: '' } },
      { transferTypes: ['ach_credit', 'wire'] },
    ]
    for (const one of spelled)
      await expect(pay(engine, { ...leg, address: { ...bank, ...one } }), JSON.stringify(one)).rejects.toMatchObject(
        refused,
      )
    for (const one of [
      { name: 'Eve 2' },
      { address: wallet.address.toLowerCase() },
      { transferTypes: ['base', 'polygon'] },
    ])
      await expect(
        pay(engine, { ...onChain, address: { ...wallet, ...one } }),
        JSON.stringify(one),
      ).rejects.toMatchObject(refused)
    const other = { ...wallet, address: '0x27b1fdb04752bbc536007a920d24acb045561c26' }
    for (const destination of [bob, { ...onChain, address: other }])
      expect(await pay(engine, destination)).toMatchObject({ stage: 'queued' })
  })

  it('applies to all in full while an earlier release has not kept the payee of an id, and is compared from the next claim on', async () => {
    const engine = await started()
    await register(engine, [ada], [bob])
    await rows('update outlay.counterparty set payee = null')
    await refuse(engine, 'address-1')
    await expect(pay(engine, bob)).rejects.toMatchObject(refused)
    await expect(pay(engine, ada)).rejects.toMatchObject(refused)
    // What is known of an id is that it is another one.
    expect(await pay(engine, { ...leg, addressId: 'address-2' })).toMatchObject({ stage: 'queued' })
    await commit((tx) => engine.policies.set(tx, [], { ...note, clear: true }))
    await register(engine, [ada])
    await refuse(engine, 'address-1')
    expect(await pay(engine, bob)).toMatchObject({ stage: 'queued' })
    await expect(pay(engine, { ...leg, address: { ...bank, name: 'Ada, bonus' } })).rejects.toMatchObject(refused)
  })

  it('has the same digest in SQL', async () => {
    const clabe = { accountNumber: '032180000118359719', routingNumber: undefined, transferTypes: ['spei'] }
    const canton = { name: 'Kim', address: `kim::1220${'ab'.repeat(32)}`, transferTypes: ['canton'] }
    const stellar = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ'
    const muxed = 'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ'
    const accounts = [stellar, muxed].map((address) => ({ name: 'Stella', address, transferTypes: ['stellar'] }))
    for (const given of [
      bank,
      { ...bank, accountNumber: '000123' },
      { ...bank, ...clabe },
      wallet,
      canton,
      ...accounts,
    ]) {
      const details = parseExternalAddress(given, defaultCatalog)
      const text = `select outlay.payee_of('${JSON.stringify(details)}') as payee`
      expect(await rows(text)).toEqual([{ payee: Counterparty.payeeOf(details) }])
    }
    const [account, ofMuxed] = accounts.map((given) =>
      Counterparty.payeeOf(parseExternalAddress(given, defaultCatalog)),
    )
    expect(ofMuxed).toBe(account)
    const [one, other] = [
      { ...bank, ...clabe },
      { ...bank, ...clabe, routingNumber: '021000021' },
    ].map((given) => Counterparty.payeeOf(parseExternalAddress(given, defaultCatalog)))
    expect(one).toBe(other)
  })
})
