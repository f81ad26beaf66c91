import type { ValueTypeName } from '../value-type.ts'
import type { NewTransfer } from './new-transfer.ts'
import type { OperatorNote } from './safety.ts'

/**
 * What is known of a transfer's effect at the service:
 *
 * - `none`: nothing of it is there, and nothing under way will be
 * - `unknown`: something may be
 * - `known`: the service has it under its id, and accepted it under no other
 * - `conflicting`: the service accepted it under an id that it has not got, and nobody has said that this is dealt with
 */
export type Effect = 'none' | 'unknown' | 'known' | 'conflicting'

/** Why no other gateway takes a refused transfer over: a policy or the engine refused the successor, or it was too late for one. */
export type FailoverEnd = 'failover_refused' | 'failover_late'

/** Changes of one transfer by a person or a program of the host. */
export interface TransferCommandPort<Tx> {
  /** Returns one blocked or waiting transfer to the queue with its own key. False when it is in no such stage. */
  release(tx: Tx, transferId: string): Promise<boolean>
  /** Cancels a transfer that had no effect, held or not. False when it may have had one, when it is final, or when it does not exist. */
  cancel(tx: Tx, transferId: string): Promise<boolean>
  /** Answers with what is known of the transfer's effect at the service. */
  effectOf(tx: Tx, transferId: string): Promise<Effect>
  /**
   * Records that a transfer is about to be enqueued in place of an ended one. Returns the id of the transfer in its place: the new one, or
   * an earlier one; `undefined` when the key has a transfer that cannot be that. Of calls at once, one gives its own transfer the place.
   * From then on until the end of the transaction no answer of the ended one is written, and `effect` is what is known of it: nothing is
   * recorded where that is `unknown` or `conflicting`. A call again with the same new transfer takes back what the first one recorded, and
   * sees what was enqueued under the key meanwhile.
   */
  recordResubmission(
    tx: Tx,
    endedId: string,
    transfer: Pick<NewTransfer, 'id' | 'idempotencyKey' | 'fingerprint'>,
  ): Promise<{ readonly successorId?: string | undefined; readonly effect: Effect }>
  /** Takes back what {@link TransferCommandPort.recordResubmission} recorded for a transfer that was not written. */
  forgetResubmission(tx: Tx, endedId: string, successorId: string): Promise<void>
  /**
   * Says that no other gateway takes over a transfer that failed with the reason `failover`: it gets this reason, or none where its batch was
   * canceled, and another `transfer.failed`. Does nothing where it has a successor, or another reason.
   */
  endFailover(tx: Tx, transferId: string, reason: FailoverEnd | null): Promise<void>
  /**
   * Resolves a blocked transfer: it has this id at the service or, with null, failed as `not_paid`. Does nothing when the
   * transfer is not blocked or does not exist; when `otherId`, a transfer of the same account, has that id at the service; or
   * when nothing was paid according to the resolution but `isUnderWay`: a request left a moment ago; or `isAccepted`: the service
   * accepted one under an id that the transfer has not got.
   */
  resolve(
    tx: Tx,
    transferId: string,
    resolution: OperatorNote & { readonly remoteId: string | null },
  ): Promise<{
    readonly done: boolean
    readonly isUnderWay: boolean
    readonly isAccepted: boolean
    readonly otherId: string | null
  }>
  /** Decides about a held return. Does nothing, and says why, when it cannot. */
  resolveReturn(tx: Tx, transferId: string, decision: ReturnDecision): Promise<ReturnObstacle | null>
}

/** So much came back, and it becomes an event; or, with an amount of null, the return is dismissed. */
export interface ReturnDecision extends OperatorNote {
  readonly identity: string
  readonly amount: string | null
  readonly currency?: ValueTypeName | undefined
}

/**
 * Why a return cannot be resolved, the first that applies:
 *
 * - `not_held`: no return of the transfer with this identity is held
 * - `not_complete`: the transfer is not complete, so nothing can come back of it
 * - `other_currency`: the currency that was given, or the reported one where none was, is not that of the transfer
 * - `exceeds_transfer`: with what came back before it is more than the transfer
 */
export type ReturnObstacle = 'not_held' | 'not_complete' | 'other_currency' | 'exceeds_transfer'
