import type { Metadata } from '../metadata.ts'
import type { TransferStatus } from '../transfer-status.ts'
import type { ValueTypeName } from '../value-type.ts'
import type { Stage, StoredTransfer } from './stored-transfer.ts'

/** Which transfers are wanted, as a backend gets it: checked, with moments in UTC. An absent member does not narrow the result. */
export interface TransferQuery {
  readonly accountId?: string | undefined
  readonly gateway?: string | undefined
  readonly stage?: Stage | undefined
  readonly status?: TransferStatus | undefined
  readonly reason?: string | undefined
  /** That was asked for: a decimal string; 12.5 and 12.50 are one amount. */
  readonly amount?: string | undefined
  /** In any case of its letters. */
  readonly currency?: ValueTypeName | undefined
  /** The id of the payee's address or the name of one that was given in full, in any case of its letters. */
  readonly payee?: string | undefined
  /** The transfer has all of these pairs; at most five. */
  readonly metadata?: Metadata | undefined
  readonly batchId?: string | undefined
  /** Enqueued then or later, ISO 8601. */
  readonly createdAfter?: string | undefined
  /** Enqueued before then, ISO 8601. */
  readonly createdBefore?: string | undefined
  readonly limit: number
  /** The `nextCursor` of the page before. */
  readonly cursor?: string | undefined
}

/** A page of transfers, the newest first. */
export interface TransferPage {
  /** At most so many as the limit says; fewer, or none, also where more follow. */
  readonly transfers: readonly StoredTransfer[]
  /** Where the next page begins; null after the last one. */
  readonly nextCursor: string | null
}
