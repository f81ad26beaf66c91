import type { Amount } from '../amount.ts'
import type { StoredRequest } from '../counterparty.ts'
import type { EventType } from '../event.ts'
import type { Metadata } from '../metadata.ts'
import type { TransferFailure } from '../transfer.ts'
import type { TransferReturn } from '../transfer-return.ts'
import type { TransferStatus } from '../transfer-status.ts'
import type { Environment } from '../transfer-type.ts'
import type { Registration } from './gateway.ts'
import type { Stage } from './stored-transfer.ts'

/** An event to write together with a change. */
export interface NewEvent {
  readonly type: EventType
}

/** A transfer that a worker has claimed: no other worker submits it while the claim is alive. */
export interface Claim {
  readonly transferId: string
  readonly accountId: string
  /** The gateway that it is sent to, and no other one. */
  readonly gateway: string
  /**
   * The idempotency key to send: derived from account and host's key, or the host's key itself where an earlier release sent
   * that.
   */
  readonly submissionKey: string
  readonly request: StoredRequest
  /** Present while the counterparty of the request is not registered: this attempt registers it and sends no transfer. */
  readonly registration?:
    | (Pick<Registration, 'idempotencyKey' | 'address'> & {
        /** Since when the outcome of a registration is unknown, ISO 8601; null when every one so far was answered. */
        readonly unknownSince: string | null
      })
    | undefined
  /** Fences the settlement: a later claim has a greater attempt number. */
  readonly attempt: number
  /** Who made it: different for each claim, also for two of one worker. */
  readonly claimedBy: string
  /**
   * When the database made this claim, ISO 8601. All decisions about the claim use this time, since a worker's clock may be
   * wrong.
   */
  readonly claimedAt: string
  /** Why the transfer waited before this claim: a code; null at its first attempt. */
  readonly reason: string | null
  /**
   * Since when the outcome of an earlier attempt is unknown, ISO 8601: the time of the first unanswered claim. Null when every
   * attempt so far was answered.
   */
  readonly unknownSince: string | null
  /** The first unanswered attempt; null when there is none. */
  readonly unknownAttempt: number | null
  /** True when a person released the transfer since its last answer: one more attempt is allowed, however old the unknown is. */
  readonly released: boolean
  /** The client of its last request, by {@link Gateway.identify}; null when none has left, or when an earlier release sent it. */
  readonly client: string | null
  /** Not sent for the first time after this, ISO 8601; null for no end. */
  readonly expiresAt: string | null
  /** Environment that it was enqueued for; absent when none was declared. */
  readonly environment?: Environment | undefined
  /** What the host has noted beside it; absent where there is nothing. */
  readonly metadata?: Metadata | undefined
  /** How often in a row the account's credentials were refused. 0 while they are accepted; then this claim is no probe. */
  readonly credentialRefusals: number
  /** How often the service refused the credentials for this transfer while it accepted others of the account; nearly always 0. */
  readonly ownRefusals: number
  /** W3C trace context of its enqueue, if it has one; only for traced handlers. */
  readonly traceparent?: string | undefined
  /** When it was enqueued, ISO 8601; only for traced handlers. */
  readonly createdAt?: string | undefined
}

/** What the service says that it paid of a transfer. */
export interface PaidReport {
  readonly amount: Amount
  /** When the service had last changed the transfer, ISO 8601; null when it does not say. */
  readonly changedAt: string | null
}

/** The outcome of one attempt, written with its transfer, its events and its job in one transaction. */
export interface Settlement {
  readonly transferId: string
  readonly attempt: number
  /** Whose claim it settles: a fail-over that loses claims gives the numbers of their attempts again. */
  readonly claimedBy: string
  /** When it was claimed, by the database's clock, ISO 8601: an unknown outcome is written with it where its claim is lost. */
  readonly claimedAt: string
  readonly stage: Stage
  readonly status: TransferStatus
  readonly failure: TransferFailure | null
  readonly remoteId: string | null
  /** Id of the counterparty that this attempt registered; the next attempt sends the transfer to it. */
  readonly addressId?: string | undefined
  /**
   * Since when the outcome of the registration is unknown, ISO 8601. Separate from `unknownSince`: a registration moves no
   * money.
   */
  readonly registrationUnknownSince?: string | undefined
  /** True when the counterparty was refused, or no longer exists at the service: the next transfer to it registers it again. */
  readonly forgetCounterparty?: boolean | undefined
  readonly reason: string | null
  readonly unknownSince: string | null
  /**
   * What the answer says about the account's credentials; null when it says nothing. After `refused` the account's other
   * transfers wait and one at a time probes. The first probe that finds the credentials `good` releases all of them.
   */
  readonly credentials: 'good' | 'refused' | null
  /** The refusal count in the claim; the verdict is applied only if there were no more refusals since. */
  readonly credentialRefusals: number
  /** How often this transfer alone was refused, including this attempt; absent for any other answer. */
  readonly ownRefusals?: number | undefined
  /** When the status was reached according to the service, ISO 8601; null when it does not say. */
  readonly reachedAt: string | null
  /** How long the service asked the whole account to wait, in milliseconds; 0 when it named no time, null when it did not ask. */
  readonly throttledForMs: number | null
  /** Delay until the next attempt, in milliseconds; null when there is none. */
  readonly retryAfterMs: number | null
  /** Delay until the first poll of its status, in milliseconds; null when no poll is needed. */
  readonly pollAfterMs: number | null
  readonly events: readonly NewEvent[]
  /** All that came back of the transfer, where the answer says that something did; absent in nearly all settlements. */
  readonly returns?: readonly TransferReturn[] | undefined
  /** When the service had last changed the transfer as it said so, ISO 8601; null or absent when unknown. */
  readonly returnsChangedAt?: string | null | undefined
  /** How long its money may come back, in milliseconds; absent where it cannot, or while it is not complete. */
  readonly returnWindowMs?: number | undefined
  /** What was paid, where the answer says at once that it was another amount than was asked for; absent in nearly all settlements. */
  readonly paid?: PaidReport | undefined
  /** Why what was paid cannot be compared with what was asked for, where the answer says at once that it was paid; absent in nearly all. */
  readonly paidUnknown?: 'other_currency' | 'unreadable' | undefined
  /** For the attempts log. */
  readonly answer: {
    readonly outcome: string
    readonly detail: string | null
    readonly httpStatus: number | null
    readonly requestId: string | null
  }
}
