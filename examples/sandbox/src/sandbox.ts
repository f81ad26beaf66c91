import { randomBytes } from 'node:crypto'
import type { Engine } from '@outlay/core'
import { type Client, type Credentials, createClient } from '@outlay/http-client'
import { createService } from '@outlay/service'
import { startSandbox } from '@outlay/service/sandbox'
import { waitUntil } from '@outlay/testing'
import pg from 'pg'

/** Settings for a host application to reach the service. A real one reads them from its configuration and its vault. */
export interface ServiceAccess {
  readonly baseUrl: string
  readonly credentials: Credentials
  /** The host's account at the service. */
  readonly accountId: string
  /** The account's custodial wallet, which holds USDC on Base. */
  readonly walletId: string
  /** Secrets that the account's webhooks are signed with. */
  readonly webhookSecrets: (accountId: string) => readonly string[]
}

/** The same as variables of an environment, for hosts that read theirs. */
export function toEnvironment(databaseUrl: string, access: ServiceAccess): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    SERVICE_URL: access.baseUrl,
    CLIENT_ID: access.credentials.clientId,
    CLIENT_SECRET: access.credentials.clientSecret,
    ACCOUNT_ID: access.accountId,
    WALLET_ID: access.walletId,
    WEBHOOK_SECRETS: access.webhookSecrets(access.accountId).join(' '),
  }
}

/** The service with simulated banks, and the account of one host application with money in it. */
export interface ExampleSandbox extends AsyncDisposable {
  readonly access: ServiceAccess
  /**
   * Registers a bank account that can be paid by wire and ACH. Returns the id of its address. The sandbox refuses payments to some account
   * numbers: wires to one that ends with `0500`, for example.
   */
  registerBank(owner: string, accountNumber?: string): Promise<string>
  /** Registers webhooks to `/webhooks/outlay/<account>` of a host. */
  registerWebhooks(hostUrl: string): Promise<void>
  /** Advances the clock until the host's engine has nothing left to do. */
  settle(engine: Pick<Engine<unknown>, 'backlog'>): Promise<void>
  /** Advances the clock by hours. */
  pass(hours: number): Promise<void>
  /** Returns a payment by ACH, as the bank of its receiver does days later. The transfer is named by its id at the service. */
  returnPayment(remoteId: string, code: string): Promise<void>
  /** Notes of the transfers at the service, in alphabetical order. */
  notes(): Promise<readonly string[]>
}

/** Starts the service on its own database, with a client whose wallet on Base has 100,000 USDC. */
export async function openSandbox(databaseUrl: string): Promise<ExampleSandbox> {
  const sandbox = await startSandbox({ databaseUrl })
  const funds = [{ valueType: 'USDC', transferType: 'base', amount: '100000' }]
  const seeded = await sandbox.seedClient({ name: 'Example', accounts: [{ businessName: 'Acme', funds }] })
  const [account] = seeded.accounts
  const wallet = account?.wallets.find(({ transferTypes }) => transferTypes.includes('base'))
  if (account === undefined || wallet === undefined) throw new Error('The sandbox made no wallet on Base.')
  const { accountId } = account
  const credentials = { clientId: seeded.clientId, clientSecret: seeded.clientSecret }
  const client = createClient({ baseUrl: sandbox.url, credentials })
  const simulate = await openSimulations(sandbox.url, credentials)
  const pass = clockOf(simulate)
  const secrets: string[] = []
  return {
    access: {
      baseUrl: sandbox.url,
      credentials,
      accountId,
      walletId: wallet.addressId,
      webhookSecrets: (id) => (id === accountId ? secrets : []),
    },
    registerBank: (owner, accountNumber) => registerBank(client, accountId, owner, accountNumber),
    async registerWebhooks(hostUrl) {
      const url = `${hostUrl}/webhooks/outlay/${accountId}`
      const { secret } = await client.webhooks.create(accountId, { url, eventTypes: ['transfer.*'] })
      if (secret !== undefined) secrets.push(secret)
    },
    settle: (engine) => settle(engine, pass),
    pass,
    returnPayment: (remoteId, code) => simulate(`transfers/${remoteId}/return`, { code }),
    async notes() {
      const notes: string[] = []
      for await (const { note } of client.transfers.iterate(accountId)) notes.push(note ?? '')
      return notes.sort()
    },
    async [Symbol.asyncDispose]() {
      await client.close()
      await sandbox.stop()
    },
  }
}

/** Makes the tables of the service in an empty database, for tests that share one prepared database. */
export async function migrateSandbox(databaseUrl: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: databaseUrl })
  await createService({ pool, rails: 'simulated', encryptionKey: randomBytes(32) }).migrate()
  await pool.end()
}

async function registerBank(
  client: Client,
  accountId: string,
  owner: string,
  accountNumber = '1000006789',
): Promise<string> {
  const office = { streetLine1: '1 Main Street', city: 'Chicago', state: 'IL', zip: '60601' }
  const { id } = await client.addresses.createExternal(accountId, {
    name: owner,
    owner,
    accountNumber,
    routingNumber: '021000021',
    accountType: 'checking',
    bankAddress: office,
    beneficiaryAddress: office,
    transferTypes: ['wire', 'ach_credit'],
  })
  return id
}

async function settle(engine: Pick<Engine<unknown>, 'backlog'>, pass: ExampleSandbox['pass']): Promise<void> {
  let left: unknown
  await waitUntil(
    async () => {
      await pass(6)
      const { queued, submitting, awaitingFunds, submitted, undelivered } = await engine.backlog()
      left = { queued, submitting, awaitingFunds, submitted, undelivered }
      return queued + submitting + awaitingFunds + submitted + undelivered === 0
    },
    { timeoutMs: 45_000, describe: () => `the engine to settle; what is left is ${JSON.stringify(left)}` },
  )
}

/** Makes a function that advances the clock of a service with simulated rails by hours. */
export async function openClock(url: string, credentials: Credentials): Promise<ExampleSandbox['pass']> {
  return clockOf(await openSimulations(url, credentials))
}

/** Posts to one of the operations that only a sandbox has. */
type Simulate = (operation: string, body: object) => Promise<void>

const clockOf =
  (simulate: Simulate): ExampleSandbox['pass'] =>
  (hours) =>
    simulate('clock/advance', { seconds: hours * 3_600 })

async function openSimulations(url: string, credentials: Credentials): Promise<Simulate> {
  const form = {
    grant_type: 'client_credentials',
    client_id: credentials.clientId,
    client_secret: credentials.clientSecret,
  }
  const granted = await fetch(`${url}/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) })
  const { access_token: token } = (await granted.json()) as { readonly access_token?: string }
  return async (operation, body) => {
    const answer = await fetch(`${url}/simulations/${operation}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!answer.ok)
      throw new Error(`The sandbox answers ${operation} with HTTP ${answer.status}: ${await answer.text()}`)
  }
}
