import { type Catalog, defaultCatalog } from '@outlay/core'
import { type ConnectionOptions, createConnection } from './connection.ts'
import { type Dialect, readDialect } from './dialect.ts'
import type { ForwardCursor } from './pagination.ts'
import { type AccountsResource, createAccounts } from './resources/accounts.ts'
import { type AddressesResource, createAddresses } from './resources/addresses.ts'
import { type AutomationsResource, createAutomations } from './resources/automations.ts'
import { type BalancesResource, createBalances } from './resources/balances.ts'
import { type BankLinkPaths, type BankLinksResource, createBankLinks } from './resources/bank-links.ts'
import { createFinancialInstitutions, type FinancialInstitutionsResource } from './resources/financial-institutions.ts'
import { createQuotes, type QuotesResource } from './resources/quotes.ts'
import type { ResourceContext } from './resources/resource.ts'
import { createTransfers, type TransfersResource } from './resources/transfers.ts'
import { createWebhooks, type WebhooksResource } from './resources/webhooks.ts'
import { createRequester, type RetryOptions, type Wait } from './retry.ts'

/** Options of {@link createClient}. */
export interface ClientOptions extends ConnectionOptions {
  /** How the client retries a request. */
  readonly retries?: RetryOptions | undefined
  /** Name of the forward cursor. Default `page[after]`. */
  readonly forwardCursor?: ForwardCursor | undefined
  /** Value types and transfer types that requests are checked against and whose spelling answers get. Default: the catalog of core. */
  readonly catalog?: Catalog | undefined
  /**
   * The contract that requests follow where one request cannot satisfy both. Answers of both are read whatever it is. Default:
   * `specification`.
   */
  readonly dialect?: Dialect | undefined
  /** Paths of bank linking at the service. Default: `banklink` below the account, by the public contract `plaid`. */
  readonly bankLinkPaths?: BankLinkPaths | undefined
  /** How the client waits between attempts. Default: a timer. */
  readonly wait?: Wait | undefined
}

/** A client of one service. The first argument of every method is the account whose credentials it uses. */
export interface Client {
  readonly accounts: AccountsResource
  readonly addresses: AddressesResource
  readonly automations: AutomationsResource
  readonly balances: BalancesResource
  readonly bankLinks: BankLinksResource
  readonly financialInstitutions: FinancialInstitutionsResource
  readonly quotes: QuotesResource
  readonly transfers: TransfersResource
  readonly webhooks: WebhooksResource
  /** Closes connections when their requests are done. A dispatcher from the options stays open. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Makes a client that needs neither a database nor an engine.
 *
 * It retries requests after timeouts, broken connections, 429 and 5xx, with the same idempotency key.
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
  const dialect = readDialect(options.dialect)
  const connection = createConnection(options, [
    'retries',
    'forwardCursor',
    'catalog',
    'dialect',
    'bankLinkPaths',
    'wait',
  ])
  const context: ResourceContext = {
    requester: createRequester(connection, options.retries ?? {}, options.wait),
    forwardCursor: options.forwardCursor ?? 'page[after]',
    catalog: catalogOf(options.catalog ?? defaultCatalog, dialect),
    dialect,
  }
  return {
    accounts: createAccounts(context),
    addresses: createAddresses(context),
    automations: createAutomations(context),
    balances: createBalances(context),
    bankLinks: createBankLinks(context, options.bankLinkPaths),
    financialInstitutions: createFinancialInstitutions(context),
    quotes: createQuotes(context),
    transfers: createTransfers(context),
    webhooks: createWebhooks(context),
    close: () => connection.close(),
    [Symbol.asyncDispose]: () => connection.close(),
  }
}

/** By the public contract, one token moves between chains. */
function catalogOf(catalog: Catalog, dialect: Dialect): Catalog {
  return dialect === 'public' ? { ...catalog, movesBetweenChains: true } : catalog
}
