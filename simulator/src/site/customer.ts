import { type EnqueueRequest, type Gateway, OutlayError } from '@outlay/core'
import { type Client, createClient, httpGateway, outlayKeyLifetimeMs } from '@outlay/http-client'
import type { SeedClient, SeededClient } from '@outlay/service/sandbox'
import { addresses } from '@outlay/testing'

/** One customer of the service with one account, as every program of the site knows it. */
export interface Customer {
  readonly accountId: string
  readonly walletId: string
  readonly payeeId: string
  readonly credentials: { readonly clientId: string; readonly clientSecret: string }
}

/** Whole units of USDC that a customer has: more than a run pays out. */
export const customerFunds = 100_000_000

/** What the service is seeded with. */
export const seedOf = (count: number): readonly SeedClient[] =>
  Array.from({ length: count }, (_, index) => ({
    name: `Customer ${index}`,
    accounts: [
      {
        businessName: `Customer ${index}`,
        funds: [{ valueType: 'USDC', transferType: 'base', amount: String(customerFunds) }],
      },
    ],
  }))

/** Makes a customer of a client that was seeded, and registers whom it pays. The client sees no faults of the network. */
export async function welcome(
  serviceUrl: string,
  { clientId, clientSecret, accounts: [account] }: SeededClient,
): Promise<{ readonly customer: Customer; readonly client: Client }> {
  const wallet = account?.wallets.find(({ transferTypes }) => transferTypes.includes('base'))
  if (account === undefined || wallet === undefined) throw new Error('The sandbox made no wallet on Base.')
  const credentials = { clientId, clientSecret }
  const client = createClient({ baseUrl: serviceUrl, credentials })
  const payee = { name: 'Ada', address: addresses.evm[0], transferTypes: ['base'] }
  const { id: payeeId } = await client.addresses.createExternal(account.accountId, payee)
  return { customer: { accountId: account.accountId, walletId: wallet.addressId, payeeId, credentials }, client }
}

/** A gateway to the service, as the client of each customer. */
export const gatewayOf = (baseUrl: string, customers: readonly Customer[]): Gateway =>
  httpGateway({
    keyLifetimeMs: outlayKeyLifetimeMs,
    baseUrl,
    // Programs reach it through proxies of their own.
    serviceName: 'service',
    credentials: (accountId) => {
      const found = customers.find((customer) => customer.accountId === accountId)
      if (found === undefined) throw new OutlayError('unauthenticated', `${accountId} is nobody's.`)
      return found.credentials
    },
    timeouts: { headersMs: 5_000, bodyMs: 5_000 },
  })

/** What a payout asks for; `number` is its own, and decides its key. */
export const payoutOf = (customer: Customer, number: number, cents: number): EnqueueRequest => ({
  accountId: customer.accountId,
  idempotencyKey: `payout-${number}`,
  note: `payout ${number}`,
  amount: { value: `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`, currency: 'USDC' },
  source: { addressId: customer.walletId, valueType: 'USDC', transferType: 'base' },
  destination: { addressId: customer.payeeId, valueType: 'USDC', transferType: 'base' },
})
