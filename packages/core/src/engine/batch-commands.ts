import type { Metadata } from '../metadata.ts'
import type { Batch, BatchReview } from '../ports/batches.ts'
import type { OperatorNote } from '../ports/safety.ts'
import type { ExpectedReview } from './batch-review.ts'
import type { ApproveOptions } from './control-commands.ts'

/** A batch to create. */
export interface CreateBatch {
  /** ULID. Generated when absent. */
  readonly id?: string | undefined
  /** Your own name of it, unique for its account: a second create with the same one returns the first batch. Default: none. */
  readonly key?: string | undefined
  /** The only account whose transfers it takes. Default: any. */
  readonly accountId?: string | undefined
  /** As that of a transfer. It is not searched. */
  readonly metadata?: Metadata | undefined
}

/** An approval of a whole batch. */
export interface ApproveBatchOptions extends ApproveOptions {
  /**
   * What the approver has seen, as {@link Batches.review} returned it, or a part of that: where the batch has something else at the moment of the
   * approval, nothing is approved. Default: whatever is held then.
   */
  readonly expected?: ExpectedReview | undefined
}

/**
 * Commands and reads of batches: transfers that belong together, such as the salaries of a month. A transfer enters one by its `batchId`, with its
 * enqueue, in the transaction that creates the batch or in a later one, until the batch is closed. A closed batch in which everything has ended is complete: that is
 * recorded once, as the event `batch.completed` of one of its transfers. A returned payment changes nothing of that.
 */
export interface Batches<Tx> {
  /**
   * Writes a batch in the host's transaction.
   * @throws OutlayError `invalid_id`, `idempotency_key_invalid`, `invalid_request` with the field, before any SQL; `conflict` when another batch has the id
   */
  create(tx: Tx, batch?: CreateBatch): Promise<Batch>
  /** One batch with its counts, as the transaction sees it if there is one; `undefined` when it does not exist. */
  get(batchId: string, tx?: Tx): Promise<Batch | undefined>
  /**
   * One batch by its key, with its counts; `undefined` when it does not exist. Give the `accountId` that it was created with.
   */
  getByKey(
    key: string,
    options?: { readonly accountId?: string | undefined; readonly tx?: Tx | undefined },
  ): Promise<Batch | undefined>
  /**
   * What is held for approval in a batch, for whoever approves it, as the transaction sees it if there is one; `undefined` when the batch does not
   * exist. Give it as `expected` of {@link Batches.approve}, and nothing is approved that was not in it.
   */
  review(batchId: string, tx?: Tx): Promise<BatchReview | undefined>
  /**
   * Closes a batch: it takes no further transfers and can complete. False when it was closed before. Who and why is in the audit.
   * @throws OutlayError `not_found`; `conflict` when nothing is in it, for which there would be no event: cancel it instead
   */
  close(tx: Tx, batchId: string, note?: OperatorNote): Promise<boolean>
  /**
   * Closes a batch and cancels its transfers, but for those whose money may have moved: these carry on. What another transaction is enqueueing at this
   * moment is not canceled; cancel again once it has ended. In `repeatable read`, neither is what was enqueued since the snapshot: cancel again in a new
   * transaction. There it fails with 40001 beside a resubmission that the snapshot does not have.
   * Who and why is in the audit.
   * @throws OutlayError `not_found`; `missing_field` without an `actor` when people hold a transfer of it, whose hold ends with it
   */
  cancel(tx: Tx, batchId: string, note?: OperatorNote): Promise<{ readonly canceled: number; readonly unended: number }>
  /**
   * Approves all held transfers of a batch that ask for approval, or none: those that this person has approved before stay as they are. Takes some
   * statements for each. Returns how many were approved, and how many of them are sent after the commit.
   * @throws OutlayError `invalid_request` with the field, before any SQL; `not_found`; `conflict` with the field `expected.transfers`, `expected.totals` or
   *   `expected.digest` when the batch has something else to approve; what `transfers.approve` throws for one of them, with its id
   */
  approve(
    tx: Tx,
    batchId: string,
    approval: ApproveBatchOptions,
  ): Promise<{ readonly approved: number; readonly released: number }>
  /**
   * Keeps the transfers of a batch from being submitted; requests under way are finished. False when it is already paused. Who and why is in the audit.
   * @throws OutlayError `not_found`
   */
  pause(tx: Tx, batchId: string, note?: OperatorNote): Promise<boolean>
  /**
   * Resumes a paused batch; workers notice within seconds. False when it is not paused. Who and why is in the audit.
   * @throws OutlayError `not_found`
   */
  resume(tx: Tx, batchId: string, note?: OperatorNote): Promise<boolean>
}
