import { type Catalog, defaultCatalog } from '@outlay/core'
import { type ConnectionOptions, createConnection } from './connection.ts'
import type { ForwardCursor } from './pagination.ts'
import { type AccountsResource, createAccounts } from './resources/accounts.ts'
import { type AddressesResource, createAddresses } from './resources/addresses.ts'
import { type AutomationsResource, createAutomations } from './resources/automations.ts'
import { type BalancesResource, createBalances } from './resources/balances.ts'
import { type BankLinkPaths, type BankLinksResource, createBankLinks } from './resources/bank-links.ts'
import { createFinancialInstitutions, type FinancialInstitutionsResource } from './resources/financial-institutions.ts'
import type { ResourceContext } from './resources/resource.ts'
import { createTransfers, type TransfersResource } from './resources/transfers.ts'
import { createWebhooks, type WebhooksResource } from './resources/webhooks.ts'
import { createRequester, type RetryOptions, type Wait } from './retry.ts'

/** How a client reaches the service, and how it behaves there. */
export interface ClientOptions extends ConnectionOptions {
  /** How often a request is repeated. */
  readonly retries?: RetryOptions | undefined
  /** Name of the forward cursor. Default `page[after]`. */
  readonly forwardCursor?: ForwardCursor | undefined
  /** Value types and transfer types that requests are checked against, and in whose spelling answers are read. Default: the catalog of core. */
  readonly catalog?: Catalog | undefined
  /** Where the service keeps bank linking. Default: `banklink` below the account. */
  readonly bankLinkPaths?: BankLinkPaths | undefined
  /** How the client waits between attempts. Default: a timer. */
  readonly wait?: Wait | undefined
}

/** A client of one service. The account comes first in every method; its credentials are used. */
export interface Client {
  readonly accounts: AccountsResource
  readonly addresses: AddressesResource
  readonly automations: AutomationsResource
  readonly balances: BalancesResource
  readonly bankLinks: BankLinksResource
  readonly financialInstitutions: FinancialInstitutionsResource
  readonly transfers: TransfersResource
  readonly webhooks: WebhooksResource
  /** Closes connections once their requests are done. A dispatcher that was given stays open. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Makes a client that needs nothing else: no database, no engine.
 *
 * Requests are repeated on timeouts, broken connections, 429 and 5xx, with the same idempotency key.
 *
 * @example
 * await using client = createClient({ baseUrl: 'https://api.example.com', credentials: { clientId, clientSecret } })
 * const { id } = await client.transfers.create(accountId, {
 *   amount: { value: '1250.00', currency: 'USD' },
 *   source: { addressId: wallet, valueType: 'USDC', transferType: 'base' },
 *   destination: { addressId: bank, valueType: 'USD', transferType: 'wire' },
 * })
 */
export function createClient(options: ClientOptions): Client {
  const connection = createConnection(options)
  const context: ResourceContext = {
    requester: createRequester(connection, options.retries ?? {}, options.wait),
    forwardCursor: options.forwardCursor ?? 'page[after]',
    catalog: options.catalog ?? defaultCatalog,
  }
  return {
    accounts: createAccounts(context),
    addresses: createAddresses(context),
    automations: createAutomations(context),
    balances: createBalances(context),
    bankLinks: createBankLinks(context, options.bankLinkPaths),
    financialInstitutions: createFinancialInstitutions(context),
    transfers: createTransfers(context),
    webhooks: createWebhooks(context),
    close: () => connection.close(),
    [Symbol.asyncDispose]: () => connection.close(),
  }
}
