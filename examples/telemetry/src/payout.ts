import type { EnqueueRequest } from '@outlay/core'
import { type Credentials, createClient } from '@outlay/http-client'
import type { SimulatedRails } from '@outlay/service'
import type { Sandbox } from '@outlay/service/sandbox'

/** Registers an account with play money and a payee, and returns a payout between the two. */
export async function preparePayout(
  sandbox: Sandbox,
): Promise<{ readonly credentials: Credentials; readonly payout: EnqueueRequest }> {
  const { accounts, clientId, clientSecret } = await sandbox.seedClient({
    name: 'Payroll',
    accounts: [{ businessName: 'Acme', funds: [{ valueType: 'USDC', transferType: 'base', amount: '5000' }] }],
  })
  const [account] = accounts
  const wallet = account?.wallets.find(({ transferTypes }) => transferTypes.includes('base'))
  if (account === undefined || wallet === undefined) throw new Error('The sandbox made no wallet on Base.')
  const { accountId } = account
  const credentials = { clientId, clientSecret }
  await using client = createClient({ baseUrl: sandbox.url, credentials })
  const payee = { name: 'Ada Park', address: '0x7a39eB597c91da3F10f8702982a20372C2eb6499', transferTypes: ['base'] }
  const { id } = await client.addresses.createExternal(accountId, payee)
  const usdcOnBase = { valueType: 'USDC', transferType: 'base' }
  const payout = {
    accountId,
    amount: { value: '1250.00', currency: 'USDC' },
    source: { addressId: wallet.addressId, ...usdcOnBase },
    destination: { addressId: id, ...usdcOnBase },
  }
  return { credentials, payout }
}

/** Moves the sandbox's clock forward, so that chains need no time. */
export async function advanceClock(sandbox: Sandbox): Promise<void> {
  const rails = sandbox.service.context.rails as SimulatedRails
  await rails.simulation.advance(60_000)
}
