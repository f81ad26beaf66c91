import type { CountedSum, LimitKey, LimitSpan, SumLimit } from '../sum-limit.ts'
import type { ControlNote } from './holds.ts'

/** The limits that hold, and who set them. */
export interface LimitVersion {
  /** Counts up from 1; 0 where none were ever set. */
  readonly version: number
  readonly limits: readonly SumLimit[]
  /** ISO 8601, UTC; null where none were ever set. */
  readonly setAt: string | null
  readonly actor: string | null
  readonly reason: string | null
}

/** Which one of the sums of a limit: empty where the whole host has one. A counterparty is an id of an address, and stands for all known ids of its payee. */
export type SumOf = Readonly<Partial<Record<LimitKey, string>>>

/** How much of a limit is used in the hour, day or month of now. Amounts are decimal strings. */
export interface LimitUse {
  readonly limit: string
  readonly currency: string
  readonly span: LimitSpan
  readonly zone: string
  readonly of: SumOf
  readonly used: string
  readonly most: string
  /** Less than nothing where people let transfers go beyond it, or where it was lowered. */
  readonly remaining: string
  /** ISO 8601, UTC. */
  readonly from: string
  readonly until: string
  /** Transfers that it holds. */
  readonly held: number
  /** Those of them that are more than the limit alone, or of unknown amount, and wait for somebody who releases them. */
  readonly tooLarge: number
}

/** Stores limits on sums, every version of them, and reads what is used. */
export interface LimitPort<Tx> {
  /** The limits as the transaction sees them, or as they are committed; or an earlier version, `undefined` where there is none. */
  getLimits(version?: number, tx?: Tx): Promise<LimitVersion | undefined>
  /** The limits behind all changes that others are making: nobody else changes them until the transaction ends. */
  lockLimits(tx: Tx): Promise<LimitVersion>
  /**
   * Writes a version, which is the next one behind the lock, its entry in the audit, `limits.set`, and the sums that claims count from its commit on. What was counted of a sum stays counted where
   * nothing of it but the most, its currencies or a list of what has sums of its own is another. Returns a time zone that the database does not know, and then nothing is written; null otherwise.
   */
  setLimits(
    tx: Tx,
    version: Pick<LimitVersion, 'version' | 'limits'> & ControlNote & { readonly sums: readonly CountedSum[] },
  ): Promise<string | null>
  /** What is used of the limits, or of one of them, those that hold what waits for a person first, then those that hold anything, then those with the least left of their most. */
  readLimitUses(
    query: { readonly limit?: string | undefined; readonly most: number },
    tx?: Tx,
  ): Promise<readonly LimitUse[]>
}
