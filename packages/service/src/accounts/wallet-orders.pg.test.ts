import { manualClock, recordingLogger } from '@outlay/testing'
import { expect, it, onTestFinished, vi } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { inspect } from '../../test/inspection.ts'
import { sampleAccount, testContext, testSchema, testService } from '../../test/service.ts'
import type { WalletCustody, WalletOrder } from '../addresses/custody.ts'
import type { AddressResource } from '../addresses/view.ts'
import type { ServiceContext } from '../context.ts'
import { createSimulatedCustody } from '../rails/simulated/custody.ts'
import { onboardDue, startOnboarding } from './onboarding.ts'

const { pool, open: openPool } = await serviceDatabase()
const small = openPool(2)
const simulated = createSimulatedCustody()

/** A custodian that remembers for which accounts it has provided wallets. */
function vault(after: (order: WalletOrder) => void | Promise<void> = () => undefined) {
  const provided: string[] = []
  const custody: WalletCustody = {
    name: 'vault',
    async provision(order, options) {
      const addresses = await simulated.provision(order, options)
      provided.push(order.accountId)
      await after(order)
      return addresses
    },
  }
  return { provided, custody }
}

const open = async (parts: Partial<ServiceContext>) => {
  const clock = manualClock()
  const context = testContext({ pool, logger: recordingLogger(), clock, ...parts })
  const service = testService(context)
  const { token } = await service.signIn({ environment: 'mainnet' })
  return {
    ...{ clock, context, service, token },
    register: (key: string) =>
      service.call<{ id: string; code?: string }>('/accounts', { token, key, body: sampleAccount }),
    accounts: async () => (await service.call<{ accounts: string[] }>('/accounts', { token })).json.accounts,
    wallets: async (id: string) =>
      (await service.call<{ addresses: readonly AddressResource[] }>(`/accounts/${id}/addresses`, { token })).json
        .addresses.length,
  }
}

it('whatever a custodian provides before it throws belongs to an account that is there, under every repeat', async () => {
  let isDown = true
  const { provided, custody } = vault(() => {
    if (isDown) throw new Error('The answer was lost.')
  })
  const { register, accounts, wallets, context } = await open({ custody })
  const first = await register('one')
  const second = await register('one')
  expect([first.status, second.status, second.json.id]).toEqual([201, 201, first.json.id])
  isDown = false
  await onboardDue(context)
  expect(await wallets(first.json.id)).toBe(5)
  expect(new Set(provided)).toEqual(new Set(await accounts()))
})

it('a create that is refused or undone asks the custodian for nothing', async () => {
  const { provided, custody } = vault()
  const { service, token, register, accounts } = await open({ custody })
  const refused = await service.call('/accounts', { token, key: 'bad', body: { ...sampleAccount, ein: 'none' } })
  expect(refused.status).toBe(422)
  await inspect(pool).query(
    `create function ${testSchema}.refuse_account() returns trigger language plpgsql as $$ begin raise exception 'undone'; end $$`,
  )
  await inspect(pool).query(
    `create constraint trigger undone after insert on ${testSchema}.account deferrable initially deferred
       for each row execute function ${testSchema}.refuse_account()`,
  )
  onTestFinished(async () => {
    await inspect(pool).query(`drop function ${testSchema}.refuse_account() cascade`)
  })
  expect((await register('undone')).status).toBe(500)
  expect([provided, await accounts()]).toEqual([[], []])
})

it('a process that dies while the custodian answers leaves the account to the worker, after its lease', async () => {
  const never = new Promise<never>(() => undefined)
  const asked = Promise.withResolvers<string>()
  const { custody } = vault(async ({ accountId }) => {
    asked.resolve(accountId)
    await never
  })
  const { register, wallets, clock, context } = await open({ custody, railTimeoutMs: 600_000 })
  void register('dies')
  const accountId = await asked.promise
  const survivor = testContext({ pool, clock, secrets: context.secrets, custody: simulated })
  await onboardDue(survivor)
  expect(await wallets(accountId)).toBe(0)
  clock.advance(60_001)
  await onboardDue(survivor)
  expect(await wallets(accountId)).toBe(5)
})

it('two registrations with one key are one account, for which the custodian is asked', async () => {
  const { provided, custody } = vault()
  const { context, register, accounts, token } = await open({ custody })
  const another = testService(context)
  const answers = await Promise.all([
    register('both'),
    another.call<{ id: string }>('/accounts', { token, key: 'both', body: sampleAccount }),
  ])
  const [id] = await accounts()
  expect(answers.map(({ status, json }) => [status, json.id])).toEqual([
    [201, id],
    [201, id],
  ])
  expect(new Set(provided)).toEqual(new Set([id]))
})

it('accounts whose custodian hangs delay neither the wallets of other clients, nor a statement on the pool', async () => {
  const hanging = new Set<string>()
  const held = Promise.withResolvers<readonly string[]>()
  onTestFinished(() => held.resolve([]))
  const slow = new Set<string>()
  const custody: WalletCustody = {
    name: 'vault',
    provision(order, options) {
      if (!slow.has(order.accountId)) return simulated.provision(order, options)
      hanging.add(order.accountId)
      return held.promise
    },
  }
  const clock = manualClock()
  const logger = recordingLogger()
  const before = testService(testContext({ pool: small, clock, logger, custody: undefined }))
  const { token } = await before.signIn({ environment: 'mainnet' })
  for (let count = 0; count < 30; count += 1) slow.add(await before.createAccount(token))
  clock.advance(1)
  const { token: other } = await before.signIn({ environment: 'mainnet' })
  const honest = await before.createAccount(other)
  const context = testContext({ pool: small, clock, logger, custody, railTimeoutMs: 600_000 })
  const worker = startOnboarding(context, { pollIntervalMs: 20 })
  const walletsOf = async () =>
    (await before.call<{ addresses: unknown[] }>(`/accounts/${honest}/addresses`, { token: other })).json.addresses
  await vi.waitFor(async () => expect(await walletsOf()).toHaveLength(5), { timeout: 60_000 })
  // One client has half of the places of the worker, however often its calls are repeated.
  expect(hanging.size).toBe(10)
  for (let round = 0; round < 3; round += 1) clock.advance(61_000)
  const again = await before.createAccount(other)
  await vi.waitFor(
    async () =>
      expect(
        (await before.call<{ addresses: unknown[] }>(`/accounts/${again}/addresses`, { token: other })).json.addresses,
      ).toHaveLength(5),
    { timeout: 60_000 },
  )
  held.resolve([])
  await worker.stop()
})
