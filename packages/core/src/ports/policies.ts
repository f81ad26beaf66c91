import type { Policy } from '../policy.ts'
import type { KnownPayees } from '../policy-payee.ts'
import type { PaymentFacts } from '../policy-payment.ts'
import type { ControlNote } from './holds.ts'

/** The policies that hold, and who set them. */
export interface PolicyVersion {
  /** Counts up from 1; 0 where none were ever set. */
  readonly version: number
  readonly policies: readonly Policy[]
  /** ISO 8601, UTC; null where none were ever set. */
  readonly setAt: string | null
  readonly actor: string | null
  readonly reason: string | null
}

/** The policies as an enqueue knows them. */
export interface KnownPolicies {
  readonly version: number
  /** Different for each version, also for one that was rolled back; null where there are no policies. */
  readonly tag: string | null
  readonly policies: readonly Policy[]
}

/** What to find of payees. */
export interface PayeeQuery {
  /** Ids that policies name: the others are not in the answer. */
  readonly named: readonly string[]
  /** Of addresses to which transfers go. */
  readonly addressIds: readonly string[]
  /** Of details that transfers give in full. */
  readonly fingerprints: readonly string[]
  /** Digests of the payees of these details. Without any, the ids whose payee is not known are not asked for. */
  readonly payees: readonly string[]
}

/** What to find of the transfers before one. */
export interface PaymentQuery {
  /** Place of the transfer among those of the call. */
  readonly at: number
  /** Its own id, account, gateway and key: a repeat of it is no earlier transfer. */
  readonly id: string
  readonly accountId: string
  readonly gateway: string
  readonly idempotencyKey: string
  readonly addressId?: string | undefined
  readonly fingerprint?: string | undefined
  readonly payee?: string | undefined
  /** Decimal string. */
  readonly amount: string
  /** Currencies of the same worth as that of the amount, itself included. */
  readonly currencies: readonly string[]
  /** True where the answer names the payee, to compare it with those of other transfers of the call. */
  readonly namesPayee: boolean
  /** True where a policy asks whether the payee is new. */
  readonly asksNew: boolean
  /** How many days back one that it looks like is searched for; null for not at all. */
  readonly days: number | null
}

/** What policies need to know of the database. */
export interface FactQuery {
  readonly payees: PayeeQuery
  readonly payments: readonly PaymentQuery[]
}

/** What is known of the transfers before one, and of its payee. */
export interface KnownPayment extends PaymentFacts {
  /** The same for the same payee; absent where the query does not ask for it. */
  readonly payee?: string | undefined
}

/** What the database says of a query. */
export interface StoredFacts {
  readonly payees: KnownPayees
  /** By the place of the transfer; one that is absent is not known. */
  readonly payments: ReadonlyMap<number, KnownPayment>
  /** All of it, to compare it with what holds when the transfer is written. */
  readonly text: string
}

/** What a transfer was judged by, and how it was asked for: another answer writes nothing. */
export interface ExpectedFacts {
  readonly query: FactQuery
  /** Text of the facts; empty for nothing that is worth a word: nobody who is named, nothing new, nothing alike. */
  readonly text: string
}

/** Stores policies, every version of them. */
export interface PolicyPort<Tx> {
  /** The policies as the transaction sees them. */
  readPolicies(tx: Tx): Promise<KnownPolicies>
  /**
   * Which of the ids that policies name are of the payees that are asked for, by what was registered at any gateway and for any account, and what was enqueued before
   * like these transfers, as the transaction sees it.
   */
  readFacts(tx: Tx, query: FactQuery): Promise<StoredFacts>
  /** Makes the indexes by which `readFacts` finds earlier transfers, where they are missing. It needs the rights of a migration, and makes nobody wait. */
  preparePolicies(onStep?: (name: string) => void): Promise<void>
  /** True where these indexes are there. */
  arePoliciesPrepared(tx: Tx): Promise<boolean>
  /** The policies as the transaction sees them, or as they are committed; or an earlier version, `undefined` where there is none. */
  getPolicies(version?: number, tx?: Tx): Promise<PolicyVersion | undefined>
  /** The policies behind all changes that others are making: nobody else changes them until the transaction ends. */
  lockPolicies(tx: Tx): Promise<PolicyVersion>
  /** Writes a version, which is the next one behind the lock, and its entry in the audit, `policies.set`. False, and nothing written, where somebody set it whom the transaction does not see. */
  setPolicies(tx: Tx, version: Pick<PolicyVersion, 'version' | 'policies'> & ControlNote): Promise<boolean>
}
