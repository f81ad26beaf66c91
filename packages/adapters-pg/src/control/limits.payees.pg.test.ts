import { createCatalog, type EnqueueRequest, type SumLimit } from '@outlay/core'
import { drain, memoryGateway } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import type { HostEngine } from '../../test/host.ts'
import { claimReady, noonZone, sweepLimits } from '../../test/limit-claims.ts'
import { limitHost, note } from '../../test/limit-host.ts'
import { samplePayout } from '../../test/outbox.ts'

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
const leg = { valueType: 'USD', transferType: 'ach_credit' } as const
const ada = { ...leg, address: bank }
const payee: SumLimit = { name: 'payee', most: { USD: '20' }, span: 'month', zone: noonZone, per: ['counterparty'] }

describe('a limit on what a payee gets', async () => {
  const { pool, open, rows, commit, set } = await limitHost()
  const pay = (engine: HostEngine, accountId: string, destination: EnqueueRequest['destination']) =>
    commit((tx) => engine.transfers.enqueue(tx, samplePayout(accountId, { destination })))
  /** Registers Ada for two accounts, and somebody else: as `address-1`, `address-2` and `address-3`. */
  const register = async () => {
    const engine = open({ gateway: memoryGateway() })
    await engine.start()
    const bob = { ...leg, address: { ...bank, owner: 'Bob', accountNumber: '11112222333344' } }
    for (const [accountId, destination] of [
      ['acme', ada],
      ['beta', { ...leg, address: { ...bank, name: 'Ada, bonus' } }],
      ['acme', bob],
    ] as const) {
      await pay(engine, accountId, destination)
      await drain(engine)
    }
    await engine.stop()
    return open()
  }
  const holds = async (engine: HostEngine, id: string) => (await engine.transfers.holds(id))?.holds ?? []

  it('is one sum for all ids under which the payee is registered, for whatever account', async () => {
    const engine = await register()
    await set(engine, payee)
    const first = await pay(engine, 'acme', { ...leg, addressId: 'address-1' })
    const second = await pay(engine, 'beta', { ...leg, addressId: 'address-2' })
    const other = await pay(engine, 'acme', { ...leg, addressId: 'address-3' })
    expect(await claimReady(pool)).toEqual([first.id, other.id].sort())
    expect(await holds(engine, second.id)).toMatchObject([
      {
        why: expect.stringContaining('for the counterparty address-2: 12.5 of it'),
        excess: { of: { counterparty: 'address-2' } },
      },
    ])
    expect((await engine.limits.uses()).map(({ of, used, held }) => [of, used, held])).toEqual([
      [{ counterparty: 'address-1' }, '12.5', 1],
      [{ counterparty: 'address-3' }, '12.5', 0],
    ])
  })

  it('says nothing of the account number to whoever reads sums and holds', async () => {
    const engine = await register()
    await set(engine, { ...payee, most: { USD: '1' } })
    const { id } = await pay(engine, 'acme', { ...leg, addressId: 'address-1' })
    expect(await claimReady(pool)).toEqual([])
    const [{ digest }] = await rows(`select payee as digest from outlay.counterparty where address_id = 'address-1'`)
    const [{ scope }] = await rows('select scope from outlay.hold where transfer_id = $1', [id])
    expect(scope).toMatch(/^\{"counterparty": "payee [0-9a-f]{32}"\}$/)
    expect(scope).not.toContain(digest.slice(0, 16))
  })

  it('that is named by one id counts by its other ids', async () => {
    const engine = await register()
    await set(engine, {
      name: 'ada',
      most: { USD: '20' },
      span: 'month',
      zone: noonZone,
      counterparties: ['address-1'],
    })
    await pay(engine, 'beta', { ...leg, addressId: 'address-2' })
    await pay(engine, 'acme', { ...leg, addressId: 'address-3' })
    await claimReady(pool)
    expect(await engine.limits.uses()).toMatchObject([{ used: '12.5' }])
  })

  it('counts one that the engine has not registered by its id', async () => {
    const engine = open()
    await set(engine, payee)
    for (const addressId of ['elsewhere-1', 'elsewhere-1', 'elsewhere-2'])
      await pay(engine, 'acme', { ...leg, addressId })
    expect(await claimReady(pool)).toHaveLength(2)
    expect((await engine.limits.uses()).map(({ of }) => of.counterparty).sort()).toEqual(['elsewhere-1', 'elsewhere-2'])
  })

  it('counts a payee in full with the payee by id', async () => {
    const engine = await register()
    await set(engine, payee)
    await pay(engine, 'acme', { ...leg, addressId: 'address-1' })
    const { id } = await pay(engine, 'beta', { ...leg, address: { ...bank, name: 'Ada, bonus' } })
    await claimReady(pool)
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'held', reason: 'limit' })
  })
})

describe('a limit in a currency of one side of a quote', async () => {
  const { pool, open, enqueue, commit, set } = await limitHost()
  const both: SumLimit = { name: 'both', most: { USD: '100' }, span: 'month', zone: noonZone }
  const quoted = (engine: HostEngine, currency: string, value = '40') =>
    enqueue(engine, {
      amount: { value, currency },
      destination: { addressId: '01J0000000000000000000000B', valueType: 'MXN', transferType: 'spei' },
      quoteId: '01J0000000000000000000000Q',
    })

  it('counts what is stated in it', async () => {
    const engine = open()
    await set(engine, both)
    const { id } = await quoted(engine, 'USDC')
    expect(await claimReady(pool)).toEqual([id])
    expect(await engine.limits.uses()).toMatchObject([{ used: '40', held: 0 }])
  })

  it('holds what is stated in the other one, since nobody here knows how much leaves, until a person lets it go', async () => {
    const engine = open()
    await set(engine, both)
    const { id } = await quoted(engine, 'MXN')
    expect(await claimReady(pool)).toEqual([])
    const [hold] = (await engine.transfers.holds(id))?.holds ?? []
    expect(hold?.why).toBe(
      'The limit both is 100 USD a month: 0 of it are used, and this is stated in MXN with a quote. What it is in USD is not known before it leaves, so it waits for somebody who releases it.',
    )
    expect(hold?.excess).not.toHaveProperty('fitsAt')
    expect(hold?.excess).not.toHaveProperty('amount')
    expect(await sweepLimits(pool)).toBe(0)
    expect(await engine.limits.uses()).toMatchObject([{ used: '0', held: 1, tooLarge: 1 }])
    await commit((tx) => engine.transfers.release(tx, id, { ...note, hold: 'limit', policy: 'both' }))
    expect(await claimReady(pool)).toEqual([id])
    expect(await engine.limits.uses()).toMatchObject([{ used: '0', remaining: '100' }])
  })

  it('lets it go when the limit is gone', async () => {
    const engine = open()
    await set(engine, both)
    const { id } = await quoted(engine, 'MXN')
    await claimReady(pool)
    await set(engine, { ...both, most: { MXN: '100' } })
    expect(await sweepLimits(pool)).toBe(1)
    expect(await claimReady(pool)).toEqual([id])
    expect(await engine.limits.uses()).toMatchObject([{ currency: 'MXN', used: '40' }])
  })
})

describe('a limit in a currency that a gateway converts without a quote', async () => {
  const { pool, open, enqueue, set } = await limitHost()
  const dollars: SumLimit = { name: 'dollars', most: { USD: '100' }, span: 'month', zone: noonZone }
  const tokens: SumLimit = { name: 'tokens', most: { USDC: '100' }, span: 'month', zone: noonZone }
  const converted = (engine: HostEngine, currency: string) =>
    enqueue(engine, {
      amount: { value: '40', currency },
      destination: { addressId: '01J0000000000000000000000B', valueType: 'MXN', transferType: 'spei' },
    })

  it('holds what is stated in the other one, and counts what is worth the same', async () => {
    const engine = open()
    await set(engine, dollars, tokens)
    const other = await converted(engine, 'MXN')
    const { id } = await converted(engine, 'USDC')
    expect(await claimReady(pool)).toEqual([id])
    const held = (await engine.transfers.holds(other.id))?.holds ?? []
    expect(held.map(({ policy }) => policy).sort()).toEqual(['dollars', 'tokens'])
    expect(held[0]?.why).toContain('and this is stated in MXN. What it is in USD')
    expect(await engine.limits.uses()).toMatchObject([
      { limit: 'dollars', used: '40' },
      { limit: 'tokens', used: '40' },
    ])
  })

  it('counts the number without a quote where an earlier release has set it', async () => {
    const engine = open()
    await set(engine, dollars)
    await pool.query('update outlay.sum_limit set worth = null')
    const { id } = await converted(engine, 'MXN')
    expect(await claimReady(pool)).toEqual([id])
  })
})

describe('limits that are set again', async () => {
  const { pool, open, enqueue, set, rows } = await limitHost()
  const base: SumLimit = { name: 'base', most: { USD: '30' }, span: 'month', zone: noonZone, per: ['account'] }
  const used = async (engine: HostEngine) => (await engine.limits.uses()).map((use) => [use.of.account ?? '', use.used])

  it('keep what was counted with another list of what has sums of its own', async () => {
    const engine = open()
    await set(engine, { ...base, accounts: ['acme'] })
    await enqueue(engine)
    await claimReady(pool)
    await set(engine, { ...base, accounts: ['acme', 'beta'], most: { USD: '40' } })
    expect(await used(engine)).toEqual([['acme', '12.5']])
    await set(engine, base)
    expect(await used(engine)).toEqual([['acme', '12.5']])
  })

  it('keep what was counted when the catalog has another currency of that worth', async () => {
    const engine = open()
    await set(engine, base)
    await enqueue(engine)
    await claimReady(pool)
    const catalog = createCatalog({ valueTypes: [{ name: 'XUSD', kind: 'token', scale: 6, peg: 'USD' }] })
    await set(open({ catalog }), base)
    const [{ currencies }] = await rows('select currencies from outlay.sum_limit')
    expect(currencies).toContain('XUSD')
    expect(await used(engine)).toEqual([['acme', '12.5']])
  })

  it('begin at nothing with other sums', async () => {
    const engine = open()
    for (const limit of [
      base,
      { ...base, per: ['gateway', 'account'] as const },
      { ...base, zone: 'Europe/Berlin' },
      { ...base, span: 'hour' as const },
      { ...base, gateways: ['default'] },
    ]) {
      await set(engine, limit)
      expect(await used(engine)).toEqual([])
      await enqueue(engine)
      await claimReady(pool)
      expect(await used(engine)).toEqual([['acme', '12.5']])
    }
  })
})
