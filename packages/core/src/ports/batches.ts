import type { Metadata } from '../metadata.ts'
import type { OperatorNote } from './safety.ts'

/** How many transfers of a batch there are, exact at the moment of the read. A resubmitted one counts as its successor does. */
export interface BatchCounts {
  readonly total: number
  /** By status at the service. */
  readonly pending: number
  readonly processing: number
  readonly failed: number
  readonly canceled: number
  readonly complete: number
  /** Those that have not ended: queued, under way, waiting, or blocked until a person decides. The batch completes when there are none. */
  readonly unended: number
  /** Ended ones that others of the batch stand for. They are in no other count. */
  readonly resubmitted: number
}

/** Transfers that belong together. Times are ISO 8601, UTC. */
export interface Batch {
  /** ULID. */
  readonly id: string
  /** The only account whose transfers it takes; null for any. */
  readonly accountId: string | null
  /** The host's own name of it. */
  readonly key: string | null
  readonly metadata?: Metadata | undefined
  /**
   * - `open`: takes transfers
   * - `closed`: takes none but successors of its own, and is not complete
   * - `completed`: everything in it has ended, and `batch.completed` was recorded
   */
  readonly state: 'open' | 'closed' | 'completed'
  /** True while its transfers are not sent. */
  readonly paused: boolean
  readonly counts: BatchCounts
  readonly createdAt: string
  readonly closedAt: string | null
  readonly completedAt: string | null
}

/** What is held for approval in a batch: what an approval of the whole batch is about. */
export interface BatchReview {
  /** How many transfers. */
  readonly transfers: number
  /** The total of each currency, as decimal text. */
  readonly totals: Readonly<Record<string, string>>
  /** 64 hexadecimal digits that stand for exactly these transfers with exactly these requests. */
  readonly digest: string
}

/** A batch to be written in the host's transaction. */
export interface NewBatch extends Pick<Batch, 'id' | 'accountId' | 'key'> {
  readonly metadata?: Metadata | undefined
}

/** Writes batches in the host's transaction, and reads them. */
export interface BatchPort<Tx> {
  /** Writes a batch, unless there is one with its key for the same account, which it returns; `undefined` when the id is in use. */
  createBatch(tx: Tx, batch: NewBatch): Promise<Batch | undefined>
  /** A batch as the transaction sees it; without a transaction, as it is committed. */
  getBatch(batchId: string, tx?: Tx): Promise<Batch | undefined>
  /** The same by its key; null for one of any account. */
  getBatchByKey(accountId: string | null, key: string, tx?: Tx): Promise<Batch | undefined>
  /**
   * Lets a batch take no further transfers, and writes that into the audit: who enqueues closes batches, and may not write the audit otherwise. False when
   * it takes none already.
   */
  closeBatch(tx: Tx, batchId: string, note: OperatorNote): Promise<boolean>
  /** Closes a batch and cancels what has no effect; how many, or `undefined` when there is no such batch. */
  cancelBatch(tx: Tx, batchId: string): Promise<number | undefined>
  /** Locks the transfers of a batch that can be canceled, and finds one that people hold. */
  lockHeldByPeople(tx: Tx, batchId: string): Promise<string | undefined>
  /** Locks the held transfers of a batch, in the order of their ids, which it returns. */
  lockHeldOfBatch(tx: Tx, batchId: string): Promise<readonly string[]>
  /** What is held for approval in a batch, of these transfers alone if they are given. */
  reviewBatch(batchId: string, tx?: Tx, ids?: readonly string[]): Promise<BatchReview>
  /** Keeps the transfers of a batch from being sent. False when it is paused already. */
  pauseBatch(tx: Tx, batchId: string): Promise<boolean>
  /** Lets them be sent again. False when it is not paused. */
  resumeBatch(tx: Tx, batchId: string): Promise<boolean>
  /** Keeps a batch from completing until the transaction ends. False when it has completed, or when there is none. */
  holdBatch(tx: Tx, batchId: string, accountId: string): Promise<boolean>
  /**
   * True for a batch that was canceled. In a transaction, it waits for a cancel that is under way, and nobody cancels the batch until its end; it throws
   * `account_moving` for a batch that is on its way, and gives `undefined` for one that stayed elsewhere, complete, when what was in it moved.
   */
  isBatchCanceled(batchId: string, tx?: Tx): Promise<boolean | undefined>
}
