import type { EnqueueRequest, TransferDestination, TransferRequest } from '@outlay/core'
import { type Client, createClient } from '@outlay/http-client'
import { type Sandbox, type SeedClient, type SeededClient, startSandbox } from '@outlay/service/sandbox'
import { addresses, waitUntil } from '@outlay/testing'
import { type Host, type HostOptions, type HostSettings, openHost } from './host.ts'

/** A payout to an address that the service knows. */
export interface Payout extends Omit<EnqueueRequest, 'destination'> {
  readonly destination: TransferDestination
}

/** Both sides for one test: an account at the service with money, and a payee. */
export interface Stage {
  /** A client of the account without faults. */
  readonly client: Client
  readonly accountId: string
  readonly walletId: string
  readonly payeeId: string
  /** Settings of a host of this account, whose requests go to `serviceUrl`. */
  settings(databaseUrl: string, serviceUrl: string): HostSettings
  /** The balance of the wallet, in USDC on Base. */
  balance(): Promise<string | undefined>
  /** Lets the service's time run. */
  advance(seconds: number): Promise<void>
  /** Sends dollars by wire to an account number at the service. */
  deposit(accountNumber: string, amount: string): Promise<void>
  /** A payout in USDC from the wallet to the payee. */
  payout(overrides?: Partial<Payout>): Payout
  /** The same, as another system would send it to the service. */
  request(overrides?: Partial<TransferRequest>): TransferRequest
}

/** A client with one account, whose wallet on Base has a million. */
export const seedClient: SeedClient = {
  name: 'Acme',
  accounts: [{ businessName: 'Acme', funds: [{ valueType: 'USDC', transferType: 'base', amount: '1000000' }] }],
}

/** Sets a stage with a client that the service at `url` was seeded with, and registers a payee over HTTP. */
export async function setStage(url: string, seeded: SeededClient): Promise<Stage> {
  const account = seeded.accounts[0]
  const wallet = account?.wallets.find(({ transferTypes }) => transferTypes.includes('base'))
  if (account === undefined || wallet === undefined) throw new Error('The sandbox made no wallet on Base.')
  const { accountId } = account
  const credentials = { clientId: seeded.clientId, clientSecret: seeded.clientSecret }
  const client = createClient({ baseUrl: url, credentials })
  const payee = { name: 'Ada', address: addresses.evm[0], transferTypes: ['base'] }
  const { id: payeeId } = await client.addresses.createExternal(accountId, payee)
  const request = (overrides: Partial<TransferRequest> = {}): TransferRequest => ({
    amount: { value: '12.50', currency: 'USDC' },
    source: { addressId: wallet.addressId, valueType: 'USDC', transferType: 'base' },
    destination: { addressId: payeeId, valueType: 'USDC', transferType: 'base' },
    ...overrides,
  })
  return {
    client,
    accountId,
    walletId: wallet.addressId,
    payeeId,
    settings: (databaseUrl, serviceUrl) => ({ databaseUrl, serviceUrl, ...credentials }),
    ...(await openSimulations(url, credentials)),
    async balance() {
      const filters = { valueType: 'USDC', transferType: 'base' }
      return (await client.balances.get(accountId, wallet.addressId, filters))?.balance.value
    },
    payout: (overrides) => ({ accountId, ...request(), ...overrides }),
    request,
  }
}

async function openSimulations(
  url: string,
  { clientId, clientSecret }: { readonly clientId: string; readonly clientSecret: string },
): Promise<Pick<Stage, 'advance' | 'deposit'>> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  })
  const granted = await fetch(`${url}/oauth2/token`, { method: 'POST', body })
  const { access_token: token } = (await granted.json()) as { readonly access_token: string }
  const simulate = async (path: string, what: object) => {
    const answer = await fetch(`${url}/simulations${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(what),
    })
    if (!answer.ok) throw new Error(`${path} does not work: HTTP ${answer.status} ${await answer.text()}`)
  }
  return {
    advance: (seconds) => simulate('/clock/advance', { seconds }),
    deposit: (accountNumber, amount) =>
      simulate('/wires', { account_number: accountNumber, amount, sender_name: 'Globex' }),
  }
}

/** Starts a service in this process. */
export const startService = (databaseUrl: string): Promise<Sandbox> => startSandbox({ databaseUrl })

/** The transfers of both sides at the end. */
export interface Account {
  readonly host: readonly { readonly id: string; readonly remoteId: string; readonly status: string }[]
  readonly service: readonly { readonly id: string; readonly status: string }[]
  readonly effects: readonly { readonly transfer_id: string; readonly type: string }[]
}

/** Lets the service's time run until the host has settled everything, then reads both sides. */
export async function settleAll(stage: Stage, host: Host, timeoutMs = 120_000): Promise<Account> {
  await waitUntil(
    async () => {
      await stage.advance(60)
      const { queued, submitting, awaitingFunds, submitted, undelivered } = await host.engine.backlog()
      return queued + submitting + awaitingFunds + submitted + undelivered === 0
    },
    { timeoutMs, describe: 'everything to settle' },
  )
  const stored = await host.pool.query('select id, remote_id as "remoteId", status from outlay.transfer order by id')
  const effects = await host.pool.query('select transfer_id, type from effect order by 1')
  return { host: stored.rows, service: await listTransfers(stage), effects: effects.rows }
}

async function listTransfers({ client, accountId }: Stage): Promise<Account['service']> {
  const found = []
  for await (const { id, status } of client.transfers.iterate(accountId)) found.push({ id, status })
  return found
}

/** Opens the host of a stage in this process, without workers until its engine is started. */
export const openStageHost = (stage: Stage, databaseUrl: string, serviceUrl: string, options?: HostOptions): Host =>
  openHost(stage.settings(databaseUrl, serviceUrl), options)
