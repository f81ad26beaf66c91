import type { StoredRequest } from '../counterparty.ts'
import type { EventType } from '../event.ts'
import type { TransferFailure } from '../transfer.ts'
import type { TransferStatus } from '../transfer-status.ts'
import type { Environment } from '../transfer-type.ts'
import type { DecidePace } from './accounts.ts'
import type { Observation, Registration } from './gateway.ts'
import type { Logger } from './runtime.ts'
import type { Stage, StoredTransfer } from './stored-transfer.ts'

/** A transfer that a worker has claimed: nobody else submits it while the claim is alive. */
export interface Claim {
  readonly transferId: string
  readonly accountId: string
  /** What is sent as the idempotency key: made of account and host's key, or the host's key itself where earlier code sent that. */
  readonly submissionKey: string
  readonly request: StoredRequest
  /** Given while the counterparty of the request is not registered: this attempt does that, and sends no transfer. */
  readonly registration?:
    | (Pick<Registration, 'idempotencyKey' | 'address'> & {
        /** Since when the outcome of a registration is unknown, ISO 8601; null when every one so far was answered. */
        readonly unknownSince: string | null
      })
    | undefined
  /** Fences the settlement: a later claim has a greater one. */
  readonly attempt: number
  /** When the database made this claim, ISO 8601: the time of all decisions about it, since a worker's clock may be wrong. */
  readonly claimedAt: string
  /** Why the transfer waited before this claim: a code; null at its first attempt. */
  readonly reason: string | null
  /**
   * Since when the outcome of an earlier attempt is unknown, ISO 8601: when the first unanswered one was claimed. Null when
   * every attempt so far was answered.
   */
  readonly unknownSince: string | null
  /** The first unanswered attempt; null when there is none. */
  readonly unknownAttempt: number | null
  /** True when a person released the transfer since its last answer: one more attempt may go, however old the unknown is. */
  readonly released: boolean
  /** As whom its last request left, by {@link Gateway.identify}; null when none has left, or when earlier code sent it. */
  readonly client: string | null
  /** Not sent for the first time after this, ISO 8601; null for no end. */
  readonly expiresAt: string | null
  /** Environment that it was enqueued for; absent when none was declared. */
  readonly environment?: Environment | undefined
  /** How often in a row the account's credentials were refused; 0 while they are good, so this claim is no probe. */
  readonly credentialRefusals: number
  /** How often the service refused this transfer's credentials although it took others of the account since; nearly always 0. */
  readonly ownRefusals: number
  /** W3C context of its enqueue; only for {@link WorkHandlers.traced} handlers, and for one that was enqueued with any. */
  readonly traceparent?: string | undefined
  /** When it was enqueued, ISO 8601; only for {@link WorkHandlers.traced} handlers. */
  readonly createdAt?: string | undefined
}

/** An event to be written beside a change. */
export interface NewEvent {
  readonly type: EventType
}

/** The outcome of one attempt, to be written with its transfer, its events and its job in one transaction. */
export interface Settlement {
  readonly transferId: string
  readonly attempt: number
  readonly stage: Stage
  readonly status: TransferStatus
  readonly failure: TransferFailure | null
  readonly remoteId: string | null
  /** Id of the counterparty that this attempt registered; the next one sends the transfer to it. */
  readonly addressId?: string | undefined
  /** Since when the outcome of the registration is unknown, ISO 8601. Apart from `unknownSince`: no money moves by it. */
  readonly registrationUnknownSince?: string | undefined
  /** True when the counterparty was refused, or is no more at the service: another transfer to it registers it anew. */
  readonly forgetCounterparty?: boolean | undefined
  readonly reason: string | null
  readonly unknownSince: string | null
  /**
   * What the answer says about the account's credentials; null when it says nothing. From `refused` on the account's other
   * transfers wait, one at a time probes, and the first that finds them `good` lets all go on.
   */
  readonly credentials: 'good' | 'refused' | null
  /** Refusals that the claim knew of; the verdict counts only while there were no more since. */
  readonly credentialRefusals: number
  /** How often this transfer alone was refused, this time included; absent for an answer that is none of these. */
  readonly ownRefusals?: number | undefined
  /** When the service says that the status was reached, ISO 8601; null when it does not say. */
  readonly reachedAt: string | null
  /** How long the service asked the whole account to wait, in milliseconds, 0 for unsaid; null when it asked for nothing. */
  readonly throttledForMs: number | null
  /** How long until the next attempt, in milliseconds; null when there is none. */
  readonly retryAfterMs: number | null
  /** How long until the first look at its status, in milliseconds; null when it need not be followed. */
  readonly followAfterMs: number | null
  readonly events: readonly NewEvent[]
  /** For the attempts log. */
  readonly answer: {
    readonly outcome: string
    readonly detail: string | null
    readonly httpStatus: number | null
    readonly requestId: string | null
  }
}

/** A submitted transfer that is due for a look at its status. */
export interface FollowedTransfer {
  readonly transferId: string
  readonly accountId: string
  readonly remoteId: string
  readonly status: TransferStatus
  /** Rail or chain of the destination, which sets the pace. */
  readonly transferType: string
  /** How often it was looked at so far. */
  readonly looks: number
  /** W3C context of its enqueue; only for {@link WorkHandlers.traced} handlers, and for one that was enqueued with any. */
  readonly traceparent?: string | undefined
}

/** What was read about submitted transfers. */
export interface Readings {
  readonly observations: readonly Observation[]
  /** Ids of transfers that the other side says it does not have. */
  readonly missing: readonly string[]
}

/** What one observation changes; `undefined` from the decision means nothing. */
export interface StatusChange {
  readonly stage: Stage
  readonly status: TransferStatus
  readonly failure: TransferFailure | null
  /** When the service says that the status was reached, ISO 8601; null when it does not say. */
  readonly reachedAt: string | null
  readonly events: readonly NewEvent[]
}

/** What a decision about a change is made of; `origin` only tells where the transfer came from. */
export interface ChangingTransfer extends Pick<StoredTransfer, 'stage' | 'status' | 'failure'> {
  /** When the change was that led to the current status, ISO 8601; null or absent where that is not known. */
  readonly reachedAt?: string | null
  /** When it was enqueued, ISO 8601, and the rail or chain of its destination; absent where that is not known. */
  readonly origin?: { readonly createdAt: string; readonly transferType: string } | undefined
}

/** Decides what an observation changes; pure. */
export type DecideChange = (current: ChangingTransfer, observation: Observation) => StatusChange | undefined

/** A transfer that was seen at the service and that no row may stand for here: the row that it would get. */
export interface FoundTransfer
  extends Pick<
    StoredTransfer,
    'id' | 'idempotencyKey' | 'fingerprint' | 'request' | 'stage' | 'status' | 'failure' | 'createdAt'
  > {
  readonly remoteId: string
  /** True when an automation made it there, so that it cannot be what became of a request from here. */
  readonly automated: boolean
  /** When the service says that the status was reached, ISO 8601; null when it does not say. */
  readonly reachedAt: string | null
  readonly events: readonly NewEvent[]
}

/** What is made of an observation. */
export interface ObserveRules {
  readonly decide: DecideChange
  /** The row for a transfer that is not known here; `undefined` when the observation says too little for one. */
  readonly describe: (observation: Observation) => FoundTransfer | undefined
}

/** One page of an account's list, newest first. */
export interface ListPage {
  readonly observations: readonly Observation[]
  /** Where the list goes on; `undefined` at its end. */
  readonly next?: string | undefined
}

/** An event as a subscriber gets it. */
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
  /** W3C context of the transfer's enqueue, where engines have telemetry and it was enqueued with any. */
  readonly traceparent?: string | undefined
}

/** What a handler is given beside the event and the transaction. */
export interface HandlerContext {
  /** Aborted when the handler's time is over, or when the engine stops and cannot wait: nothing that it writes is kept then. */
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
  /** Events that may share one transaction; when a handler fails, all of them are rolled back and go one by one. */
  readonly batchSize: number
  /** Time that the handler has for one event, in milliseconds. */
  readonly timeoutMs: number
}

/** What the removal of a subscription, or of types of it, came to. */
export interface SubscriptionRemoval {
  /** False when there is no such subscription, and no event left of one. */
  readonly known: boolean
  readonly removed: boolean
  /** Events that it had yet to handle, dead letters included. */
  readonly pending: number
}

/** What the engine does with the work that a backend hands it. */
export interface WorkHandlers<Tx> {
  /** As whom every transfer is sent; `undefined` when the gateway says that for each account. */
  readonly client?: string | undefined
  /** An outcome that is unknown for so long is a person's to decide, in milliseconds. */
  readonly unknownLimitMs: number
  /**
   * Submits one claimed transfer and decides what its answer means. Never rejects. `mayBegin` says right before the request
   * leaves whether it may; without it the transfer is put back as it was.
   */
  submit(claim: Claim, signal: AbortSignal, mayBegin: () => boolean): Promise<Settlement>
  /** Reads transfers of one account one by one and answers with what it saw; those that it could not read are left out. */
  follow(accountId: string, transfers: readonly FollowedTransfer[], signal: AbortSignal): Promise<Readings>
  /** Reads a page of an account's list, from its beginning without a cursor; `undefined` when the other side has no lists. */
  readPage(accountId: string, cursor: string | null, signal: AbortSignal): Promise<ListPage | undefined>
  /** How long until the next look, in milliseconds. */
  nextLookMs(transfer: Pick<FollowedTransfer, 'accountId' | 'transferType' | 'looks'>): number
  /** How long until the next look for transfers of others, in milliseconds, after so many looks in vain. */
  nextWatchMs(idle: number): number
  readonly rules: ObserveRules
  /** Environment of the gateway, where it declares one. */
  readonly environment?: Environment | undefined
  /** Decides how far an account is slowed down after the service said 429. */
  readonly decidePace: DecidePace
  readonly subscriptions: readonly Subscription<Tx>[]
  /** True for handlers that want the trace contexts of what they get. Default false: then nobody looks for them. */
  readonly traced?: boolean | undefined
  /** Where the workers report. Default: the backend's own logger. */
  readonly logger?: Logger | undefined
}

/** How long things stay at hand. */
export interface Retention {
  /** Days after its end from which on a transfer's events and attempts go to the archive, slowly, while the engine runs. */
  readonly archiveAfterDays?: number | undefined
}

/** How the workers of one process behave. Every member has a default. */
export interface WorkOptions {
  /** Transfers being submitted at once by this process. Default 100. */
  readonly concurrency?: number | undefined
  /** Longest pause between two looks into an empty queue, in milliseconds. Default 200. */
  readonly pollIntervalMs?: number | undefined
  /** Events being handled at once per subscription by this process. Default 4. */
  readonly subscriptionConcurrency?: number | undefined
  /**
   * Submissions and polls of an account that take longer than this are slow, in milliseconds: others need not wait for them. A
   * slow submission no longer counts against `concurrency`, up to four times as many, and an account with many is slowed down; a
   * slow account is polled in a small share of its own. Default 5 000.
   */
  readonly slowAfterMs?: number | undefined
  /** Time that {@link WorkHandlers.submit} gets to end by itself when the engine stops, in milliseconds. Default 10 000. */
  readonly stopTimeoutMs?: number | undefined
  /** What becomes of old transfers. Default: nothing, everything stays at hand. */
  readonly retention?: Retention | undefined
  /** Uses LISTEN for wake-ups; switch it off behind a pooler in transaction mode. Default true. */
  readonly listen?: boolean | undefined
}

/** Workers at work. */
export interface Workers {
  /** Stops fetching, lets what is in flight end, settles it, and hands the rest back to the queue. */
  stop(): Promise<void>
}
