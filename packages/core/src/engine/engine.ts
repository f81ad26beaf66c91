import type { EventType } from '../event.ts'
import type { AccountLimitsChange, AccountState } from '../ports/accounts.ts'
import type { Backlog } from '../ports/backlog.ts'
import type { Observation } from '../ports/gateway.ts'
import type { Adoption, OperatorNote, Resolution, SendingState, Stop, StopTarget } from '../ports/operations.ts'
import type { EnqueuedTransfer, StoredTransfer } from '../ports/stored-transfer.ts'
import type { IncomingWebhook } from '../ports/webhooks.ts'
import type { EventHandler, WorkOptions } from '../ports/work.ts'
import type { TransferOrder } from '../transfer.ts'
import type { Archived, ArchiveOptions } from './archiving.ts'
import type { ReconcileOptions, Reconciliation } from './reconciliation.ts'
import type { WebhookAnswer } from './webhooks.ts'

/**
 * A transfer to enqueue. Its destination is given by id, or whole as an external address that the service does not know yet:
 * the engine registers that first, so that a new counterparty and its payout commit together.
 */
export interface EnqueueRequest extends TransferOrder {
  /** The account at the service that pays or is paid; also the tenant. */
  readonly accountId: string
  /** 1 to 255 visible ASCII characters, unique per account. Generated when absent. */
  readonly idempotencyKey?: string | undefined
  /** ULID of the transfer. Generated when absent. */
  readonly id?: string | undefined
  /** Keeps the transfer in the queue until then. ISO 8601, or a Date. Default: at once. */
  readonly notBefore?: string | Date | undefined
  /**
   * Fails the transfer with the failure `expired` instead of sending it for the first time after this. ISO 8601, or a Date.
   * Once a request may have left it is carried through all the same. Default: no end.
   */
  readonly expiresAt?: string | Date | undefined
}

/** The commands and reads that concern transfers. Commands take the host's transaction first. */
export interface Transfers<Tx> {
  /**
   * Validates, then writes transfer, event and job in the host's transaction. Nothing leaves before that commits.
   *
   * A refusal happens before any SQL, so the transaction stays usable.
   * @throws OutlayError any code of a broken rule, with the field; `idempotency_key_mismatch` when the account has the
   *   key for another request.
   */
  enqueue(tx: Tx, request: EnqueueRequest): Promise<EnqueuedTransfer>
  /**
   * The same for many; all or none. One statement, and for more than some thousands several behind one savepoint of the
   * host's transaction, so that memory holds little beside the transfers themselves.
   * @throws OutlayError naming every broken request, a hundred at most; fields start with the index, `3.amount.value`.
   */
  enqueueMany(tx: Tx, requests: readonly EnqueueRequest[]): Promise<readonly EnqueuedTransfer[]>
  /** One transfer; `undefined` when there is none. */
  get(transferId: string): Promise<StoredTransfer | undefined>
  /** One transfer by the key that it was enqueued with. */
  getByKey(accountId: string, idempotencyKey: string): Promise<StoredTransfer | undefined>
  /**
   * Puts a blocked or waiting transfer back into the queue with its own key, from where it goes out at once, but not before its
   * `notBefore`. False when it is in no such stage.
   */
  release(tx: Tx, transferId: string): Promise<boolean>
  /**
   * Ends a transfer that was not sent, or whose every attempt was answered and refused.
   * @throws OutlayError `transfer_not_found`; `transfer_not_cancelable` when its money may have moved, or it is final.
   */
  cancel(tx: Tx, transferId: string): Promise<void>
  /**
   * Ends the doubt about a blocked transfer as a person says who has asked the service. With `remoteId` the service has it: it is
   * submitted under that id and followed at once. With `notPaid` it has failed as `not_paid`, and its request may be resubmitted.
   * An answer to an earlier attempt that comes in later changes neither. Who and why is in the attempts.
   *
   * The engine takes the word: whoever says `notPaid` of what was paid, or still will be, and resubmits it, pays twice. A refusal of
   * the input happens before any SQL.
   * @throws OutlayError `missing_field`, `invalid_id`, `invalid_request` with the field; `transfer_not_found`; `conflict` when it is
   *   not blocked, or when another transfer of the account has that id at the service and is not named by `insteadOf`.
   */
  resolve(tx: Tx, transferId: string, resolution: Resolution): Promise<void>
  /**
   * Asks the service whether it has a transfer of this amount and these legs under an id: before {@link Transfers.resolve}, since
   * an id may be mistyped. Outside of any transaction; changes nothing. A service that shows no more than a status is believed.
   * @throws OutlayError `invalid_id` with the field; `transfer_not_found`; `conflict` with the field `remoteId` when it has none,
   *   or another one; what the gateway throws when it cannot be read now.
   */
  compare(transferId: string, remoteId: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<void>
  /**
   * Enqueues the request of a failed or canceled transfer again, as a new transfer with a new key. It goes to the same
   * address at the service; one that was given whole and never registered is given whole again.
   *
   * The key is made of the transfer's id by default, so whoever resubmits it too gets the same new transfer, with `reused`. A key
   * of the caller's own makes another. One that failed as well is resubmitted by its own id.
   * @throws OutlayError `transfer_not_found`; `conflict` when the transfer is not failed or canceled, when it was adopted,
   *   or when the details of its counterparty are wiped, which they are 30 days after its end.
   */
  resubmit(
    tx: Tx,
    transferId: string,
    options?: { readonly idempotencyKey?: string | undefined },
  ): Promise<EnqueuedTransfer>
  /**
   * Applies what is known at the other side: from a webhook, a rail, a statement. Statuses only move forward. A refusal happens
   * before any SQL.
   * @throws OutlayError `missing_field`, `invalid_id` for the account; `invalid_request` for observations that are none, with the
   *   index and the member: `3.status`.
   */
  observe(tx: Tx, accountId: string, observations: readonly Observation[]): Promise<number>
}

/** The commands that concern a whole account. */
export interface Accounts<Tx> {
  /** Sends the account's transfers that await funds out again. Returns how many. */
  fundsArrived(tx: Tx, accountId: string): Promise<number>
  /** Keeps the account's transfers from being submitted; what is on its way is finished. False when it is paused already. */
  pause(tx: Tx, accountId: string): Promise<boolean>
  /** Lets a paused account go on. False when it is not paused. */
  resume(tx: Tx, accountId: string): Promise<boolean>
  /**
   * Tries the credentials of an account that the service refused again now, instead of on the backoff of up to five
   * minutes. False when they are not refused.
   */
  credentialsMended(tx: Tx, accountId: string): Promise<boolean>
  /**
   * Adopts the account's transfers that somebody else makes: its automations, or another system. Each becomes a transfer
   * here, once, with the event `transfer.adopted` and then those of its statuses, and is followed like any other. They
   * are heard of by webhook, and found by reading the account's list every now and then.
   *
   * Only those that the service created at `since` or later; default: five minutes before now. False when the account is
   * watched already, which changes nothing.
   * @throws OutlayError `missing_field`, `invalid_id` for the account; `invalid_request` when `since` is no moment.
   */
  watch(tx: Tx, accountId: string, options?: { readonly since?: string | Date | undefined }): Promise<boolean>
  /** Adopts no further ones; those that were adopted stay. False when the account is not watched. */
  unwatch(tx: Tx, accountId: string): Promise<boolean>
  /**
   * Changes the limits of an account; what is absent stays, null resets. The rate (0.01 to 100 000 submissions per second) and
   * the concurrency (1 to 100 000) hold over all workers together, from the commit on. The weight (0.01 to 100, default 1)
   * holds for transfers that are enqueued from then on, in another process from about five seconds later.
   *
   * A refusal happens before any SQL.
   * @throws OutlayError `invalid_id`, `invalid_request` with the field
   */
  configure(tx: Tx, accountId: string, change: AccountLimitsChange): Promise<void>
  /** How an account stands: its limits, and how far the service has slowed it down. */
  get(accountId: string): Promise<AccountState>
}

/** How events are handed to a handler. */
export interface SubscribeOptions {
  /**
   * Events that may share a transaction, from 1 to 10 000: faster, and repeated together when one of their handlers fails.
   * Default 1.
   */
  readonly batchSize?: number | undefined
  /**
   * Time that the handler has for one event, in milliseconds, from 1 to 86 400 000. Beyond it the event counts as failed, its
   * transaction is rolled back and its connection ended. Default 60 000.
   */
  readonly timeoutMs?: number | undefined
}

/** What to remove of a subscription. */
export interface UnsubscribeOptions {
  /** Only these types, also such as only earlier releases know. Default: all of it. */
  readonly types?: readonly string[] | undefined
  /** Deletes the events that it has yet to handle, dead letters included. Default false. */
  readonly discard?: boolean | undefined
}

/** What a removal came to. */
export interface Unsubscribed {
  /** False when there was nothing of that name and type. */
  readonly removed: boolean
  /** Events that were deleted unhandled. */
  readonly discarded: number
}

/**
 * What keeps transfers from being sent, in every worker. From a second after the commit on no request begins; one that is under
 * way is finished, what was claimed is put back as it was, and statuses are read on. A restart changes nothing about it.
 */
export interface Stops<Tx> {
  /**
   * Stops everything, a gateway (there is one, `default`) or an account. False when that is stopped already.
   * @throws OutlayError `invalid_request`, `invalid_id` with the field, before any SQL
   */
  add(tx: Tx, stop: StopTarget & OperatorNote): Promise<boolean>
  /** Ends a stop. False when there is none. */
  end(tx: Tx, target: StopTarget): Promise<boolean>
  /** The stops that are committed: everything first, then gateways, then accounts. */
  list(): Promise<readonly Stop[]>
}

/** The engine, typed by the host's own transaction. */
export interface Engine<Tx> {
  readonly transfers: Transfers<Tx>
  readonly accounts: Accounts<Tx>
  readonly stops: Stops<Tx>
  /** Whether anything may be sent from this database, and why not. */
  sending(): Promise<SendingState>
  /** Sends nothing, in any worker, until a reconciliation lifts the fence. False when it is fenced already. */
  fence(tx: Tx, note?: OperatorNote): Promise<boolean>
  /**
   * Makes the database that this is the engine's own, after it was copied, restored or moved. It is fenced then until a
   * reconciliation, unless it was moved whole.
   */
  adoptDatabase(tx: Tx, adoption?: Adoption): Promise<void>
  /**
   * Compares every account with the list of the service and writes what follows: ids that were lost, transfers that were lost,
   * doubts for a person. Lifts the fence when no difference stays open. Each account is a transaction. Safe to run again.
   * @throws OutlayError `invalid_request` with the field; `conflict` when nothing is fenced, or the gateway has no lists;
   *   `database_unfamiliar` before the database is adopted.
   */
  reconcile(options: ReconcileOptions): Promise<Reconciliation>
  /**
   * Registers a durable subscription; call it before {@link Engine.start}. It gets every event that is recorded from its
   * first start on, at least once, in order per transfer, in a transaction that commits with the acknowledgement. A start
   * adds types to those that are stored under the name and never takes one away; a process gets events of its own types only.
   * @throws Error when an option is out of range, there is no type, the name is taken, or the engine runs.
   */
  subscribe(name: string, types: readonly EventType[], handler: EventHandler<Tx>, options?: SubscribeOptions): void
  /**
   * Removes a stored subscription, or some of its types, in the host's transaction. A process that still subscribes to it
   * gets nothing new, and stores it again at its next start.
   * @throws OutlayError `events_undelivered` when it has events to handle, dead letters included, and they are not to be
   *   discarded; nothing has changed then, and the transaction stays usable.
   */
  unsubscribe(tx: Tx, name: string, options?: UnsubscribeOptions): Promise<Unsubscribed>
  /**
   * Verifies a webhook of the service and applies what it tells about a transfer of the account, in a transaction of its
   * own. Repetitions, late ones and ones about other transfers are harmless. Needs no {@link Engine.start}.
   *
   * What the vault or the database throws is passed on: answer it with a 5xx, and the service sends the webhook again.
   * @example
   * const body = new Uint8Array(await request.arrayBuffer())
   * const { status } = await engine.webhook({ body, headers: request.headers }, { accountId })
   */
  webhook(webhook: IncomingWebhook, options: { readonly accountId: string }): Promise<WebhookAnswer>
  /** Brings the schema to the version of this release. */
  migrate(): Promise<void>
  /** The same as SQL text, for the host's own migration tool. */
  migrationSql(): string
  /**
   * Checks the schema and starts the workers of this process, when those of before have ended. Never migrates. A `signal` that
   * aborts stops them.
   * @throws Error when it runs already, or for an option that is no number or out of its range.
   */
  start(options?: WorkOptions & { readonly signal?: AbortSignal | undefined }): Promise<void>
  /**
   * Lets what is in flight end, and hands the rest back. Safe to call twice; {@link Engine.start} works again afterwards. The
   * gateway, which another engine may use too, stays open: whoever made it closes it. It ends in time although the database is
   * away; what could not be written then counts as unknown, and the same keys go out again.
   */
  stop(): Promise<void>
  /** How much is where, right now. */
  backlog(): Promise<Backlog>
  /**
   * Moves the events and attempts of transfers that ended long ago to the archive, in steps that each commit. What they
   * were, and that their keys are taken, stays known: every read goes on as before. A transfer that a subscription has yet
   * to hear of is left alone. Safe to end at any time, to run again, and from several processes at once.
   * @throws Error when `olderThanMs` is no number of milliseconds from 0 on.
   */
  archive(options: ArchiveOptions): Promise<Archived>
  [Symbol.asyncDispose](): Promise<void>
}
