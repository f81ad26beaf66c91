import type { EnqueueRequest, ExternalAddressDetails } from '@outlay/core'
import { type Client, createClient } from '@outlay/http-client'
import type { SeededClient } from '@outlay/service/sandbox'
import { addresses, usBankAccount } from '@outlay/testing'
import type { PlannedPayout } from '../plan/draw.ts'
import type { Environment } from './environment.ts'
import { type LinkedBank, linkBank } from './linked-bank.ts'

interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
}

/** One customer of the service with one account, as its host knows it. */
export interface Tenant {
  readonly accountId: string
  readonly walletId: string
  /** The address of a payee on a chain. */
  readonly payeeId: string
  /** Those that its host uses now. */
  credentials: Credentials
  /** Those of the second gateway, where hosts have two. */
  readonly secondCredentials: Credentials | undefined
  /** Clients of the service that may use the account. */
  readonly clientIds: readonly string[]
  /** Whether the secret that its host knows is a wrong one. */
  isLockedOut: boolean
  /** Whether the service has removed the account. */
  isRevoked: boolean
  /** Whether its host has ever changed the client. */
  hasChanged: boolean
  /** A bank account that payouts can come from; only where a plan has such. */
  readonly bank: LinkedBank | undefined
  readonly webhookSecret: string
  /** Sees no faults. */
  readonly client: Client
  /** Whole units of USDC that were put into the wallet so far. */
  funded: number
  /** Quotes of its payouts, by their numbers. */
  readonly quotes: Map<number, string>
  /** Puts USDC into the wallet. */
  fund(amount: number): Promise<void>
  /** Lets the host use another client of the service; says so when there is none. */
  changeClient(): string
  /** What a planned payout asks for. */
  request(payout: PlannedPayout): EnqueueRequest
}

/** An id of an address that the service does not know. */
export const unknownPayee = '01ARZ3NDEKTSV4RRFFQ69G5FAV'

/** Who creates payouts where there are policies. */
export const creator = 'carl'

/** USDC of a new tenant: little enough that some payouts wait for more. */
const firstFunds = 600

/** How the tenants of a run are. */
export interface TenantOptions {
  readonly count: number
  /** Whether they have bank accounts that can be debited. */
  readonly links: boolean
  /** One client of the service has all accounts. */
  readonly sharesClient: boolean
  /** Two clients of the service may use each account. */
  readonly hasTwoClients: boolean
  /** Hosts have two gateways; the second one has the second client. */
  readonly twoGateways: boolean
  /** They pay to a bank of another currency. */
  readonly hasQuotes: boolean
  /** Payouts name who created them. */
  readonly hasPolicies: boolean
  /** Place of a payout among those of its tenant: its key at the host, which other tenants have too. */
  readonly placeOf: (payout: PlannedPayout) => number
}

/** Makes the tenants of a run at the service. */
export async function makeTenants(environment: Environment, seed: number, options: TenantOptions): Promise<Tenant[]> {
  const funds = [{ valueType: 'USDC', transferType: 'base', amount: String(firstFunds) }]
  const names = Array.from({ length: options.count }, (_, index) => `Tenant ${seed}-${index}`)
  const seedOne = (of: readonly string[]) =>
    environment.sandbox.seedClient({
      name: of[0] ?? '',
      accounts: of.map((businessName) => ({ businessName, funds })),
    })
  const seeded = options.sharesClient ? [await seedOne(names)] : await Promise.all(names.map((name) => seedOne([name])))
  const tenants: Tenant[] = []
  for (const { clientId, clientSecret, accounts } of seeded) {
    for (const account of accounts) {
      const clients = [{ clientId, clientSecret }]
      if ((options.hasTwoClients || options.twoGateways) && !options.sharesClient)
        clients.push(await addClient(environment, account.accountId))
      tenants.push(await makeTenant(environment, seed, account, clients, options))
    }
  }
  return tenants
}

/** Registers another client of the service that may use the account. */
async function addClient(environment: Environment, accountId: string): Promise<Credentials> {
  const { clientId, clientSecret } = await environment.sandbox.seedClient({
    name: `Second of ${accountId}`,
    accounts: [],
  })
  await environment.service.query(
    'insert into outlay_service.client_account (client_id, account_id, created_at) values ($1, $2, now())',
    [clientId, accountId],
  )
  return { clientId, clientSecret }
}

async function makeTenant(
  environment: Environment,
  seed: number,
  account: SeededClient['accounts'][number],
  clients: readonly Credentials[],
  { links, placeOf, twoGateways, hasQuotes, hasPolicies }: TenantOptions,
): Promise<Tenant> {
  const wallet = account.wallets.find(({ transferTypes }) => transferTypes.includes('base'))
  const [credentials] = clients
  if (credentials === undefined || wallet === undefined) throw new Error('The sandbox made no wallet on Base.')
  const { accountId } = account
  const client = createClient({ baseUrl: environment.sandbox.url, credentials })
  const [payees, { secret = '' }] = await Promise.all([
    registerPayees(client, accountId, hasQuotes),
    client.webhooks.create(accountId, { url: environment.webhookProxy.urlOf(accountId), eventTypes: ['transfer.*'] }),
  ])
  const bank = links
    ? await linkBank(client, accountId, (what, body) => simulate(environment, { credentials }, what, body))
    : undefined
  const quotes = new Map<number, string>()
  const tenant: Tenant = {
    accountId,
    quotes,
    walletId: wallet.addressId,
    payeeId: payees.payeeId,
    credentials,
    secondCredentials: twoGateways ? clients[1] : undefined,
    clientIds: clients.map(({ clientId }) => clientId),
    isLockedOut: false,
    isRevoked: false,
    hasChanged: false,
    bank,
    webhookSecret: secret,
    client,
    funded: firstFunds,
    async fund(amount) {
      await deposit(environment, tenant, amount)
      tenant.funded += amount
    },
    changeClient() {
      if (twoGateways) return 'the other one is that of the second gateway'
      const next = clients.find(({ clientId }) => clientId !== tenant.credentials.clientId)
      if (next === undefined) return 'there is no other one'
      tenant.credentials = next
      tenant.hasChanged = true
      return next.clientId
    },
    request: (payout) => ({
      accountId,
      idempotencyKey: `payout-${seed}-${placeOf(payout)}`,
      note: `payout ${payout.number}`,
      ...(hasPolicies ? { createdBy: creator } : {}),
      ...(quotes.has(payout.number) ? { quoteId: quotes.get(payout.number) } : {}),
      ...(payout.inSeconds === undefined ? {} : { notBefore: new Date(Date.now() + payout.inSeconds * 1_000) }),
      amount: amountOf(payout),
      source:
        payout.kind === 'debit'
          ? { addressId: bank?.id ?? '', valueType: 'USD', transferType: 'ach_debit' }
          : { addressId: wallet.addressId, valueType: 'USDC', transferType: 'base' },
      destination: destinationOf(payout, { ...payees, walletId: wallet.addressId }),
    }),
  }
  return tenant
}

async function registerPayees(
  client: Client,
  accountId: string,
  hasQuotes: boolean,
): Promise<Omit<Payees, 'walletId'>> {
  const register = async (details: ExternalAddressDetails) =>
    (await client.addresses.createExternal(accountId, details)).id
  const atBank = (last4: string) =>
    register({ ...usBankAccount, accountNumber: `70000${last4}`, transferTypes: ['wire', 'ach_credit'] })
  const { routingNumber: _, ...bank } = usBankAccount
  const clabe = { ...bank, accountNumber: '032180000118359719', transferTypes: ['spei'] }
  const [good, returned, rejecting, payeeId, abroad] = await Promise.all([
    atBank('1234'),
    atBank('0003'),
    atBank('0500'),
    register({ name: 'Ada', address: addresses.evm[0], transferTypes: ['base'] } as ExternalAddressDetails),
    hasQuotes ? register(clabe) : '',
  ])
  return { good, returned, rejecting, payeeId, abroad }
}

const specialAmounts: Partial<Record<PlannedPayout['kind'], string>> = {
  reverted: '6660.01',
  answer_lost: '6660.02',
  rail_busy: '6660.03',
}

function amountOf({ kind, amount }: PlannedPayout): EnqueueRequest['amount'] {
  const inDollars = ['wire', 'ach', 'ach_returned', 'bank_rejects', 'new_bank', 'debit'].includes(kind)
  return { value: specialAmounts[kind] ?? `${amount}.00`, currency: inDollars ? 'USD' : 'USDC' }
}

interface Payees {
  readonly payeeId: string
  readonly good: string
  readonly returned: string
  readonly rejecting: string
  readonly abroad: string
  readonly walletId: string
}

function destinationOf({ kind, amount }: PlannedPayout, to: Payees): EnqueueRequest['destination'] {
  switch (kind) {
    case 'wire':
      return { addressId: to.good, valueType: 'USD', transferType: 'wire' }
    case 'ach':
      return { addressId: to.good, valueType: 'USD', transferType: 'ach_credit' }
    case 'ach_returned':
      return { addressId: to.returned, valueType: 'USD', transferType: 'ach_credit' }
    case 'bank_rejects':
      return { addressId: to.rejecting, valueType: 'USD', transferType: 'wire' }
    case 'debit':
      return { addressId: to.walletId, valueType: 'USDC', transferType: 'base' }
    case 'quoted':
      return { addressId: to.abroad, valueType: 'MXN', transferType: 'spei' }
    case 'swap':
      return { addressId: to.walletId, valueType: 'SBC', transferType: 'base' }
    case 'new_wallet': {
      const address = { name: newPayee(amount), address: addresses.evm[amount % 2], transferTypes: ['base'] }
      return { address: address as ExternalAddressDetails, valueType: 'USDC', transferType: 'base' }
    }
    case 'new_bank': {
      const bank = {
        ...usBankAccount,
        name: newPayee(amount),
        accountNumber: '700005678',
        transferTypes: ['ach_credit'],
      }
      return { address: bank as ExternalAddressDetails, valueType: 'USD', transferType: 'ach_credit' }
    }
    case 'refused':
      return { addressId: unknownPayee, valueType: 'USDC', transferType: 'base' }
    default:
      return { addressId: to.payeeId, valueType: 'USDC', transferType: 'base' }
  }
}

/** Few names, so that payouts share new counterparties. */
const newPayee = (amount: number): string => `New payee ${amount % 3}`

async function deposit(environment: Environment, tenant: Tenant, amount: number): Promise<void> {
  await simulate(environment, tenant, 'deposits', {
    account_id: tenant.accountId,
    address_id: tenant.walletId,
    value_type: 'USDC',
    transfer_type: 'base',
    amount: `${amount}.00`,
  })
}

/** Calls one of the routes that only a sandbox has. */
export async function simulate(
  environment: Environment,
  tenant: Pick<Tenant, 'credentials'>,
  what: string,
  body: object,
): Promise<unknown> {
  const { clientId, clientSecret } = tenant.credentials
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  })
  const granted = await fetch(`${environment.sandbox.url}/oauth2/token`, { method: 'POST', body: form })
  const { access_token: token } = (await granted.json()) as { readonly access_token: string }
  const answer = await fetch(`${environment.sandbox.url}/simulations/${what}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`POST /simulations/${what} answered ${answer.status}: ${await answer.text()}`)
  return answer.json()
}
