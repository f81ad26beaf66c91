import { createHash } from 'node:crypto'
import type { EnqueueRequest } from '@outlay/core'
import type { Credentials } from '@outlay/http-client'
import { type Sandbox, type SeededClient, startSandbox } from '@outlay/service/sandbox'
import { addresses, waitUntil } from '@outlay/testing'
import { Client } from 'pg'
import { Pool } from 'undici'
import { type Database, openDatabase } from '../database.ts'
import { serviceRole } from '../http-process.ts'
import { exchange, type HttpRequest } from './http-contender.ts'

/** Options for seeding a stage. */
export interface ServiceStageOptions {
  /** Name of the database that contenders copy. */
  readonly template: string
  /** Accounts with a rich wallet each; the transfers take turns between them. */
  readonly accountCount: number
  /** Transfers of each account that exist from the start. */
  readonly transfersEach: number
}

/** What each wallet holds at first, in USDC. */
const funds = 1_000_000_000

/** Rows of a requested page. */
export const pageSize = 25

/** A seeded database that contenders copy, and what to send to them. */
export interface ServiceStage {
  readonly template: string
  readonly encryptionKey: Uint8Array
  readonly clientId: string
  readonly credentials: Credentials
  readonly accountCount: number
  /** Ids of the existing transfers, by the number that they were created with. */
  readonly transferIds: readonly string[]
  /** Creates the n-th transfer; the same n is the same key and the same body. */
  create(n: number): HttpRequest
  /** The same transfer for an engine, under another key. */
  payout(n: number): EnqueueRequest
  /** Gets the n-th transfer. */
  get(n: number): HttpRequest
  /** Gets the first page of the n-th transfer's account. */
  list(n: number): HttpRequest
  /** Ids on that page, newest first. */
  pageOf(n: number): readonly string[]
  /** Lets the service's time run ahead. */
  readonly advance: HttpRequest
  close(): Promise<void>
}

interface Payer {
  readonly accountId: string
  readonly walletId: string
  readonly payeeId: string
}

/** Seeds a database with accounts, payees and transfers that are complete. */
export async function openServiceStage(serverUrl: string, options: ServiceStageOptions): Promise<ServiceStage> {
  const { template, accountCount, transfersEach } = options
  const encryptionKey = createHash('sha256').update(template).digest()
  const database = await openDatabase(serverUrl, template, 1)
  const sandbox = await startSandbox({ databaseUrl: database.url, encryptionKey })
  const connections = new Pool(sandbox.url, { connections: 1 })
  const client = await sandbox.seedClient(clientOf(accountCount))
  const headers = await signIn(sandbox, client)
  const payers = await makePayers(connections, client, headers)
  const transferIds: string[] = []
  const requests = requestsOf(payers, headers, transferIds)
  for (let n = 0; n < accountCount * transfersEach; n += 1) {
    transferIds.push((JSON.parse(await exchange(connections, requests.create(n), 201)) as { readonly id: string }).id)
  }
  await settle(connections, requests.advance, database.admin)
  await grantAll(database.admin)
  await connections.close()
  await sandbox.stop()
  await database.disconnect()
  return {
    template,
    encryptionKey,
    clientId: client.clientId,
    credentials: { clientId: client.clientId, clientSecret: client.clientSecret },
    accountCount,
    transferIds,
    ...requests,
    pageOf: (n) =>
      transferIds
        .filter((_, other) => other % accountCount === n % accountCount)
        .toReversed()
        .slice(0, pageSize),
    async close() {
      await database.close()
      await dropRole(serverUrl)
    },
  }
}

/** Lets time run until every transfer is complete and the engine has nothing left to do. */
export async function settle(connections: Pool, advance: HttpRequest, admin: Client): Promise<void> {
  await waitUntil(
    async () => {
      await exchange(connections, advance, 200)
      const { rows } = await admin.query<{ open: string }>(
        `select (select count(*) from outlay_service.transfer where status <> 'complete')
              + (select count(*) from outlay_service_engine.transfer where stage <> 'settled') as open`,
      )
      return Number(rows[0]?.open) === 0
    },
    { timeoutMs: 120_000, describe: 'every transfer to complete' },
  )
}

/** Grants the role of the contenders the sandbox's objects, in this database and its copies. */
async function grantAll(admin: Client): Promise<void> {
  const { rows } = await admin.query<{ name: string }>(
    `select quote_ident(nspname) as name from pg_namespace where nspname like 'outlay%'`,
  )
  const schemas = rows.map(({ name }) => name).join(', ')
  await admin.query(`
    do $$ begin create role ${serviceRole}; exception when duplicate_object then null; end $$;
    grant usage, create on schema ${schemas} to ${serviceRole};
    grant all on all tables in schema ${schemas} to ${serviceRole};
    grant all on all sequences in schema ${schemas} to ${serviceRole}`)
}

async function dropRole(serverUrl: string): Promise<void> {
  const server = new Client({ connectionString: serverUrl })
  await server.connect()
  await server.query(`drop role if exists ${serviceRole}`).finally(() => server.end())
}

/** Counts the wallets whose available balance is not the first balance less their sent and pending transfers. */
export function countWrongBalances({ count }: Database): Promise<number> {
  return count(
    `select count(*) from outlay_service.ledger_account a where a.kind = 'custodial' and a.transfer_type = 'base'
       and a.available <> $1 - (
         select coalesce(sum(t.amount_value), 0) from outlay_service.transfer t
         where t.source_address_id = a.address_id and t.status not in ('failed', 'canceled'))`,
    [funds],
  )
}

const clientOf = (accountCount: number) => ({
  name: 'Bench',
  accounts: Array.from({ length: accountCount }, (_, at) => ({
    businessName: `Payer ${at}`,
    funds: [{ valueType: 'USDC', transferType: 'base', amount: String(funds) }],
  })),
})

async function signIn(sandbox: Sandbox, { clientId, clientSecret }: SeededClient): Promise<Record<string, string>> {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
  const answer = await fetch(`${sandbox.url}/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) })
  const { access_token: token } = (await answer.json()) as { readonly access_token: string }
  return { authorization: `Bearer ${token}` }
}

async function makePayers(
  connections: Pool,
  client: SeededClient,
  headers: Readonly<Record<string, string>>,
): Promise<readonly Payer[]> {
  const payers: Payer[] = []
  for (const { accountId, wallets } of client.accounts) {
    const wallet = wallets.find(({ transferTypes }) => transferTypes.includes('base'))
    if (wallet === undefined) throw new Error('The sandbox made no wallet on Base.')
    const sent = {
      method: 'POST' as const,
      path: `/accounts/${accountId}/addresses/external`,
      headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': `payee-${accountId}` },
      body: JSON.stringify({ name: 'Payee', address: addresses.evm[0], transfer_types: ['base'] }),
    }
    const { id: payeeId } = JSON.parse(await exchange(connections, sent, 201)) as { readonly id: string }
    payers.push({ accountId, walletId: wallet.addressId, payeeId })
  }
  return payers
}

function requestsOf(
  payers: readonly Payer[],
  headers: Readonly<Record<string, string>>,
  transferIds: readonly string[],
): Pick<ServiceStage, 'create' | 'payout' | 'get' | 'list' | 'advance'> {
  const payer = (n: number): Payer => {
    const found = payers[n % payers.length]
    if (found === undefined) throw new Error('There is no payer.')
    return found
  }
  const json = { ...headers, 'content-type': 'application/json' }
  const leg = (addressId: string) => ({ address_id: addressId, value_type: 'USDC', transfer_type: 'base' })
  return {
    create: (n) => ({
      method: 'POST',
      path: `/accounts/${payer(n).accountId}/transfers`,
      headers: { ...json, 'idempotency-key': `bench-transfer-${n}` },
      body: JSON.stringify({
        amount: { value: `${1 + (n % 9)}.25`, currency: 'USDC' },
        source: leg(payer(n).walletId),
        destination: leg(payer(n).payeeId),
      }),
    }),
    payout: (n) => ({
      accountId: payer(n).accountId,
      idempotencyKey: `bench-payout-${n}`,
      amount: { value: `${1 + (n % 9)}.25`, currency: 'USDC' },
      source: { addressId: payer(n).walletId, valueType: 'USDC', transferType: 'base' },
      destination: { addressId: payer(n).payeeId, valueType: 'USDC', transferType: 'base' },
    }),
    get: (n) => ({ method: 'GET', path: `/accounts/${payer(n).accountId}/transfers/${transferIds[n]}`, headers }),
    list: (n) => ({ method: 'GET', path: `/accounts/${payer(n).accountId}/transfers?page[size]=${pageSize}`, headers }),
    advance: {
      method: 'POST',
      path: '/simulations/clock/advance',
      headers: json,
      body: JSON.stringify({ seconds: 60 }),
    },
  }
}
