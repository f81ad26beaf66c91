import type { BankAccount, LinkTokenRequest } from '@outlay/core'

/** Input of a flow at the provider. */
export interface LinkFlow {
  /** The account that links. Its public token is valid only for this owner. */
  readonly ownerId: string
  /** Known data of the person who will link. Personal data: never log it. */
  readonly person: LinkTokenRequest
  /** Where the flow continues in the client's app or page, as the client says. */
  readonly redirectUri?: string | undefined
  /** The client's Android app, as the client says. */
  readonly androidPackageName?: string | undefined
  /** Access token of the item whose login the flow renews; absent for a flow that creates a new item. */
  readonly accessToken?: string | undefined
}

/** An open flow. */
export interface OpenedFlow {
  readonly linkToken: string
  /** ISO 8601, UTC; the token is invalid after it. */
  readonly expiration: string
}

/** An owner's link at the provider. */
export interface LinkedItem {
  /** The provider's id, 1 to 255 characters; a renewed login keeps it. */
  readonly itemId: string
  /** Reads the accounts of the item. Stored sealed, never logged. */
  readonly accessToken: string
}

/** A bank account that its owner has selected, with its numbers in plain text. Never log it, never store it elsewhere. */
export interface LinkedBankAccount extends BankAccount {
  /** Display name of the account, for example `Everyday Checking`. */
  readonly name: string
  readonly bankName: string
}

/**
 * A bank-linking provider. A deployer implements this for a real one, and calls `reportLoginRequired` when the provider
 * reports that an item needs a new login.
 *
 * Every member may be called from several processes at once. A rejection means that the provider could not be reached: the
 * client gets a 503 and should retry later.
 */
export interface BankLinkProvider {
  /** Opens a flow in the front end. */
  openFlow(flow: LinkFlow, options: { readonly signal: AbortSignal }): Promise<OpenedFlow>
  /**
   * Exchanges a public token, which works once. `undefined` when it is unknown, expired, used, or of another owner. In the last
   * case it stays valid for its owner.
   */
  exchange(
    token: { readonly ownerId: string; readonly publicToken: string },
    options: { readonly signal: AbortSignal },
  ): Promise<LinkedItem | undefined>
  /** Reads the selected bank accounts of an item. */
  listBankAccounts(item: LinkedItem, options: { readonly signal: AbortSignal }): Promise<readonly LinkedBankAccount[]>
}

/** Bank linking of a service. */
export interface BankLinking {
  readonly provider: BankLinkProvider
  /** Path segments of the endpoints, the main one first. */
  readonly segments: readonly [string, ...string[]]
  /** URL that receives the public token of an account after the flow. The base URL is that of the service. */
  readonly callbackUrl: (accountId: string, baseUrl: string) => string
}
