import type { Approval, ApprovalRequirement } from '../approval.ts'
import type { HoldName } from '../policy.ts'
import type { LimitKey, LimitSpan } from '../sum-limit.ts'
import type { ScreeningState, StoredScreening } from './screening.ts'

/** Who gives a command, and why: for the audit. */
export interface ControlNote {
  /** Who: the name under which the host knows the person or program, of 1 to 255 characters. */
  readonly actor: string
  readonly reason: string
}

/** A hold to be written with a transfer. */
export interface NewHold {
  readonly name: HoldName
  /** The policy that holds it; absent where none does. */
  readonly policy?: string | undefined
  readonly policyVersion?: number | undefined
  readonly why: string
  /** What has to be approved, as it was when it was held: a policy that changes later changes nothing of it. */
  readonly requirement?: ApprovalRequirement | undefined
}

/** A hold to be written when a transfer turns out, before it is sent, to look like another one. */
export interface NewWatch extends NewHold {
  readonly policy: string
  readonly policyVersion: number
  readonly days: number
  /** Currencies of the same worth as that of the transfer. */
  readonly currencies: readonly string[]
}

/** Why a transfer is beyond a limit on sums, as it was when it was held. Amounts are decimal strings. */
export interface LimitExcess {
  readonly limit: string
  readonly currency: string
  readonly most: string
  readonly used: string
  /** Absent where nobody here knows it: of the other side of a quote than the one in which the transfer is stated. */
  readonly amount?: string | undefined
  readonly span: LimitSpan
  readonly zone: string
  /** Which one of the sums of the limit. */
  readonly of: Readonly<Partial<Record<LimitKey, string>>>
  /** ISO 8601, UTC: the hour, day or month. */
  readonly from: string
  readonly until: string
  /** ISO 8601, UTC: when the sum starts at nothing again; absent for one that is more than the limit alone, or of unknown amount, which somebody has to release. */
  readonly fitsAt?: string | undefined
}

/** Why a transfer is not sent, until somebody acts. */
export interface Hold extends NewHold {
  /** Of the hold of a limit on sums, which goes by itself when the transfer fits. Its `policy` is the name of the limit. */
  readonly excess?: LimitExcess | undefined
  /** Of the hold for screening: how far that is. */
  readonly screening?: ScreeningState | undefined
  /** ISO 8601, UTC. */
  readonly since: string
  /** Who put it on hold; absent where a policy did. */
  readonly actor?: string | undefined
}

/** What is known of a transfer that is or was held. */
export interface HeldState {
  /** True where the transfer may not be sent any more: held after its `expiresAt`, it ends as failed. */
  readonly isExpired: boolean
  /** Who created the transfer; null where the enqueue did not say. */
  readonly createdBy: string | null
  /** Who created the transfers in whose place it was resubmitted, in the order of their names. Absent where a backend has none. */
  readonly earlierCreators?: readonly string[] | undefined
  /** By name and policy; none where it is not held. */
  readonly holds: readonly Hold[]
  /** Also those of a transfer that has been sent since, the oldest first. */
  readonly approvals: readonly Approval[]
  /** Answers of the screening, the oldest first, also of a transfer that has been sent since. Absent where a backend has none. */
  readonly screenings?: readonly StoredScreening[] | undefined
}

/** Puts transfers on hold and lets them go. */
export interface HoldPort<Tx> {
  /** What holds a transfer; without a transaction, as it is committed. `undefined` where there is no such transfer. */
  getHolds(transferId: string, tx?: Tx): Promise<HeldState | undefined>
  /** The same of many, as the transaction sees them, by their ids. */
  getHoldsOf(tx: Tx, transferIds: readonly string[]): Promise<ReadonlyMap<string, HeldState>>
  /** The same as `getHolds`, locked until the transaction ends: with what others wrote until they unlocked it. */
  lockHolds(tx: Tx, transferId: string): Promise<HeldState | undefined>
  /**
   * Holds a transfer that was never claimed, or adds to what holds it. `claimed` when a worker has, or may have, claimed it, or when it has ended;
   * `before` when an operator holds it already. From `held` on no worker claims it.
   */
  hold(tx: Tx, transferId: string, note: ControlNote): Promise<'held' | 'before' | 'claimed'>
  /** Writes an approval of each of these locked transfers. */
  addApproval(tx: Tx, transferIds: readonly string[], approval: Omit<Approval, 'at'>): Promise<void>
  /** Ends holds of a locked transfer; with the last one it goes to the outbox. True when it does. */
  releaseHolds(tx: Tx, transferId: string, holds: readonly Pick<Hold, 'name' | 'policy'>[]): Promise<boolean>
  /** True for a transfer that people held when it ended, or hold. */
  wasHeldByPeople(tx: Tx, transferId: string): Promise<boolean>
  /** Ends a locked transfer as canceled. False when it may have an effect. */
  rejectHeld(tx: Tx, transferId: string): Promise<boolean>
}
