import type { CounterpartyDetails, StoredRequest } from '../counterparty.ts'
import type { EventType } from '../event.ts'
import type { TransferFailure } from '../transfer.ts'
import type { TransferStatus } from '../transfer-status.ts'
import type { AccountLimitsChange, AccountState, DecidePace } from './accounts.ts'
import type { Backlog, Delays } from './backlog.ts'
import type { Observation, Registration } from './gateway.ts'
import type { Logger, Runtime } from './runtime.ts'

/**
 * Where a transfer stands inside the engine, beside its status.
 *
 * - `queued`: has a job, waits for a worker or for its next attempt
 * - `submitting`: a worker holds it; its request may be on its way
 * - `awaiting_funds`: refused for lack of funds; the same key goes out again when funds arrive, or on a slow backoff
 * - `submitted`: the other side has it; it is followed until its status is final
 * - `blocked`: only a person can decide; `reason` says why
 * - `settled`: its status is final, or the request was refused
 */
export const stages = ['queued', 'submitting', 'awaiting_funds', 'submitted', 'blocked', 'settled'] as const

/** Where a transfer stands inside the engine. */
export type Stage = (typeof stages)[number]

/** Every way from one stage to another, and what takes it. A transfer starts as `queued`, and nothing leaves `settled`. */
export const stageTransitions = [
  { from: 'queued', to: 'submitting', when: 'claim' },
  { from: 'queued', to: 'settled', when: 'cancel' },
  {
    from: 'submitting',
    to: 'queued',
    when: 'throttled, refused credentials or unknown outcome, same key later; or its counterparty is registered',
  },
  { from: 'submitting', to: 'awaiting_funds', when: 'insufficient balance' },
  { from: 'submitting', to: 'submitted', when: 'accepted' },
  { from: 'submitting', to: 'blocked', when: 'key mismatch, or unknown for 24 hours' },
  { from: 'submitting', to: 'settled', when: 'refused for good, expired, or accepted as final' },
  { from: 'awaiting_funds', to: 'submitting', when: 'claim, on the slow backoff' },
  {
    from: 'awaiting_funds',
    to: 'queued',
    when: 'funds arrived, release, or the account is paused, refused or at a limit',
  },
  { from: 'awaiting_funds', to: 'settled', when: 'cancel' },
  { from: 'submitted', to: 'settled', when: 'status is final' },
  { from: 'blocked', to: 'queued', when: 'release, by a person' },
  { from: 'blocked', to: 'settled', when: 'cancel, while no outcome is unknown' },
] as const satisfies readonly { readonly from: Stage; readonly to: Stage; readonly when: string }[]

/** A transfer to be written in the host's transaction. */
export interface NewTransfer {
  /** ULID. */
  readonly id: string
  readonly accountId: string
  readonly idempotencyKey: string
  /** Fingerprint of the request, details of a counterparty included: equal for equal requests only. */
  readonly fingerprint: string
  readonly request: StoredRequest
  /** Details of the counterparty that the request gives whole; kept until it is registered. */
  readonly counterparty?: CounterpartyDetails | undefined
  /** Not sent before this, ISO 8601; null for at once. */
  readonly notBefore: string | null
  /** Not sent for the first time after this, ISO 8601; null for no end. */
  readonly expiresAt: string | null
}

/** A transfer as the engine keeps it. */
export interface StoredTransfer extends Omit<NewTransfer, 'counterparty'> {
  readonly stage: Stage
  readonly status: TransferStatus
  readonly failure: TransferFailure | null
  /** Id at the other side, once it is known. */
  readonly remoteId: string | null
  /** Number of attempts so far. */
  readonly attempt: number
  /** Why it waits or is blocked: a code; null when it does neither. */
  readonly reason: string | null
  /** ISO 8601, UTC. */
  readonly createdAt: string
  /** ISO 8601, UTC. */
  readonly updatedAt: string
}

/** What an enqueue came to. */
export interface EnqueuedTransfer extends StoredTransfer {
  /** True when the account already had a transfer with this key and the same request. */
  readonly reused: boolean
}

/** A transfer that a worker has claimed: nobody else submits it while the claim is alive. */
export interface Claim {
  readonly transferId: string
  readonly accountId: string
  readonly idempotencyKey: string
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
  /** Why the transfer waited before this claim: a code; null at its first attempt. */
  readonly reason: string | null
  /** Since when the outcome of an earlier attempt is unknown, ISO 8601; null when every attempt so far was answered. */
  readonly unknownSince: string | null
  /** Not sent for the first time after this, ISO 8601; null for no end. */
  readonly expiresAt: string | null
  /** How often in a row the account's credentials were refused; 0 while they are good, so this claim is no probe. */
  readonly credentialRefusals: number
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

/** Handles one event inside a transaction; its writes commit together with the acknowledgement. */
export type EventHandler<Tx> = (event: TransferEvent, tx: Tx) => Promise<void>

/** A durable named subscription. */
export interface Subscription<Tx> {
  readonly name: string
  readonly types: readonly EventType[]
  readonly handler: EventHandler<Tx>
  /** Events that may share one transaction; when a handler fails, all of them are rolled back and go one by one. */
  readonly batchSize: number
}

/** What the engine does with the work that a backend hands it. */
export interface WorkHandlers<Tx> {
  /** Submits one claimed transfer and decides what its answer means. Never rejects. */
  submit(claim: Claim, signal: AbortSignal): Promise<Settlement>
  /** Reads transfers of one account one by one and answers with what it saw; those that it could not read are left out. */
  follow(
    accountId: string,
    transfers: readonly FollowedTransfer[],
    signal: AbortSignal,
  ): Promise<readonly Observation[]>
  /** Reads a page of an account's list, from its beginning without a cursor; `undefined` when the other side has no lists. */
  readPage(accountId: string, cursor: string | null, signal: AbortSignal): Promise<ListPage | undefined>
  /** How long until the next look, in milliseconds. */
  nextLookMs(transfer: Pick<FollowedTransfer, 'accountId' | 'transferType' | 'looks'>): number
  /** How long until the next look for transfers of others, in milliseconds, after so many looks in vain. */
  nextWatchMs(idle: number): number
  readonly rules: ObserveRules
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

/** Which histories to archive next. */
export interface ArchiveStep {
  /** Only of transfers that ended so long ago, in milliseconds. */
  readonly olderThanMs: number
  /** Only of transfers whose ids come behind this one; empty for the first step. */
  readonly after: string
  /** Looks at so many transfers at most. */
  readonly limit: number
  /** Changes nothing and answers as if it had. */
  readonly dryRun: boolean
}

/** What one step came to. */
export interface ArchivedStep {
  /** Transfers whose events and attempts went to the archive. */
  readonly archived: number
  /** Transfers that are old enough, and that a subscription has yet to hear of; dead letters count. */
  readonly held: number
  /** The last transfer that was looked at: where the next step goes on. Null when none is left. */
  readonly last: string | null
}

/** How the workers of one process behave. Every member has a default. */
export interface WorkOptions {
  /** Transfers being submitted at once by this process. Default 100. */
  readonly concurrency?: number | undefined
  /** Longest pause between two looks into an empty queue, in milliseconds. Default 200. */
  readonly pollIntervalMs?: number | undefined
  /** Events being handled at once per subscription by this process. Default 4. */
  readonly subscriptionConcurrency?: number | undefined
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

/** The database side of the engine. `Tx` is the host's own transaction type. */
export interface Backend<Tx> {
  readonly runtime: Runtime
  /** Runs `work` in a transaction of its own, in the host's type. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /**
   * Brings the schema to the version of this release. Safe to run again and from several processes at once. `onStep` hears
   * the name of each step before it runs.
   */
  migrate(onStep?: (name: string) => void): Promise<void>
  /** The same as SQL text, for the host's own migration tool. */
  migrationSql(): string
  /**
   * Throws `not_migrated`, `queue_version_untested`, or `schema_too_new` when a later release has closed the schema to this
   * one; a schema that is merely ahead is fine.
   */
  check(): Promise<void>
  /**
   * Writes transfers, events and jobs in the host's transaction, in the order given. A key that the account already has
   * yields the stored transfer with `reused: true`, whatever its fingerprint; the engine compares. New ones keep the W3C
   * context of the trace that they are enqueued in, when there is one.
   */
  enqueue(
    tx: Tx,
    transfers: readonly NewTransfer[],
    traceparent?: string | undefined,
  ): Promise<readonly EnqueuedTransfer[]>
  /** One transfer as the transaction sees it, or as it is committed when none is given. */
  get(transferId: string, tx?: Tx): Promise<StoredTransfer | undefined>
  getByKey(accountId: string, idempotencyKey: string): Promise<StoredTransfer | undefined>
  /** Details of a counterparty that was never registered; `undefined` when it was, or when they are wiped. */
  counterparty(tx: Tx, transferId: string): Promise<CounterpartyDetails | undefined>
  /**
   * Applies observations of one account in the given transaction; returns how many transfers changed. One with an unknown
   * remote id changes nothing, but is kept in mind: a transfer that turns out to have that id is looked at right away. On
   * a watched account it becomes a transfer here once it is certain that none here stands for it.
   */
  observe(tx: Tx, accountId: string, observations: readonly Observation[], rules: ObserveRules): Promise<number>
  /** Adopts the account's transfers that others make, from `since` on (ISO 8601). False when that is done already. */
  watch(tx: Tx, accountId: string, since: string): Promise<boolean>
  /** Adopts no further ones. False when the account is not watched. */
  unwatch(tx: Tx, accountId: string): Promise<boolean>
  /** Sends the account's transfers that await funds out again with their own keys. Returns how many. */
  fundsArrived(tx: Tx, accountId: string): Promise<number>
  /** Puts one blocked or waiting transfer back into the queue with its own key. False when it is in no such stage. */
  release(tx: Tx, transferId: string): Promise<boolean>
  /** Ends a transfer without an effect. False when it may have one, when it is final, or when there is none. */
  cancel(tx: Tx, transferId: string): Promise<boolean>
  /** Keeps an account's transfers from being submitted. False when it is paused already. */
  pause(tx: Tx, accountId: string): Promise<boolean>
  /** Lets a paused account go on. False when it is not paused. */
  resume(tx: Tx, accountId: string): Promise<boolean>
  /** Lets an account whose credentials are refused probe them now. False when they are not refused. */
  credentialsMended(tx: Tx, accountId: string): Promise<boolean>
  /** Changes the limits of an account. */
  configureAccount(tx: Tx, accountId: string, change: AccountLimitsChange): Promise<void>
  /** How an account stands, as it is committed. */
  getAccount(accountId: string): Promise<AccountState>
  backlog(): Promise<Backlog>
  delays(): Promise<Delays>
  /**
   * Moves the events and attempts of some transfers that ended long ago to the archive, in a transaction of its own. The
   * transfers stay, so their keys stay taken. Safe from several processes at once.
   */
  archive(step: ArchiveStep): Promise<ArchivedStep>
  work(handlers: WorkHandlers<Tx>, options: WorkOptions): Promise<Workers>
}
