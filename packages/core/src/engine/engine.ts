import type { EventType } from '../event.ts'
import type { Metadata } from '../metadata.ts'
import type { Observation } from '../ports/gateway.ts'
import type { EventHandler, EventsHandler } from '../ports/handlers.ts'
import type {
  Adoption,
  OperatorNote,
  Resolution,
  ReturnResolution,
  SendingState,
  Stop,
  StopTarget,
} from '../ports/safety.ts'
import type { EnqueuedTransfer, StoredTransfer } from '../ports/stored-transfer.ts'
import type { TransferPage, TransferQuery } from '../ports/transfer-query.ts'
import type { IncomingWebhook } from '../ports/webhooks.ts'
import type { WorkOptions } from '../ports/work-options.ts'
import type { TransferOrder } from '../transfer.ts'
import type { Accounts, AtGateway } from './accounts.ts'
import type { Archived, ArchiveOptions } from './archiving.ts'
import type { Batches } from './batch-commands.ts'
import type { Audit, HeldTransfers, Policies, ReleaseNote } from './control-commands.ts'
import type { Counting } from './counting.ts'
import type { WorkersState } from './lifecycle.ts'
import type { SumLimits } from './limit-commands.ts'
import type { ReconcileOptions, Reconciliation } from './reconciliation.ts'
import type { ResubmitOptions } from './resubmit-options.ts'
import type { WebhookAnswer } from './webhooks.ts'

/**
 * A transfer to enqueue. Its destination is an id, or an external address in full that the service does not know yet. The
 * engine registers such an address first, so that a new counterparty and its payout commit together.
 */
export interface EnqueueRequest extends TransferOrder {
  /** The account at the service that pays or is paid; also the tenant. */
  readonly accountId: string
  /** 1 to 255 visible ASCII characters, unique per account. Generated when absent. */
  readonly idempotencyKey?: string | undefined
  /** ULID of the transfer. Generated when absent. */
  readonly id?: string | undefined
  /** The transfer stays in the queue until then. ISO 8601, or a Date, from 1971 on. Default: at once. */
  readonly notBefore?: string | Date | undefined
  /**
   * After this moment the transfer is not sent for the first time: it fails with the failure `expired`. ISO 8601, or a Date, from
   * 1971 on and after `notBefore`. A transfer whose request may have left is carried through. Default: no end.
   */
  readonly expiresAt?: string | Date | undefined
  /**
   * Up to 50 pairs of text to find the transfer by: keys of 1 to 40 characters, values of at most 500. It is stored beside the transfer,
   * is in its events, and is sent only where the gateway maps it. It is no part of what a key stands for: a repeat with other metadata
   * returns the first transfer with those that it has. Default: none.
   */
  readonly metadata?: Metadata | undefined
  /**
   * The batch that it enters: the id of one that is not closed. As metadata, it is no part of what a key stands for. Default: none.
   */
  readonly batchId?: string | undefined
  /**
   * Who asks for this transfer, as the host knows them: policies that ask for approval need it, since whoever created a transfer does not approve it.
   * As metadata, it is no part of what a key stands for. Default: nobody is named.
   */
  readonly createdBy?: string | undefined
}

/** Which transfers {@link Transfers.find} finds. An absent member does not narrow the search. */
export interface FindTransfers extends Omit<TransferQuery, 'createdAfter' | 'createdBefore' | 'limit'> {
  /**
   * Enqueued then or later: ISO 8601 with a zone, or a Date. Where nothing else has an index, or only a frequent pair of metadata, a transfer whose
   * id you made yourself more than an hour before its enqueue may be missed, and so may an adopted one, whose id is of its adoption; so it is with
   * `createdBefore`.
   */
  readonly createdAfter?: string | Date | undefined
  /** Enqueued before then. */
  readonly createdBefore?: string | Date | undefined
  /** Transfers on a page, from 1 to 1000. Default 50. */
  readonly limit?: number | undefined
}

/** What was observed of one account. */
export interface ObservationsOfAccount extends AtGateway {
  readonly accountId: string
  readonly observations: readonly Observation[]
}

/** Commands and reads of transfers. Commands take the host's transaction first. */
export interface Transfers<Tx> extends HeldTransfers<Tx> {
  /**
   * Validates, then writes transfer, event and its row of the outbox in the host's transaction. Nothing is sent before that
   * commits.
   *
   * A key that the account has for the same request enqueues nothing: it returns that transfer, with `reused`. This is so after
   * the transfer has ended, too. If it was canceled or has failed, the result has a `notice` and the log a warning; {@link
   * Transfers.resubmit} pays again.
   *
   * A refusal happens before any SQL, so the transaction stays usable.
   * Where {@link Engine.policies} hold it, it is written as `held` and sent by nobody until people have approved or released it.
   * @throws OutlayError any code of a broken rule, with the field; `policy_refused` for what a policy refuses; `idempotency_key_mismatch` when
   *   the account has the key for another request; `conflict` with the field `batchId` for a batch that does not exist, is closed or is of another account.
   */
  enqueue(tx: Tx, request: EnqueueRequest): Promise<EnqueuedTransfer>
  /**
   * Enqueues many transfers, all or none. Uses one statement; for more than 2,000, several statements behind one
   * savepoint of the host's transaction, so that memory holds little beside the transfers themselves.
   *
   * A key that is there twice for the same request is one transfer: what repeats it has `reused`, and its metadata, batch and creator are
   * those of the first.
   * @throws OutlayError naming every broken request, a hundred at most; fields start with the index, `3.amount.value`. `idempotency_key_mismatch` and
   *   `conflict` name both requests where a key stands for two, or an id is that of two. `conflict` with the field `tx` beside another enqueue of the same
   *   transaction, when one of them has a savepoint: await one before the next.
   */
  enqueueMany(tx: Tx, requests: readonly EnqueueRequest[]): Promise<readonly EnqueuedTransfer[]>
  /** One transfer, as the transaction sees it if there is one; `undefined` when it does not exist. */
  get(transferId: string, tx?: Tx): Promise<StoredTransfer | undefined>
  /** One transfer by the key that it was enqueued with. */
  getByKey(accountId: string, idempotencyKey: string): Promise<StoredTransfer | undefined>
  /**
   * Finds transfers, the newest first by their ids, as the transaction sees them if there is one. All members together narrow the search.
   * Give `nextCursor` as `cursor` for the next page: no transfer is on two pages, and those that are enqueued meanwhile are on none.
   *
   * A call reads at most twenty thousand transfers. So a page may have fewer transfers than its limit, or none, and still a `nextCursor`:
   * go on until that is null. Metadata, the account, a stage before `submitted` and times are found by indexes.
   * @throws OutlayError `invalid_request`, `invalid_id` with the field, before any SQL; also for an `accountId` that is there and undefined,
   *   which would find the transfers of everybody. `unknown_value_type` for a `currency` that the catalog does not have, where nothing is in it
   * @example
   * const { transfers } = await engine.transfers.find({ accountId, metadata: { order: '1042' } })
   */
  find(query: FindTransfers, tx?: Tx): Promise<TransferPage>
  /**
   * Returns a blocked or waiting transfer to the queue with its own key. It is sent at once, but not before its `notBefore`. False when it is in no such stage.
   *
   * Of a held transfer it ends one hold: that of operators, or the one that `hold` and `policy` name, so that a hold which somebody added meanwhile stays.
   * With the last hold it is sent. That needs `actor` and `reason`.
   * @throws OutlayError for a held transfer: `missing_field`, `invalid_request` with the field; `conflict` when that does not hold it, or its `expiresAt`
   *   has passed; `approval_refused` when a policy holds it and the actor created it
   */
  release(tx: Tx, transferId: string, note?: ReleaseNote): Promise<boolean>
  /**
   * Cancels a transfer that is held or was not sent, or whose attempts were all answered and refused. Its key stays its own: {@link
   * Transfers.resubmit} pays after all.
   * @throws OutlayError `transfer_not_found`; `transfer_not_cancelable` when its money may have moved, or it is final; `missing_field` without an `actor`
   *   for one that people hold, whose hold ends with it.
   */
  cancel(tx: Tx, transferId: string, note?: OperatorNote): Promise<void>
  /**
   * Resolves a blocked transfer, or a held one whose money may have moved, by what a person learned from the service. With `remoteId` the service has it: the transfer
   * becomes submitted under that id and is polled at once. With `notPaid` it has failed as `not_paid`, and its request may be
   * resubmitted. A later answer to an earlier attempt changes neither. Who and why is in the attempts.
   *
   * The engine does not verify the statement: a caller that says `notPaid` of a transfer that was paid, or still will be, and
   * resubmits it, pays twice. A refusal of the input happens before any SQL.
   * @throws OutlayError `missing_field`, `invalid_id`, `invalid_request` with the field; `transfer_not_found`; `conflict` when
   *   it is neither of these, or when another transfer of the account has that id at the service and is not named by `insteadOf`.
   */
  resolve(tx: Tx, transferId: string, resolution: Resolution): Promise<void>
  /**
   * Decides about a return that is held because it contradicts its transfer. With `amount` so much came back: handlers get
   * `transfer.returned` with that amount. With `dismissed` they get nothing. Either way the same report of the service changes nothing
   * any more. A later report that shows something else in its place is held again. A refusal of the input happens before any SQL.
   * @throws OutlayError `missing_field`, `invalid_amount`, `amount_not_positive`, `invalid_request` with the field; `transfer_not_found`; `conflict` when no
   *   such return is held, with the field `currency` when it is not in the currency of the transfer, and with the field `amount` when the
   *   transfer is not complete or when that is more than the transfer with what came back before.
   */
  resolveReturn(tx: Tx, transferId: string, resolution: ReturnResolution): Promise<void>
  /**
   * Asks the service whether it has a transfer of this amount and these legs under an id. Use it before {@link
   * Transfers.resolve}: an id may be mistyped. Runs outside of any transaction; changes nothing. Accepts the id when the
   * service returns only a status.
   * @throws OutlayError `invalid_id` with the field; `transfer_not_found`; `conflict` with the field `remoteId` when the
   *   service has none, or another one; what the gateway throws when it cannot be read now.
   */
  compare(transferId: string, remoteId: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<void>
  /**
   * Enqueues the request of a failed or canceled transfer again, as a new transfer with a new key, at the same gateway unless another one is
   * named. It goes to the same address with the same amount, unless the caller corrects them. A counterparty that was given in full and never
   * registered is given in full again.
   *
   * At another gateway the key is `k:at:<gateway>`, and nothing of the ended one may ever have been accepted. The ids of a request are sent as they
   * are: name another gateway only where it knows the same ids, or give its `destination`.
   *
   * A transfer has one successor, however many ask for it at once: `resubmittedAs` of the ended one and `resubmissionOf` of the new one. By
   * default the key is derived from the idempotency key of the ended transfer, `k:resubmit` from `k`, and not from its id. Every
   * caller that asks for the same gets the same new transfer, with `reused`; one that asks for something else is refused. If the new transfer fails as well, resubmit it by its own id.
   *
   * It enters the batch of the ended one, unless that has completed, and is counted in its place. It keeps the metadata, the environment, `notBefore` and `expiresAt`, unless other times are given. An `expiresAt` that has passed
   * is refused until the caller gives another one.
   * @throws OutlayError `transfer_not_found`; `conflict` when the transfer is not failed or canceled, when it was adopted, when it was
   *   resubmitted before under another key or with another correction, when the service accepted it after its end, or when the details of its
   *   counterparty are wiped, which they are 30 days after its end, and with the field `expiresAt` when that has passed; with the field `gateway` when
   *   its own gateway had accepted it, and with `destination` when only that one knows its payee; `environment_mismatch` when
   *   the gateway of this engine is for another environment than the transfer; `idempotency_key_mismatch` when the key stands for another transfer;
   *   `invalid_request` with the field for times that cannot be, and any code of a broken rule for a correction; `missing_field` without `createdBy` for one that people held.
   */
  resubmit(tx: Tx, transferId: string, options?: ResubmitOptions): Promise<EnqueuedTransfer>
  /**
   * Applies observations of the other side: from a webhook, a rail, a statement. Statuses only move forward. A refusal happens
   * before any SQL.
   * @throws OutlayError `missing_field`, `invalid_id` for the account; `invalid_request` for invalid observations, with the
   *   index and the member: `3.status`, and for a gateway that this engine does not have.
   */
  observe(tx: Tx, accountId: string, observations: readonly Observation[], options?: AtGateway): Promise<number>
  /**
   * Applies observations of several accounts in the same way, with a few statements for all of them. Returns how many transfers changed.
   * @throws OutlayError as `observe`, with the index: `2.accountId`, `2.observations.3.status`.
   */
  observeMany(tx: Tx, given: readonly ObservationsOfAccount[]): Promise<number>
}

/** How events are delivered to a handler. */
export interface SubscribeOptions {
  /**
   * Events that may share a transaction, from 1 to 10 000: faster, but all are repeated when one of their handlers fails.
   * Default 1, with `subscribeMany` 100.
   */
  readonly batchSize?: number | undefined
  /**
   * Time limit of one call of the handler, in milliseconds, from 1 to 86 400 000. Beyond it the event counts as failed, its
   * transaction is rolled back and its connection closed. Default 60 000.
   */
  readonly timeoutMs?: number | undefined
}

/** What to remove of a subscription, and who does that, for the audit. */
export interface UnsubscribeOptions extends OperatorNote {
  /** Only these types; also types that only earlier releases know. Default: the whole subscription. */
  readonly types?: readonly string[] | undefined
  /** Deletes its undelivered events, dead letters included. Default false. */
  readonly discard?: boolean | undefined
}

/** The result of a removal. */
export interface Unsubscribed {
  /** False when there was nothing with that name and type. */
  readonly removed: boolean
  /** Events that were deleted unhandled. */
  readonly discarded: number
}

/**
 * Stops keep transfers from being sent, in every worker. From a second after the commit no request begins. A request under way
 * is finished, claimed transfers are put back as they were, and polling continues. A restart does not end a stop.
 */
export interface Stops<Tx> {
  /**
   * Stops everything, one gateway (the only one of an engine is `default`; others go on sending) or an account. False when the target is already stopped: `list` says by whom. There is one
   * stop of a target, and whoever ends it ends it for all; the audit has that somebody else wanted it stopped, too.
   * @throws OutlayError `invalid_request`, `invalid_id` with the field, before any SQL
   */
  add(tx: Tx, stop: StopTarget & OperatorNote): Promise<boolean>
  /**
   * Ends a stop. False when there is none.
   * @throws OutlayError `invalid_request`, `invalid_id` with the field, before any SQL; `conflict` for another stop than that of `since`
   */
  end(
    tx: Tx,
    target: StopTarget &
      OperatorNote & {
        /** Since when it is stopped, as `list` has it. Default: whichever stop there is. */
        readonly since?: string | undefined
      },
  ): Promise<boolean>
  /** The committed stops: everything first, then gateways, then accounts. */
  list(): Promise<readonly Stop[]>
}

/** The engine, typed by the host's own transaction. */
export interface Engine<Tx> extends Counting {
  readonly transfers: Transfers<Tx>
  readonly accounts: Accounts<Tx>
  readonly stops: Stops<Tx>
  readonly batches: Batches<Tx>
  readonly policies: Policies<Tx>
  readonly limits: SumLimits<Tx>
  readonly audit: Audit<Tx>
  /** Whether anything may be sent from this database, and why not. */
  sending(): Promise<SendingState>
  /** Stops all sending, in every worker, until a reconciliation lifts the fence. False when the database is already fenced: a reconciliation under way does not lift it then. */
  fence(tx: Tx, note?: OperatorNote): Promise<boolean>
  /**
   * Adopts this database as the engine's own, after it was copied, restored or moved. The database is then fenced until a
   * reconciliation, unless it was moved whole.
   */
  adoptDatabase(tx: Tx, adoption?: Adoption): Promise<void>
  /**
   * Compares every account with the list of the service and writes the result: lost ids, lost transfers, and transfers that a
   * person has to decide. Lifts the fence when no difference stays open. Each account is one transaction. Safe to run again.
   * @throws OutlayError `invalid_request` with the field; `conflict` when nothing is fenced, or the gateway has no lists;
   *   `database_unfamiliar` before the database is adopted.
   */
  reconcile(options: ReconcileOptions): Promise<Reconciliation>
  /**
   * Registers a durable subscription; call it before {@link Engine.start}. It receives every event recorded after its first
   * start, at least once, in order per transfer, in a transaction that commits with the acknowledgement. A start adds types to
   * those stored under the name and never removes one; a process receives events of its own types only, so `event.type` is one of `types`.
   * @throws Error when an option is out of range, there is no type, the name is in use, or the engine runs.
   */
  subscribe<Type extends EventType>(
    name: string,
    types: readonly Type[],
    handler: EventHandler<Tx, Type>,
    options?: SubscribeOptions,
  ): void
  /**
   * The same for a handler that gets the events of a transaction in one call, for writes that are faster as one statement. They are of
   * different transfers, up to `batchSize` of them, 100 by default. When the call fails, each is handled by a call of its own.
   * `timeoutMs` limits each call.
   * @example
   * engine.subscribeMany('settle-invoices', ['transfer.completed'], async (events, tx) => {
   *   await tx.query('update invoice set paid = true where transfer_id = any ($1)', [events.map((event) => event.transferId)])
   * })
   */
  subscribeMany<Type extends EventType>(
    name: string,
    types: readonly Type[],
    handler: EventsHandler<Tx, Type>,
    options?: SubscribeOptions,
  ): void
  /**
   * Removes a stored subscription, or some of its types, in the host's transaction. Stop the processes that subscribe to it first: one
   * that still does stores it again.
   * @throws OutlayError `subscription_attended` while a process attends it, and until two minutes after the last one did;
   *   `events_undelivered` when it has undelivered events, dead letters included, and `discard` is not set; nothing has changed then,
   *   and the transaction stays usable.
   */
  unsubscribe(tx: Tx, name: string, options?: UnsubscribeOptions): Promise<Unsubscribed>
  /**
   * Verifies a webhook of the service and applies its observation of a transfer of the account, in its own transaction.
   * Repeated, late and unrelated webhooks are harmless. Needs no {@link Engine.start}.
   *
   * What the vault or the database throws is passed on: answer it with a 5xx, and the service sends the webhook again.
   * @example
   * const body = new Uint8Array(await request.arrayBuffer())
   * const { status } = await engine.webhook({ body, headers: request.headers }, { accountId })
   */
  webhook(webhook: IncomingWebhook, options: AtGateway & { readonly accountId: string }): Promise<WebhookAnswer>
  /** Brings the schema to the version of this release. */
  migrate(): Promise<void>
  /** The same as SQL text, for the host's own migration tool. */
  migrationSql(): string
  /**
   * Checks the schema and starts the workers of this process, once earlier ones have ended. Never migrates. A `signal` that
   * aborts stops them.
   * @throws Error when the engine already runs, or for an option that is no number or out of its range.
   */
  start(options?: WorkOptions & { readonly signal?: AbortSignal | undefined }): Promise<void>
  /**
   * Waits for requests in flight, and returns the rest to the queue. Safe to call twice; {@link Engine.start} works again
   * afterwards. Does not close the gateway, which another engine may use too: its creator closes it. Ends in bounded time even
   * when the database is unreachable; what could not be written then counts as unknown, and the same keys are sent again.
   */
  stop(): Promise<void>
  /** What this process knows of its workers, without asking the database. A probe reads it. */
  workers(): WorkersState
  /**
   * Asks the database whether it answers and whether its schema fits this release. Reads only.
   * @throws OutlayError `not_migrated`, `schema_too_new`, `queue_version_untested`; what the driver throws when the database cannot be
   *   reached.
   */
  check(): Promise<void>
  /**
   * Archives the events and attempts of transfers that ended long ago, in steps that each commit. The transfers and their keys
   * stay, and every read works as before. A transfer with an undelivered event is not archived. Safe to end at any time, to run
   * again, and from several processes at once.
   * @throws Error when `olderThanMs` is no number of milliseconds from 0 on.
   */
  archive(options: ArchiveOptions): Promise<Archived>
  [Symbol.asyncDispose](): Promise<void>
}
