import '@outlay/core/node-version'
import { createHash } from 'node:crypto'
import { type ServerType, serve } from '@hono/node-server'
import {
  type Catalog,
  Id,
  type Logger,
  type Telemetry,
  type TransferTypeName,
  type ValueTypeName,
  type WorkOptions,
} from '@outlay/core'
import { Client, Pool } from 'pg'
import { createAccount, prepareAccount } from '../accounts/accounts.ts'
import { type NewAccount, parseNewAccount } from '../accounts/input.ts'
import { type ClientCredentials, registerClient } from '../clients/clients.ts'
import { inTransaction, type ServiceContext, type Tx } from '../context.ts'
import { asSystem } from '../database/tenant.ts'
import { limitedServer, type ServerLimits } from '../http/server-limits.ts'
import { deposit } from '../ledger/deposits.ts'
import type { Environment, Scope } from '../schema/caller.ts'
import { createService, type Service } from '../service.ts'
import type { ServiceOptions } from '../service-options.ts'
import { listWallets, type WalletId } from './wallets.ts'

/** Options of {@link startSandbox}. */
export interface SandboxOptions {
  /** An empty database, or one of an earlier sandbox. */
  readonly databaseUrl: string
  /** Default 0: any free port. */
  readonly port?: number | undefined
  /** Default `127.0.0.1`. */
  readonly host?: string | undefined
  /** Default `outlay_service`. */
  readonly schema?: string | undefined
  /**
   * 32 octets. Default: a key that is published and protects nothing, with a warning in the log; there is no default for a database on
   * another machine.
   */
  readonly encryptionKey?: Uint8Array | undefined
  /** Allows webhooks to private addresses and over plain HTTP. Default: true for a database on this machine, otherwise false. */
  readonly allowPrivateWebhooks?: boolean | undefined
  /** Value types and transfer types. Default: the built-in ones. */
  readonly catalog?: Catalog | undefined
  /** What decides where the two contracts contradict each other. Default `specification`. */
  readonly dialect?: ServiceOptions['dialect']
  /** Path segments of bank linking beside `banklink`. Default: none, and `plaid` in the public dialect. */
  readonly bankLinkAliases?: readonly string[] | undefined
  /** Maximum number of connections to the database. Default 20. */
  readonly poolSize?: number | undefined
  /** Default: no logs. */
  readonly logger?: Logger | undefined
  /** Default: none. */
  readonly telemetry?: Telemetry | undefined
  readonly rateLimit?: ServiceContext['rateLimit']
  /** Whether a client may move the clock, which is one for all clients. Default: every client may. */
  readonly mayMoveClock?: ServiceOptions['mayMoveClock']
  /** Base URL at which clients reach the sandbox. Default: the address that the connection came to. */
  readonly publicUrl?: string | undefined
  /** Number of proxies in front of it. Default 0. */
  readonly trustedProxies?: number | undefined
  /** Options of the engine's workers. */
  readonly engine?: WorkOptions | undefined
  /** Time limits and maximum number of connections. Default: those of {@link limitedServer}. */
  readonly limits?: Partial<ServerLimits> | undefined
}

/** Play money for a new account's wallet. */
export interface SeedFunds {
  readonly valueType: ValueTypeName
  /** A chain of the client's environment. */
  readonly transferType: TransferTypeName
  /** Decimal string. */
  readonly amount: string
}

/** A client to register, with its accounts. The first one is its own. */
export interface SeedClient {
  readonly name: string
  /** Default `mainnet`: the names of the main chains, with play money. */
  readonly environment?: Environment | undefined
  /** Default: every scope. */
  readonly scopes?: readonly Scope[] | undefined
  readonly accounts: readonly { readonly businessName: string; readonly funds?: readonly SeedFunds[] | undefined }[]
}

/** A registered client. */
export interface SeededClient extends ClientCredentials {
  /** In the order given. */
  readonly accounts: readonly {
    readonly accountId: string
    readonly businessName: string
    readonly wallets: readonly WalletId[]
  }[]
}

/** A listening service with simulated rails. */
export interface Sandbox extends AsyncDisposable {
  /** Base address, without a slash at the end. */
  readonly url: string
  readonly service: Service
  /** Registers a client with accounts and play money. */
  seedClient(client: SeedClient): Promise<SeededClient>
  /** Waits for requests in progress, then closes the server and the connections. Safe to call twice. */
  stop(): Promise<void>
}

/**
 * Starts the whole service over HTTP with simulated rails on a virtual clock. Everything is in Postgres: a sandbox that is
 * killed continues when it is started on the same database again.
 *
 * @throws Error for a database on another machine without `encryptionKey`.
 *
 * @example
 * await using sandbox = await startSandbox({ databaseUrl })
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const isLocal = isOnThisMachine(options.databaseUrl)
  const encryptionKey = options.encryptionKey ?? publishedKey(isLocal, options.logger)
  const pool = new Pool({
    connectionString: options.databaseUrl,
    max: options.poolSize ?? 20,
    connectionTimeoutMillis: 10_000,
  })
  // A closing connection can still receive the error that the database stops. While the service runs, it logs such errors.
  pool.on('error', () => {})
  const service = createService({
    pool,
    schema: options.schema,
    rails: 'simulated',
    encryptionKey,
    catalog: options.catalog,
    dialect: options.dialect,
    bankLinking: { provider: 'simulated', pathAliases: options.bankLinkAliases },
    logger: options.logger,
    telemetry: options.telemetry,
    rateLimit: options.rateLimit,
    mayMoveClock: options.mayMoveClock,
    publicUrl: options.publicUrl,
    trustedProxies: options.trustedProxies,
    engine: options.engine,
    allowPrivateWebhooks: options.allowPrivateWebhooks ?? isLocal,
  })
  try {
    await service.migrate()
    await service.start()
    const { server, url } = await listen(service, options)
    let stopping: Promise<void> | undefined
    const stop = () => (stopping ??= shutDown(server, service, pool))
    return {
      url,
      service,
      seedClient: (client) => seed(service.context, client),
      stop,
      [Symbol.asyncDispose]: stop,
    }
  } catch (error) {
    await service.stop().catch(() => undefined)
    await pool.end()
    throw error
  }
}

function isOnThisMachine(databaseUrl: string): boolean {
  const { host } = new Client({ connectionString: databaseUrl })
  return host.startsWith('/') || /^(localhost|127\.\d+\.\d+\.\d+|::1|\[::1\])$/i.test(host)
}

function publishedKey(isLocal: boolean, logger: Logger | undefined): Uint8Array {
  const stake = 'it reads bank accounts, tax ids and secrets of webhooks that are stored'
  if (!isLocal)
    throw new Error(`Give the sandbox an encryptionKey: everybody knows its default, and with the database ${stake}.`)
  logger?.warn(
    {},
    `The sandbox encrypts with a key that everybody knows: with the database ${stake}. Give it only test data.`,
  )
  return createHash('sha256').update('outlay sandbox').digest()
}

function listen(
  service: Service,
  { host: hostname = '127.0.0.1', port = 0, limits }: SandboxOptions,
): Promise<{ readonly server: ServerType; readonly url: string }> {
  return new Promise((resolve, reject) => {
    const server = serve({ fetch: service.fetch, hostname, port, createServer: limitedServer(limits) }, (info) => {
      server.off('error', reject)
      resolve({ server, url: `http://${hostname}:${info.port}` })
    })
    server.once('error', reject)
  })
}

async function shutDown(server: ServerType, service: Service, pool: Pool): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  if ('closeIdleConnections' in server) server.closeIdleConnections()
  const grace = setTimeout(() => {
    if ('closeAllConnections' in server) server.closeAllConnections()
  }, 2_000)
  await closed
  clearTimeout(grace)
  try {
    await service.stop()
  } finally {
    await pool.end()
  }
}

async function seed(context: ServiceContext, client: SeedClient): Promise<SeededClient> {
  const environment = client.environment ?? 'mainnet'
  const prepared = await Promise.all(
    client.accounts.map(() => prepareAccount(asSystem(context), context, { environment })),
  )
  return await inTransaction(context, async (tx) => {
    const credentials = await registerClient(tx, context, { name: client.name, environment, scopes: client.scopes })
    const accounts = []
    for (const [at, { businessName, funds = [] }] of client.accounts.entries()) {
      const owner = { clientId: credentials.clientId, environment }
      const { id } = await createAccount(tx, context, owner, seedAccount(businessName), prepared[at])
      const wallets = await listWallets(tx, context, id)
      for (const one of funds) await depositInto(tx, context, id, wallets, one)
      accounts.push({ accountId: id, businessName, wallets })
    }
    return { ...credentials, accounts }
  })
}

async function depositInto(
  tx: Tx,
  context: ServiceContext,
  accountId: string,
  wallets: readonly WalletId[],
  funds: SeedFunds,
): Promise<void> {
  const wallet = wallets.find(({ transferTypes }) => transferTypes.includes(funds.transferType))
  if (wallet === undefined) throw new Error(`The account has no wallet on ${funds.transferType}.`)
  const reference = Id.generate(context.clock, context.random)
  await deposit(tx, context, { ...funds, accountId, addressId: wallet.addressId, reference })
}

function seedAccount(businessName: string): NewAccount {
  return parseNewAccount({
    business_name: businessName,
    ein: '123456789',
    address: { street_line_1: '1 Sandbox Plaza', city: 'Chicago', state: 'IL', zip: '60601' },
    phone_number: '+13125550100',
    email: 'owner@example.com',
    website: 'https://example.com',
    ultimate_beneficial_owners: [],
  })
}
