import type { TransferDestination, TransferSource, TransferTypeName, ValueTypeName } from '@outlay/core'
import { type Client, type Credentials, createClient, type ExternalAddressInput } from '@outlay/http-client'
import type { SeedClient, SeededClient, SeedFunds } from '@outlay/service/sandbox'
import { addresses } from '@outlay/testing'
import type { Simulations } from './simulations.ts'

/** Options of an account. Every member has a default. */
export interface AccountOptions {
  /** Default `Acme`. */
  readonly businessName?: string | undefined
  /** Play money in its wallets: USDC on Base as a decimal string, or a list. Default a million. */
  readonly funds?: string | readonly SeedFunds[] | undefined
  /** Default `mainnet`: the names of the main chains. */
  readonly environment?: SeedClient['environment']
}

/** An account at the service, with wallets. */
export interface TestAccount {
  readonly id: string
  /** The account's credentials, as a vault would hold them. */
  readonly credentials: Credentials
  readonly wallets: SeededClient['accounts'][number]['wallets']
  /** The account's wallet as the source of a transfer. Default USDC on Base. */
  source(valueType?: ValueTypeName, transferType?: TransferTypeName): TransferSource & { readonly addressId: string }
  /** The balance of the wallet, as a decimal string. Default USDC on Base. */
  balance(valueType?: ValueTypeName, transferType?: TransferTypeName): Promise<string>
}

/** A payee that is registered at the service. */
export interface TestPayee {
  readonly addressId: string
  /** The payee as the destination of a transfer. Default: its first rail, in USD for a bank account, else in USDC. */
  destination(valueType?: ValueTypeName, transferType?: TransferTypeName): TransferDestination
}

/** Accounts of one service, with their credentials. */
export interface Accounts {
  /** Credentials of an account, for a gateway. Throws for an account that was not created here. */
  credentials(accountId: string): Credentials
  create(options?: AccountOptions): Promise<TestAccount>
  registerPayee(account: string | { readonly id: string }, address?: ExternalAddressInput): Promise<TestPayee>
  /** A client of the API without faults, for every account. */
  readonly client: Client
}

/** A wallet on Base. */
export const samplePayee: ExternalAddressInput = { name: 'Ada', address: addresses.evm[0], transferTypes: ['base'] }

/** Creates the accounts of a service. */
export function createAccounts({ sandbox }: Simulations): Accounts {
  const vault = new Map<string, Credentials>()
  const credentials = (accountId: string): Credentials => {
    const found = vault.get(accountId)
    if (found === undefined) throw new Error(`The account ${accountId} was not made by this harness.`)
    return found
  }
  const client = createClient({ baseUrl: sandbox.url, credentials })
  return {
    credentials,
    client,
    async create(options = {}) {
      const { businessName = 'Acme', funds = '1000000', environment } = options
      const seed = typeof funds === 'string' ? [{ valueType: 'USDC', transferType: 'base', amount: funds }] : funds
      const seeded = await sandbox.seedClient({
        name: businessName,
        environment,
        accounts: [{ businessName, funds: seed }],
      })
      const [account] = seeded.accounts
      if (account === undefined) throw new Error('The service made no account.')
      const own = { clientId: seeded.clientId, clientSecret: seeded.clientSecret }
      vault.set(account.accountId, own)
      return describeAccount(client, account, own)
    },
    async registerPayee(account, address = samplePayee) {
      const accountId = typeof account === 'string' ? account : account.id
      const { id } = await client.addresses.createExternal(accountId, address)
      return describePayee(id, address)
    },
  }
}

function describeAccount(
  client: Client,
  { accountId, wallets }: SeededClient['accounts'][number],
  credentials: Credentials,
): TestAccount {
  const source: TestAccount['source'] = (valueType = 'USDC', transferType = 'base') => {
    const wallet = wallets.find(({ transferTypes }) => transferTypes.includes(transferType))
    if (wallet === undefined) throw new Error(`The account has no wallet on ${transferType}.`)
    return { addressId: wallet.addressId, valueType, transferType }
  }
  return {
    id: accountId,
    credentials,
    wallets,
    source,
    async balance(valueType = 'USDC', transferType = 'base') {
      const { addressId } = source(valueType, transferType)
      const found = await client.balances.get(accountId, addressId, { valueType, transferType })
      return found?.balance.value ?? '0'
    },
  }
}

/** Describes a payee that has an id. */
export function describePayee(addressId: string, address: ExternalAddressInput): TestPayee {
  const usual = 'accountNumber' in address ? 'USD' : 'USDC'
  return {
    addressId,
    destination: (valueType = usual, transferType = address.transferTypes[0] ?? 'base') => ({
      addressId,
      valueType,
      transferType,
    }),
  }
}
