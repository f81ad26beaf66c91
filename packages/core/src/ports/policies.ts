import type { Policy } from '../policy.ts'
import type { KnownPayees } from '../policy-payee.ts'
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

/** Stores policies, every version of them. */
export interface PolicyPort<Tx> {
  /** The policies as the transaction sees them. */
  readPolicies(tx: Tx): Promise<KnownPolicies>
  /** Which of the ids that policies name are of the payees that are asked for, by what was registered at any gateway and for any account. */
  findPayees(tx: Tx, query: PayeeQuery): Promise<KnownPayees>
  /** The policies as the transaction sees them, or as they are committed; or an earlier version, `undefined` where there is none. */
  getPolicies(version?: number, tx?: Tx): Promise<PolicyVersion | undefined>
  /** The policies behind all changes that others are making: nobody else changes them until the transaction ends. */
  lockPolicies(tx: Tx): Promise<PolicyVersion>
  /** Writes a version, which is the next one behind the lock. False, and nothing written, where somebody set it whom the transaction does not see. */
  setPolicies(tx: Tx, version: Pick<PolicyVersion, 'version' | 'policies'> & ControlNote): Promise<boolean>
}
