import { Address, defaultCatalog } from '@outlay/core'
import { seededRandom } from '@outlay/testing'
import { expect, it } from 'vitest'
import { deriveAddress, planWallets } from './wallets.ts'

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

it.each(['evm', 'solana', 'stellar', 'xrp', 'canton'] as const)(
  'derives %s addresses that pass their own rules',
  (family) => {
    const random = seededRandom(7)
    for (let round = 0; round < 200; round += 1) {
      const address = deriveAddress(family, random)
      expect(Address.parse(family, address)).toBe(address)
    }
  },
)
