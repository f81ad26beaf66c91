import type { Sandbox, SeededClient } from '@outlay/service/sandbox'
import { addresses } from '@outlay/testing'
import { openSubject, type ServiceConformanceOptions, type ServiceSubject } from '@outlay/testing/conformance/cases'

/** A client with one account over HTTP. Its wallet on Base holds some USDC. */
export async function openAccount(sandbox: Sandbox, amount: string): Promise<ServiceSubject> {
  const funds = [{ valueType: 'USDC', transferType: 'base', amount }]
  const seeded = await sandbox.seedClient({ name: 'Acme', accounts: [{ businessName: 'Acme', funds }] })
  return openSubject(toOptions(sandbox.url, seeded))
}

/** Access to a seeded client's first account. */
export function toOptions(
  baseUrl: string,
  { clientId, clientSecret, accounts }: SeededClient,
): ServiceConformanceOptions {
  const accountId = accounts[0]?.accountId
  if (accountId === undefined) throw new Error('The client was seeded without an account.')
  return { baseUrl, clientId, clientSecret, accountId, simulations: true }
}

/** The body of a payout of 1 USDC on Base to a registered counterparty. */
export async function payoutBody(account: ServiceSubject) {
  const payeeId = await account.register({ name: 'Ada', address: addresses.evm[0], transfer_types: ['base'] })
  const leg = (id: string) => ({ address_id: id, value_type: 'USDC', transfer_type: 'base' })
  return {
    amount: { value: '1', currency: 'USDC' },
    source: leg(await account.wallet('base')),
    destination: leg(payeeId),
  }
}
