import type { Amount } from '../amount.ts'
import type { TransferFailure } from '../transfer.ts'
import type { TransferStatus } from '../transfer-status.ts'
import type { NewTransfer } from './new-transfer.ts'

/**
 * Where a transfer stands inside the engine, beside its status.
 *
 * - `queued`: waits for a worker, for its time or for its next attempt
 * - `held`: committed, and sent by nobody until people approve or release it, or until it fits a limit on sums; `reason` is the first of what holds it
 * - `submitting`: a worker has claimed it; its request may be on its way
 * - `awaiting_funds`: refused for lack of funds; the same key is sent again when funds arrive, or on a slow backoff
 * - `submitted`: the other side has it; it is polled until its status is final, or lost there: `reason` says so
 * - `blocked`: only a person can decide; `reason` says why
 * - `settled`: its status is final, or the request was refused
 */
export const stages = ['queued', 'held', 'submitting', 'awaiting_funds', 'submitted', 'blocked', 'settled'] as const

/** Where a transfer stands inside the engine. */
export type Stage = (typeof stages)[number]

/** Every transition between stages, and its cause. A transfer starts as `queued`, or as `held`, and nothing leaves `settled`. */
export const stageTransitions = [
  { from: 'queued', to: 'held', when: 'hold, by a person, before any claim; or beyond a limit on sums at its claim' },
  { from: 'held', to: 'queued', when: 'its last hold is released, or its last approval given' },
  { from: 'held', to: 'settled', when: 'cancel, or reject' },
  { from: 'held', to: 'submitted', when: 'reconciliation, by a person: the service has it' },
  { from: 'held', to: 'blocked', when: 'reconciliation: the service may have it and may have forgotten its key' },
  { from: 'queued', to: 'submitting', when: 'claim' },
  { from: 'queued', to: 'settled', when: 'cancel' },
  { from: 'queued', to: 'submitted', when: 'reconciliation, by a person: the service has it' },
  {
    from: 'queued',
    to: 'blocked',
    when: 'unknown for 24 hours while its account waits; or reconciliation: the service may have it and may have forgotten its key',
  },
  {
    from: 'submitting',
    to: 'queued',
    when: 'throttled, stopped, refused credentials, another client, reconciliation or unknown outcome: same key later; or its counterparty is registered',
  },
  { from: 'submitting', to: 'awaiting_funds', when: 'insufficient balance, or stopped after one' },
  { from: 'submitting', to: 'submitted', when: 'accepted' },
  {
    from: 'submitting',
    to: 'blocked',
    when: 'key mismatch, another environment, unknown for 24 hours or for longer than keys live, accepted with the id of another one, or refused alone too often',
  },
  { from: 'submitting', to: 'settled', when: 'refused for good, expired, or accepted as final' },
  { from: 'awaiting_funds', to: 'submitting', when: 'claim, on the slow backoff' },
  { from: 'awaiting_funds', to: 'held', when: 'beyond a limit on sums at its claim' },
  {
    from: 'awaiting_funds',
    to: 'queued',
    when: 'funds arrived, release, reconciliation that sends it again, or its account is paused, refused or at a limit',
  },
  { from: 'awaiting_funds', to: 'settled', when: 'cancel' },
  { from: 'awaiting_funds', to: 'submitted', when: 'reconciliation, by a person: the service has it' },
  {
    from: 'awaiting_funds',
    to: 'blocked',
    when: 'unknown for 24 hours, left by an earlier release; or reconciliation: the service may have it and may have forgotten its key',
  },
  { from: 'submitted', to: 'settled', when: 'status is final' },
  { from: 'submitted', to: 'queued', when: 'release of one that the service has lost, by a person' },
  { from: 'submitted', to: 'blocked', when: 'resolve of another one, by a person: the id belongs to that one' },
  { from: 'blocked', to: 'queued', when: 'release, by a person' },
  { from: 'blocked', to: 'held', when: 'release, by a person, of one that was held before' },
  { from: 'blocked', to: 'submitted', when: 'resolve or reconciliation, by a person: the service has it' },
  {
    from: 'blocked',
    to: 'settled',
    when: 'cancel, while no outcome is unknown; or resolve, by a person: not paid',
  },
] as const satisfies readonly { readonly from: Stage; readonly to: Stage; readonly when: string }[]

/** A transfer as the engine stores it. */
export interface StoredTransfer extends Omit<NewTransfer, 'counterparty' | 'replaces' | 'holds'> {
  readonly stage: Stage
  readonly status: TransferStatus
  readonly failure: TransferFailure | null
  /** Id at the other side; null while it is unknown. */
  readonly remoteId: string | null
  /** Number of attempts so far. */
  readonly attempt: number
  /**
   * Why it waits or is blocked: a code. Of a failed one, `failover` while another gateway is to take it over, `failover_refused` or `failover_late` where
   * none does after all. Null otherwise.
   */
  readonly reason: string | null
  /** ISO 8601, UTC. */
  readonly createdAt: string
  /** ISO 8601, UTC. */
  readonly updatedAt: string
  /** The transfer that it was resubmitted as; absent where there is none, and in events. */
  readonly resubmittedAs?: string | undefined
  /** The ended transfer that it was resubmitted for; absent where there is none. */
  readonly resubmissionOf?: string | undefined
  /**
   * What was paid, where the service says another amount than `request.amount`, in the same currency. Absent where it says the same, where
   * the transfer is not complete, and where the service says no amount that can be compared.
   */
  readonly paidAmount?: Amount | undefined
}

/** The result of an enqueue. */
export interface EnqueuedTransfer extends StoredTransfer {
  /** True when the account already had a transfer with this key and the same request. */
  readonly reused: boolean
  /**
   * Where the key stands for a transfer that ended without a payment: a sentence that says so, that nothing was enqueued, and how to pay
   * again, or which transfer did. Absent otherwise.
   */
  readonly notice?: string | undefined
}
