import type { TransferOrder } from '../transfer.ts'

/** What a resubmitted transfer has instead of what the ended one had. */
export interface ResubmitOptions {
  /** Default: derived from the key of the ended transfer, `k:resubmit` from `k`. */
  readonly idempotencyKey?: string | undefined
  /** Null for at once. Default: that of the ended transfer. */
  readonly notBefore?: string | Date | null | undefined
  /** Null for no end. Default: that of the ended transfer. */
  readonly expiresAt?: string | Date | null | undefined
  /** The amount that should have been paid. Default: that of the ended transfer. */
  readonly amount?: TransferOrder['amount'] | undefined
  /** Who resubmits it, for the audit, and does not approve it: policies that hold it refuse it without. Default: nobody is named. */
  readonly createdBy?: string | undefined
  /** Why, for the audit. */
  readonly reason?: string | undefined
  /** Where it should have gone, whole. Default: the destination of the ended transfer. */
  readonly destination?: TransferOrder['destination'] | undefined
  /**
   * Where it is sent, by the name of a gateway of this engine. Another one than that of the ended transfer is refused unless nothing of the ended one
   * was ever accepted. Default: the gateway of the ended transfer.
   */
  readonly gateway?: string | undefined
}
