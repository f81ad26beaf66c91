import { defaultCatalog } from '@outlay/core'
import { silentLogger } from '@outlay/testing'
import { expect, it } from 'vitest'
import { createSimulatedCustody } from '../rails/simulated/custody.ts'
import { planWallets, provisionWallets } from './wallets.ts'

it.each(['mainnet', 'testnet'] as const)(
  'plans one wallet for all EVM chains of %s, first, and one per other chain',
  (environment) => {
    const [evm, ...others] = planWallets(defaultCatalog, environment)
    const chains = defaultCatalog.transferTypes.filter(
      (one) => one.family !== 'bank' && one.environment === environment,
    )
    expect(evm?.transferTypes).toEqual(chains.filter((one) => one.family === 'evm').map((one) => one.name))
    expect(others.every((wallet) => wallet.family !== 'evm' && wallet.transferTypes.length === 1)).toBe(true)
    expect([evm, ...others].flatMap((wallet) => wallet?.transferTypes ?? []).sort()).toEqual(
      chains.map((one) => one.name).sort(),
    )
  },
)

it('a custodian that hangs for one client provides the wallets of others, and those for which nobody waits', async () => {
  const simulated = createSimulatedCustody()
  const end = Promise.withResolvers<void>()
  const asked: string[] = []
  const custody: typeof simulated = {
    ...simulated,
    async provision(order, options) {
      asked.push(order.accountId)
      if (order.accountId.startsWith('busy')) await end.promise
      return await simulated.provision(order, options)
    },
  }
  const context = { custody, catalog: defaultCatalog, logger: silentLogger, schema: 'outlay', railTimeoutMs: 60_000 }
  const noneUsed = { send: async () => ({ rows: [] }) }
  const provision = (id: string, clientId?: string) =>
    provisionWallets(noneUsed, context, { id, environment: 'testnet' }, clientId)
  const hung = Array.from({ length: 80 }, (_, at) => provision(`busy ${at}`, 'busy'))
  expect(await provision('busy 80', 'busy')).toBeUndefined()
  expect(asked).toHaveLength(16)
  expect(await provision('other', 'other')).toBeDefined()
  expect(await provision('account')).toBeDefined()
  end.resolve()
  expect((await Promise.all(hung)).filter((wallets) => wallets === undefined)).toEqual([])
})
