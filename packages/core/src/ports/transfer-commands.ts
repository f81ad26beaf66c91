import type { OperatorNote } from './safety.ts'

/** Changes of one transfer by a person or a program of the host. */
export interface TransferCommandPort<Tx> {
  /** Returns one blocked or waiting transfer to the queue with its own key. False when it is in no such stage. */
  release(tx: Tx, transferId: string): Promise<boolean>
  /** Cancels a transfer that had no effect. False when it may have had one, when it is final, or when it does not exist. */
  cancel(tx: Tx, transferId: string): Promise<boolean>
  /**
   * True when the service accepted the transfer too late for it to take the answer, it has not got that id since, and nobody has said
   * that this is dealt with.
   */
  isAcceptedLate(tx: Tx, transferId: string): Promise<boolean>
  /**
   * Resolves a blocked transfer: it has this id at the service or, with null, failed as `not_paid`. Does nothing when the
   * transfer is not blocked or does not exist; when `otherId`, a transfer of the same account, has that id at the service; or
   * when nothing was paid according to the resolution but `isUnderWay`: a request left a moment ago; or `isAccepted`: the service
   * accepted one, too late for the transfer to take the answer.
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
}
