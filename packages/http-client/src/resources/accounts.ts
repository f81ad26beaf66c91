import { decodePage, type Rows, toRows } from '../pagination.ts'
import { path } from '../request.ts'
import {
  type AccountRequest,
  decodeAccount,
  decodeAccountId,
  encodeAccountRequest,
  type ReadAccount,
} from '../wire/account.ts'
import type { WithRaw } from '../wire/json.ts'
import { type CallOptions, type CreateOptions, create, type ResourceContext } from './resource.ts'

/** The result of a registration. */
export interface CreatedAccount {
  readonly id: string
  /** The key that was sent: the caller's, or the generated one. */
  readonly idempotencyKey: string
  /** The account; `undefined` when the service returned only its id. */
  readonly account: WithRaw<ReadAccount> | undefined
}

/** Businesses and their end customers. Specification: "Accounts". */
export interface AccountsResource {
  /** Registers an account that this account manages. The service also creates its custodial wallets. */
  create(accountId: string, request: AccountRequest, options?: CreateOptions): Promise<CreatedAccount>
  /** One account; `undefined` when no account has this id. */
  get(accountId: string, options?: CallOptions): Promise<WithRaw<ReadAccount> | undefined>
  /** Ids of the accounts that this account's credentials may read, its own first. */
  list(accountId: string, options?: CallOptions): Promise<Rows<string>>
}

/** Makes the accounts resource of a client. */
export function createAccounts(context: ResourceContext): AccountsResource {
  const { requester, dialect } = context
  return {
    async create(accountId, request, options = {}) {
      const input = { accountId, path: '/accounts', body: encodeAccountRequest(request, dialect) }
      const { full, ...created } = await create(context, input, options, decodeAccount)
      return { ...created, account: full }
    },
    async get(accountId, options = {}) {
      const call = { accountId, method: 'GET', path: path`/accounts/${accountId}` } as const
      const body = await requester.find(call, options.signal)
      return body === undefined ? undefined : decodeAccount(body)
    },
    async list(accountId, options = {}) {
      const body = await requester.perform({ accountId, method: 'GET', path: '/accounts' }, options.signal)
      return toRows(decodePage(body, 'accounts', decodeAccountId))
    },
  }
}
