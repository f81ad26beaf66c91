import { defaultCatalog } from '@outlay/core'
import { expect, it } from 'vitest'
import { planWallets } from './wallets.ts'

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
