import { randomBytes } from 'node:crypto'
import { manualClock, recordingLogger } from '@outlay/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { inspect } from '../../test/inspection.ts'
import { sampleAccount, testContext, testSchema, testService } from '../../test/service.ts'
import { expectSoundLedger } from '../../test/sound-ledger.ts'
import type { WalletCustody } from '../addresses/custody.ts'
import type { AddressResource } from '../addresses/view.ts'
import { listBalances } from '../balances/balances.ts'
import { inTransaction, type ServiceContext } from '../context.ts'
import { asSystem } from '../database/tenant.ts'
import { deposit } from '../ledger/deposits.ts'
import { createSimulatedCustody } from '../rails/simulated/custody.ts'
import { createSimulatedRails } from '../rails/simulated/simulated-rails.ts'
import { createService } from '../service.ts'
import { setAccountStatus } from './accounts.ts'
import { moveToCustody } from './custody-moves.ts'
import { onboardDue } from './onboarding.ts'

const usdc = (value: string) => ({ value, currency: 'USDC' })
const { pool } = await serviceDatabase()
const logger = recordingLogger()
const simulated = createSimulatedCustody()

const open = async (parts: Partial<ServiceContext>) => {
  const clock = manualClock()
  const context = testContext({ pool, logger, clock, ...parts })
  const service = testService(context)
  const { token } = await service.signIn({ environment: 'mainnet' })
  const wallets = async (accountId: string) =>
    (await service.call<{ addresses: readonly AddressResource[] }>(`/accounts/${accountId}/addresses`, { token })).json
      .addresses
  return { context, clock, service, token, wallets, create: () => service.createAccount(token) }
}

it('with rails of its own and no custodian, the service makes up no wallets', async () => {
  const rails = createSimulatedRails({ pool, schema: testSchema, clock: manualClock(), logger })
  const options = { pool, schema: testSchema, encryptionKey: randomBytes(32), logger }
  const { context } = createService({ ...options, rails })
  expect(context.custody).toBeUndefined()
  expect(createService({ ...options, rails: 'simulated' }).context.custody?.name).toBe('simulated')
  const { create, wallets } = await open({ custody: context.custody })
  const accountId = await create()
  expect(await wallets(accountId)).toEqual([])
  const { rows } = await inspect(pool).query(`select from ${testSchema}.address where account_id = $1`, [accountId])
  expect(rows).toEqual([])
})

it('an account that was registered without a custodian gets its wallets once there is one', async () => {
  const { create, wallets, context, clock } = await open({ custody: undefined })
  const accountId = await create()
  await onboardDue(context)
  expect(await wallets(accountId)).toEqual([])
  const later = testContext({ pool, logger, clock, custody: simulated })
  await Promise.all([onboardDue(later), onboardDue(later)])
  const given = await wallets(accountId)
  expect(given.length).toBeGreaterThan(1)
  expect(given.every(({ status }) => status === 'active')).toBe(true)
  await onboardDue(later)
  expect(await wallets(accountId)).toEqual(given)
})

it('what the custodian gives is what an account has, under its name', async () => {
  const orders: unknown[] = []
  const custody: WalletCustody = {
    name: 'vault',
    async provision(order, options) {
      orders.push(order)
      return await simulated.provision(order, options)
    },
  }
  const { create, wallets } = await open({ custody })
  const accountId = await create()
  expect(orders).toMatchObject([{ accountId, environment: 'mainnet', wallets: [{ family: 'evm' }, {}, {}, {}, {}] }])
  const order = orders[0] as Parameters<WalletCustody['provision']>[0]
  const addresses = await simulated.provision(order, { signal: new AbortController().signal })
  expect((await wallets(accountId)).map(({ address }) => address)).toEqual(addresses)
  const { rows } = await inspect(pool).query(
    `select distinct custody from ${testSchema}.address where account_id = $1`,
    [accountId],
  )
  expect(rows).toEqual([{ custody: 'vault' }])
})

it('an account whose custodian hangs is registered without wallets and without a connection, and gets them later', async () => {
  const released = Promise.withResolvers<readonly string[]>()
  onTestFinished(() => released.resolve([]))
  const asked = vi.fn<(signal: AbortSignal) => void>()
  const custody: WalletCustody = {
    name: 'vault',
    provision(_, { signal }) {
      asked(signal)
      return released.promise
    },
  }
  const { create, wallets, clock } = await open({ custody, railTimeoutMs: 2_000 })
  const creating = create()
  await vi.waitFor(() => expect(asked).toHaveBeenCalledTimes(1), { timeout: 60_000 })
  expect(pool.idleCount).toBe(pool.totalCount)
  const accountId = await creating
  expect(asked.mock.calls[0]?.[0].aborted).toBe(true)
  expect(await wallets(accountId)).toEqual([])
  await onboardDue(testContext({ pool, logger, clock, custody: simulated }))
  expect((await wallets(accountId)).length).toBeGreaterThan(1)
})

it.each([
  ['fails', () => Promise.reject(new Error('Not now.'))],
  ['gives no addresses', async () => []],
  [
    'gives addresses of another chain',
    async () => Array.from({ length: 9 }, () => 'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh'),
  ],
])('a custodian that %s gives no wallets, and is asked again after a minute', async (_, provision) => {
  const orders: string[] = []
  const custody: WalletCustody = {
    name: 'vault',
    provision(order) {
      orders.push(order.accountId)
      return provision()
    },
  }
  const { create, wallets, context, clock } = await open({ custody })
  const accountId = await create()
  const asked = () => orders.filter((one) => one === accountId).length
  await onboardDue(context)
  await onboardDue(context)
  expect(await wallets(accountId)).toEqual([])
  expect(asked()).toBe(2)
  clock.advance(61_000)
  await onboardDue(context)
  expect(asked()).toBe(3)
  await inTransaction(context, (tx) => setAccountStatus(tx, context, accountId, 'rejected'))
  clock.advance(61_000)
  await onboardDue(context)
  expect(asked()).toBe(3)
})

describe('a custodian that gives addresses in use', () => {
  const victim = '01K8ACC0VNTX5R2D7Q3M9W1ZEB'
  const lying = (isLie: (accountId: string) => boolean): WalletCustody => ({
    name: 'vault',
    provision: (order, options) =>
      simulated.provision({ ...order, accountId: isLie(order.accountId) ? victim : order.accountId }, options),
  })

  it('gives no wallets, and the account is registered', async () => {
    const { service, token, wallets, create } = await open({ custody: lying(() => true) })
    expect((await wallets(await create())).length).toBe(5)
    const register = async () => {
      const call = { token, key: crypto.randomUUID(), body: sampleAccount }
      const { status, json } = await service.call<{ id: string }>('/accounts', call)
      return [status, (await wallets(json.id)).length]
    }
    expect(await register()).toEqual([201, 0])
    expect(await Promise.all([register(), register()])).toEqual([
      [201, 0],
      [201, 0],
    ])
    await inspect(pool).query(`delete from ${testSchema}.address where custody = 'vault'`)
    const both = await Promise.all([register(), register()])
    expect(both.map(([status]) => status)).toEqual([201, 201])
    expect(both.map(([, count]) => count).toSorted()).toEqual([0, 5])
  })

  it('keeps no other account from its wallets, and the log names the account', async () => {
    const { create, clock, wallets } = await open({ custody: undefined })
    const [first, second, third] = [await create(), await create(), await create()]
    const custody = lying((accountId) => accountId !== third)
    const context = testContext({ pool, logger, clock, custody })
    await onboardDue(context)
    const counts = await Promise.all([first, second, third].map(async (id) => (await wallets(id)).length))
    expect(counts.slice(0, 2).toSorted()).toEqual(expect.arrayContaining([0]))
    expect(counts[2]).toBe(5)
    const named = logger.entries.map(({ fields }) => fields['accountId'])
    expect(named.some((id) => id === first || id === second)).toBe(true)
  })
})

it('an account whose wallets nobody keeps gets others once it is complete, and its money moves there', async () => {
  const { create, wallets, context, clock } = await open({ custody: simulated })
  const accountId = await create()
  const setStatus = (status: 'complete' | 'pending') =>
    inTransaction(context, (tx) => setAccountStatus(tx, context, accountId, status))
  const [first] = await wallets(accountId)
  await inTransaction(context, (tx) =>
    deposit(tx, context, {
      ...{ accountId, addressId: first?.id ?? '', valueType: 'USDC', transferType: 'base', amount: '40.25' },
      reference: `old ${accountId}`,
    }),
  )
  // As an earlier release has left it: other addresses, and no custodian.
  await inspect(pool).query(
    `update ${testSchema}.address set custody = null, address = 'old ' || address, address_normal = 'old ' || address_normal
      where account_id = $1`,
    [accountId],
  )
  await setStatus('pending')
  await onboardDue(context)
  expect((await wallets(accountId)).map(({ status }) => status)).toEqual(Array(5).fill('pending'))
  const move = () => inTransaction(context, (tx) => moveToCustody(tx, context, accountId))
  await setStatus('complete')
  const left = { addressId: first?.id, transferType: 'base', available: usdc('40.25'), held: usdc('0') }
  expect(await move()).toEqual([left])
  await onboardDue(testContext({ pool, logger, clock, custody: simulated }))
  const active = (await wallets(accountId)).filter(({ status }) => status === 'active')
  expect(active.length).toBe(5)
  const kept = active.find(({ transfer_types: types }) => types.includes('base'))
  await Promise.all([move(), move()])
  expect(await move()).toEqual([])
  const balances = await listBalances(asSystem(context), context, [accountId])
  expect(balances.map((one) => [one.address.id, one.available.value])).toEqual(
    expect.arrayContaining([
      [first?.id, '0.00'],
      [kept?.id, '40.25'],
    ]),
  )
  await expectSoundLedger(context)
})

it('a wallet that the custodian keeps after all is its own, and active', async () => {
  const { create, wallets, context } = await open({ custody: simulated })
  const accountId = await create()
  const given = await wallets(accountId)
  await inspect(pool).query(`update ${testSchema}.address set custody = null where account_id = $1`, [accountId])
  const setStatus = (status: 'complete' | 'pending') =>
    inTransaction(context, (tx) => setAccountStatus(tx, context, accountId, status))
  await setStatus('pending')
  await setStatus('complete')
  await onboardDue(context)
  expect(await wallets(accountId)).toEqual(given)
})

it('a wallet whose keys nobody keeps is not active again', async () => {
  const { create, wallets, context } = await open({ custody: simulated })
  const accountId = await create()
  const setStatus = (status: 'complete' | 'pending') =>
    inTransaction(context, (tx) => setAccountStatus(tx, context, accountId, status))
  await setStatus('pending')
  await inspect(pool).query(
    `update ${testSchema}.address set custody = null where account_id = $1 and family = 'solana'`,
    [accountId],
  )
  await setStatus('complete')
  const active = (await wallets(accountId)).filter(({ status }) => status === 'active')
  expect(active.map(({ transfer_types: [first] }) => first)).toEqual(['ethereum', 'stellar', 'xrp_ledger', 'canton'])
})
