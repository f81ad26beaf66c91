import type { BankAccount, LinkTokenRequest } from '@outlay/core'

/** What a flow at the provider is opened for. */
export interface LinkFlow {
  /** The account that links; its public token is good for this owner alone. */
  readonly ownerId: string
  /** What is known of the person who will link. Personal data: never log it. */
  readonly person: LinkTokenRequest
  /** Access token of the item whose login the flow renews; absent for a flow that makes a new item. */
  readonly accessToken?: string | undefined
}

/** An open flow. */
export interface OpenedFlow {
  readonly linkToken: string
  /** ISO 8601, UTC; the token is invalid after it. */
  readonly expiration: string
}

/** One link of an owner at the provider. */
export interface LinkedItem {
  /** The provider's id, 1 to 255 characters; a renewed login keeps it. */
  readonly itemId: string
  /** Reads the accounts of the item. Stored sealed, never logged. */
  readonly accessToken: string
}

/** A bank account that its owner has selected, with its numbers in clear. Never log it, never store it elsewhere. */
export interface LinkedBankAccount extends BankAccount {
  /** How the owner knows the account, for example `Everyday Checking`. */
  readonly name: string
  readonly bankName: string
}

/**
 * A bank-linking provider. A deployer implements this for a real one, and calls `reportLoginRequired` when the provider
 * reports that an item needs its owner again.
 *
 * Every member may be called from several processes at once. A rejection means that the provider could not be asked: the
 * caller is told to come back later.
 */
export interface BankLinkProvider {
  /** Opens a flow at the front end. */
  openFlow(flow: LinkFlow, options: { readonly signal: AbortSignal }): Promise<OpenedFlow>
  /**
   * Exchanges a public token, which works once. `undefined` when it is unknown, expired, used, or of another owner; in the
   * last case it stays good for its own.
   */
  exchange(
    token: { readonly ownerId: string; readonly publicToken: string },
    options: { readonly signal: AbortSignal },
  ): Promise<LinkedItem | undefined>
  /** Reads the bank accounts that are selected in an item. */
  listBankAccounts(item: LinkedItem, options: { readonly signal: AbortSignal }): Promise<readonly LinkedBankAccount[]>
}

/** How banks are linked in a service. */
export interface BankLinking {
  readonly provider: BankLinkProvider
  /** Path segments under which the endpoints answer, the main one first. */
  readonly segments: readonly [string, ...string[]]
  /** Where the public token of an account goes after the flow; the origin is that of the request. */
  readonly callbackUrl: (accountId: string, origin: string) => string
}
