import type { EnqueueRequest, ExternalAddressDetails } from '@outlay/core'
import { type Client, createClient } from '@outlay/http-client'
import { addresses, usBankAccount } from '@outlay/testing'
import type { Lane } from './lane.ts'
import { type LinkedBank, linkBank } from './linked-bank.ts'
import type { PlannedPayout } from './plan.ts'

interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
}

/** One customer of the service with one account, as its host knows it. */
export interface Tenant {
  readonly accountId: string
  readonly walletId: string
  readonly credentials: Credentials
  /** Whether the secret that its host knows is a wrong one. */
  isLockedOut: boolean
  /** A bank account that payouts can come from; only where a plan has such. */
  readonly bank: LinkedBank | undefined
  readonly webhookSecret: string
  /** Sees no faults. */
  readonly client: Client
  /** Whole units of USDC that were put into the wallet so far. */
  funded: number
  /** Puts USDC into the wallet. */
  fund(amount: number): Promise<void>
  /** What a planned payout asks for. */
  request(payout: PlannedPayout): EnqueueRequest
}

/** USDC of a new tenant: little enough that some payouts wait for more. */
const firstFunds = 600

/** Makes a tenant at the service; `links` says whether it has a bank account that can be debited. */
export async function makeTenant(lane: Lane, seed: number, index: number, links: boolean): Promise<Tenant> {
  const name = `Tenant ${seed}-${index}`
  const funds = [{ valueType: 'USDC', transferType: 'base', amount: String(firstFunds) }]
  const seeded = await lane.sandbox.seedClient({ name, accounts: [{ businessName: name, funds }] })
  const account = seeded.accounts[0]
  const wallet = account?.wallets.find(({ transferTypes }) => transferTypes.includes('base'))
  if (account === undefined || wallet === undefined) throw new Error('The sandbox made no wallet on Base.')
  const { accountId } = account
  const credentials = { clientId: seeded.clientId, clientSecret: seeded.clientSecret }
  const client = createClient({ baseUrl: lane.sandbox.url, credentials })
  const register = async (last4: string) => {
    const bank = { ...usBankAccount, accountNumber: `70000${last4}`, transferTypes: ['wire', 'ach_credit'] }
    return (await client.addresses.createExternal(accountId, bank)).id
  }
  const payee = { name: 'Ada', address: addresses.evm[0], transferTypes: ['base'] }
  const [good, returned, rejecting, { id: payeeId }, { secret = '' }] = await Promise.all([
    register('1234'),
    register('0003'),
    register('0500'),
    client.addresses.createExternal(accountId, payee),
    client.webhooks.create(accountId, { url: lane.mailroom.urlOf(accountId), eventTypes: ['transfer.*'] }),
  ])
  const bank = links
    ? await linkBank(client, accountId, (what, body) => simulate(lane, { credentials }, what, body))
    : undefined
  const tenant: Tenant = {
    accountId,
    walletId: wallet.addressId,
    credentials,
    isLockedOut: false,
    bank,
    webhookSecret: secret,
    client,
    funded: firstFunds,
    async fund(amount) {
      tenant.funded += amount
      await deposit(lane, tenant, amount)
    },
    request: (payout) => ({
      accountId,
      idempotencyKey: `payout-${seed}-${payout.number}`,
      note: `payout ${payout.number}`,
      amount: amountOf(payout),
      source:
        payout.kind === 'debit'
          ? { addressId: bank?.id ?? '', valueType: 'USD', transferType: 'ach_debit' }
          : { addressId: wallet.addressId, valueType: 'USDC', transferType: 'base' },
      destination: destinationOf(payout, { payeeId, good, returned, rejecting, walletId: wallet.addressId }),
    }),
  }
  return tenant
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
      return { addressId: '01ARZ3NDEKTSV4RRFFQ69G5FAV', valueType: 'USDC', transferType: 'base' }
    default:
      return { addressId: to.payeeId, valueType: 'USDC', transferType: 'base' }
  }
}

/** Few names, so that payouts share new counterparties. */
const newPayee = (amount: number): string => `New payee ${amount % 3}`

async function deposit(lane: Lane, tenant: Tenant, amount: number): Promise<void> {
  await simulate(lane, tenant, 'deposits', {
    account_id: tenant.accountId,
    address_id: tenant.walletId,
    value_type: 'USDC',
    transfer_type: 'base',
    amount: `${amount}.00`,
  })
}

/** Calls one of the routes that only a sandbox has. */
export async function simulate(
  lane: Lane,
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
  const granted = await fetch(`${lane.sandbox.url}/oauth2/token`, { method: 'POST', body: form })
  const { access_token: token } = (await granted.json()) as { readonly access_token: string }
  const answer = await fetch(`${lane.sandbox.url}/simulations/${what}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`POST /simulations/${what} answered ${answer.status}: ${await answer.text()}`)
  return answer.json()
}
