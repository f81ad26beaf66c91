import type { ChainFamily } from '@outlay/core'
import type { Environment } from '../schema/caller.ts'

/** The chains that one wallet covers: all EVM chains of an environment, or a single other one. */
export interface WalletPlan {
  readonly family: ChainFamily
  /** Canonical names. */
  readonly transferTypes: readonly string[]
}

/** Custodial wallets of one account. */
export interface WalletOrder {
  /** ULID of the account; the custodian's idempotency key. */
  readonly accountId: string
  readonly environment: Environment
  /**
   * Names a further wallet, for which a client has asked, in the form of a ULID; part of the key then. A repeat of the client's request has the same.
   * It is not the id of the address. Absent for the wallets that every account has.
   */
  readonly walletId?: string | undefined
  readonly wallets: readonly WalletPlan[]
}

/**
 * Keeps the keys of custodial wallets. A deployer implements this port for a real custodian; simulated rails have one. Every member may
 * be called from several processes at once.
 */
export interface WalletCustody {
  /** Names who keeps the keys; stored with each wallet. */
  readonly name: string
  /**
   * Provides wallets of an account, and resolves with their on-chain addresses in the order of the plans. A repeat for the same
   * account and `walletId` gives the same addresses. Called outside any transaction, once the account is registered. When this rejects or takes
   * longer than 10 seconds, even if it has provided them, the account has no wallets yet, and the service asks again until it has.
   */
  provision(order: WalletOrder, options: { readonly signal: AbortSignal }): Promise<readonly string[]>
}
