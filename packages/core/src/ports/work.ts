import type { StoredRequest } from '../counterparty.ts'
import type { EventType } from '../event.ts'
import type { TransferFailure } from '../transfer.ts'
import type { TransferStatus } from '../transfer-status.ts'
import type { Environment } from '../transfer-type.ts'
import type { DecideThrottle } from './accounts.ts'
import type { Observation, Registration } from './gateway.ts'
import type { Logger } from './runtime.ts'
import type { Stage, StoredTransfer } from './stored-transfer.ts'

/** A transfer that a worker has claimed: no other worker submits it while the claim is alive. */
export interface Claim {
  readonly transferId: string
  readonly accountId: string
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
  /** How often in a row the account's credentials were refused. 0 while they are accepted; then this claim is no probe. */
  readonly credentialRefusals: number
  /** How often the service refused the credentials for this transfer while it accepted others of the account; nearly always 0. */
  readonly ownRefusals: number
  /** W3C trace context of its enqueue, if it has one; only for {@link WorkHandlers.traced} handlers. */
  readonly traceparent?: string | undefined
  /** When it was enqueued, ISO 8601; only for {@link WorkHandlers.traced} handlers. */
  readonly createdAt?: string | undefined
}

/** An event to write together with a change. */
export interface NewEvent {
  readonly type: EventType
}

/** The outcome of one attempt, written with its transfer, its events and its job in one transaction. */
export interface Settlement {
  readonly transferId: string
  readonly attempt: number
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
  /** For the attempts log. */
  readonly answer: {
    readonly outcome: string
    readonly detail: string | null
    readonly httpStatus: number | null
    readonly requestId: string | null
  }
}

/** A submitted transfer that is due for a poll. */
export interface PolledTransfer {
  readonly transferId: string
  readonly accountId: string
  readonly remoteId: string
  readonly status: TransferStatus
  /** Rail or chain of the destination; determines the poll interval. */
  readonly transferType: string
  /** How often it was polled so far. */
  readonly polls: number
  /** W3C trace context of its enqueue, if it has one; only for {@link WorkHandlers.traced} handlers. */
  readonly traceparent?: string | undefined
}

/** The result of polling submitted transfers. */
export interface Readings {
  readonly observations: readonly Observation[]
  /** Ids of transfers that the other side does not have. */
  readonly missing: readonly string[]
}

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
  readonly origin?: { readonly createdAt: string; readonly transferType: string } | undefined
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
}

/** How observations are applied. */
export interface ObserveRules {
  readonly decide: DecideChange
  /** The row for a transfer that is not known here; `undefined` when the observation says too little. */
  readonly describe: (observation: Observation) => FoundTransfer | undefined
}

/** One page of an account's list, newest first. */
export interface ListPage {
  readonly observations: readonly Observation[]
  /** Cursor of the next page; `undefined` at the end of the list. */
  readonly next?: string | undefined
  /** How many of its transfers could not be read, and are left out. Default 0. */
  readonly unreadable?: number | undefined
}

/** An event as it is delivered to a subscriber. */
export interface TransferEvent {
  /** Identifies the event; the same on every delivery. */
  readonly id: string
  readonly type: EventType
  readonly accountId: string
  readonly transferId: string
  /** 1, 2, 3 … within one transfer. */
  readonly sequence: number
  /** ISO 8601, UTC. */
  readonly occurredAt: string
  /** The transfer as it was when the event was recorded. */
  readonly transfer: StoredTransfer
  /** W3C trace context of the transfer's enqueue, if engines have telemetry and the transfer was enqueued with one. */
  readonly traceparent?: string | undefined
}

/** What a handler receives beside the event and the transaction. */
export interface HandlerContext {
  /** Aborted when the handler's time is over, or when the engine stops and cannot wait. Its writes are then rolled back. */
  readonly signal: AbortSignal
}

/**
 * Handles one event inside a transaction; its writes commit together with the acknowledgement. The engine commits and rolls
 * back: a handler that does so itself has failed.
 */
export type EventHandler<Tx> = (event: TransferEvent, tx: Tx, context: HandlerContext) => Promise<void>

/** A durable named subscription. */
export interface Subscription<Tx> {
  readonly name: string
  readonly types: readonly EventType[]
  readonly handler: EventHandler<Tx>
  /** Events that may share one transaction. When a handler fails, all of them are rolled back and handled one by one. */
  readonly batchSize: number
  /** Time limit of the handler for one event, in milliseconds. */
  readonly timeoutMs: number
}

/** The result of removing a subscription, or some of its types. */
export interface SubscriptionRemoval {
  /** False when there is no such subscription, and no undelivered event of one. */
  readonly known: boolean
  readonly removed: boolean
  /** Its undelivered events, dead letters included. */
  readonly pending: number
}

/** What the engine does with work from a backend. */
export interface WorkHandlers<Tx> {
  /** The client as which every transfer is sent; `undefined` when the gateway returns one for each account. */
  readonly client?: string | undefined
  /** Age of an unknown outcome at which a person has to decide, in milliseconds. */
  readonly unknownLimitMs: number
  /**
   * Submits one claimed transfer and decides what its answer means. Never rejects. `mayBegin` says right before the request
   * leaves whether it may; if not, the transfer is put back as it was.
   */
  submit(claim: Claim, signal: AbortSignal, mayBegin: () => boolean): Promise<Settlement>
  /** Polls transfers of one account one by one and returns the observations; transfers that could not be read are left out. */
  poll(accountId: string, transfers: readonly PolledTransfer[], signal: AbortSignal): Promise<Readings>
  /** Reads a page of an account's list, from its beginning without a cursor; `undefined` when the other side has no lists. */
  readPage(accountId: string, cursor: string | null, signal: AbortSignal): Promise<ListPage | undefined>
  /** Delay until the next poll, in milliseconds. */
  nextPollMs(transfer: Pick<PolledTransfer, 'accountId' | 'transferType' | 'polls'>): number
  /** Delay until the next read of a watched account, in milliseconds, after this many reads that found nothing. */
  nextWatchMs(idle: number): number
  readonly rules: ObserveRules
  /** Environment of the gateway, if it declares one. */
  readonly environment?: Environment | undefined
  /** Decides how far an account is throttled after the service answered 429. */
  readonly decideThrottle: DecideThrottle
  readonly subscriptions: readonly Subscription<Tx>[]
  /** True for handlers that want trace contexts. Default false: the contexts are not read. */
  readonly traced?: boolean | undefined
  /** Where the workers log. Default: the backend's own logger. */
  readonly logger?: Logger | undefined
}

/** How long data stays in the live tables. */
export interface Retention {
  /** Days after a transfer's end at which the running engine begins to archive its events and attempts, slowly. */
  readonly archiveAfterDays?: number | undefined
}

/** Options of the workers of one process. Every member has a default. */
export interface WorkOptions {
  /** Transfers that this process submits at once. Default 100. */
  readonly concurrency?: number | undefined
  /** Longest pause between two reads of an empty queue, in milliseconds. Default 200. */
  readonly pollIntervalMs?: number | undefined
  /**
   * Events being handled at once per subscription by this process; fewer, with a warning, where the pool has too few connections
   * for that and for sending. Default 4.
   */
  readonly subscriptionConcurrency?: number | undefined
  /**
   * Submissions and polls of an account that take longer than this are slow, in milliseconds: others need not wait for them. A
   * slow submission no longer counts against `concurrency`, up to four times as many, and an account with many is throttled; a
   * slow account is polled in a small share of its own, and one whose events are slow leaves a loop to others. Default 5 000.
   */
  readonly slowAfterMs?: number | undefined
  /** How long {@link WorkHandlers.submit} may take to end when the engine stops, in milliseconds. Default 10 000. */
  readonly stopTimeoutMs?: number | undefined
  /** How old transfers are archived. Default: they are not; everything stays in the live tables. */
  readonly retention?: Retention | undefined
  /** Uses LISTEN for wake-ups; switch it off behind a pooler in transaction mode. Default true. */
  readonly listen?: boolean | undefined
}

/** Running workers. */
export interface Workers {
  /** Stops claiming, waits for requests in flight, settles them, and returns the rest to the queue. */
  stop(): Promise<void>
}
