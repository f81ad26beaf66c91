import type { TransferFailure } from '../transfer.ts'
import type { TransferReturn } from '../transfer-return.ts'
import type { TransferStatus } from '../transfer-status.ts'
import type { TransferTypeName } from '../transfer-type.ts'
import type { NewEvent } from './claim.ts'
import type { Observation } from './gateway.ts'
import type { Stage, StoredTransfer } from './stored-transfer.ts'

/** The change that one observation makes; the decision returns `undefined` for no change. */
export interface StatusChange {
  readonly stage: Stage
  readonly status: TransferStatus
  readonly failure: TransferFailure | null
  /** When the status was reached according to the service, ISO 8601; null when it does not say. */
  readonly reachedAt: string | null
  readonly events: readonly NewEvent[]
}

/** The input of a decision about a change. `origin` only says where the transfer came from. */
export interface ChangingTransfer extends Pick<StoredTransfer, 'stage' | 'status' | 'failure'> {
  /** When the current status was reached, ISO 8601; null or absent when unknown. */
  readonly reachedAt?: string | null
  /** When it was enqueued, ISO 8601, and the rail or chain of its destination; absent when unknown. */
  readonly origin?: { readonly createdAt: string; readonly transferType: TransferTypeName } | undefined
}

/** Decides what an observation changes. Pure. */
export type DecideChange = (current: ChangingTransfer, observation: Observation) => StatusChange | undefined

/** A transfer observed at the service that no row here may stand for: the row to write for it. */
export interface FoundTransfer
  extends Pick<
    StoredTransfer,
    'id' | 'idempotencyKey' | 'fingerprint' | 'request' | 'stage' | 'status' | 'failure' | 'createdAt'
  > {
  readonly remoteId: string
  /** True when an automation created it, so that it cannot be the result of a request from here. */
  readonly automated: boolean
  /** When the status was reached according to the service, ISO 8601; null when it does not say. */
  readonly reachedAt: string | null
  readonly events: readonly NewEvent[]
  /** All that came back of it; absent where nothing did. */
  readonly returns?: readonly TransferReturn[] | undefined
  /** When the service had last changed it, ISO 8601; null when it does not say. */
  readonly changedAt: string | null
  /** How long its money may come back after it was complete, in milliseconds; absent where it cannot, or while it is not complete. */
  readonly returnWindowMs?: number | undefined
  /** Why it cannot be adopted as it is: it is kept as found, and tried again when the service says something else. Absent in nearly all. */
  readonly problem?: string | undefined
}

/** How observations are applied. An account is given as `atGateway` writes it, together with its gateway. */
export interface ObserveRules {
  readonly decide: DecideChange
  /** The row for a transfer that is not known here; `undefined` when the observation says too little. */
  readonly describe: (observation: Observation, account: string) => FoundTransfer | undefined
  /** How long the money of a transfer between these rails or chains may come back, in milliseconds; `undefined` where it cannot. */
  readonly returnWindowMs: (transferTypes: readonly string[], account: string) => number | undefined
}

/** What was observed of one account at the service. */
export interface AccountObservations {
  /** As `atGateway` writes it, together with its gateway. */
  readonly account: string
  readonly observations: readonly Observation[]
}

/** Applies what was observed at the service. An account is given as `atGateway` writes it, together with its gateway. */
export interface ObservationPort<Tx> {
  /**
   * Applies observations in the given transaction, of accounts each of which is named once; returns how many transfers changed. Each return of a transfer is
   * recorded once, as an event when the transfer is complete; one that contradicts the transfer is held. An observation with an
   * unknown remote id changes nothing but is recorded: a transfer that later gets that id is polled at once. On a watched
   * account the observed transfer is adopted once it is certain that no transfer here stands for it.
   */
  observe(tx: Tx, given: readonly AccountObservations[], rules: ObserveRules): Promise<number>
  /**
   * Applies one observation in the same way in a transaction of its own, which waits for no other transaction. Gives `undefined`
   * when another one has the transfer locked: nothing is written then.
   */
  receive(account: string, observation: Observation, rules: ObserveRules): Promise<number | undefined>
}
