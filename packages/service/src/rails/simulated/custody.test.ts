import { Address, defaultCatalog } from '@outlay/core'
import { seededRandom } from '@outlay/testing'
import { expect, it } from 'vitest'
import { planWallets } from '../../addresses/wallets.ts'
import { createSimulatedCustody, deriveAddress } from './custody.ts'

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

it('gives an account the same addresses again, and another account others', async () => {
  const custody = createSimulatedCustody()
  const wallets = planWallets(defaultCatalog, 'mainnet')
  const options = { signal: new AbortController().signal }
  const provision = (accountId: string) => custody.provision({ accountId, environment: 'mainnet', wallets }, options)
  const [first, again, other] = [await provision('a'), await provision('a'), await provision('b')]
  expect(again).toEqual(first)
  expect(new Set([...first, ...other]).size).toBe(2 * wallets.length)
})
