import type { Obstacle } from '../error.ts'
import type { ExternalAddressRequest } from '../external-address.ts'
import type { Metadata } from '../metadata.ts'
import type { Transfer, TransferFailure, TransferRequest } from '../transfer.ts'
import type { TransferReturn } from '../transfer-return.ts'
import type { TransferStatus } from '../transfer-status.ts'
import type { Environment } from '../transfer-type.ts'

/** One transfer to submit. The idempotency key is the same on every attempt. */
export interface Submission {
  /** The engine's own id of the transfer. */
  readonly transferId: string
  readonly accountId: string
  /** The engine's own key, derived from the account and the host's key: unique over all accounts. */
  readonly idempotencyKey: string
  /** The result of {@link Gateway.identify}. The request is sent as this client or not at all. Absent when it returned nothing. */
  readonly client?: string | undefined
  readonly request: TransferRequest
  /** What the host has noted beside the transfer; absent where there is nothing. It is sent only where the gateway maps it. */
  readonly metadata?: Metadata | undefined
  /** 1 for the first attempt. */
  readonly attempt: number
}

/** What the other side says about one transfer at one moment. */
export interface Observation {
  readonly remoteId: string
  readonly status: TransferStatus
  readonly failure: TransferFailure | null
  /** When the status was reached, ISO 8601. It distinguishes a transfer that continues after a failure from an old report. */
  readonly reachedAt?: string | undefined
  /**
   * All that came back of it after it was complete, not only what is new. Absent where nothing did, or nothing is said about it. The
   * newest report counts, by `updatedAt` of the transfer; without that the last one, but a webhook without any return withdraws none.
   */
  readonly returns?: readonly TransferReturn[] | undefined
  /**
   * The whole transfer, when the other side sent it. Once it is complete, its `amount` is what was paid, on the side of the transfer that the
   * request's amount is on: without a fee that comes on top, and whatever came back later. Where that is another amount than was asked for,
   * the engine stores it, and compares returns with it. An amount in another currency than the request's is not compared, and ignored.
   */
  readonly transfer?: Transfer | undefined
}

/** Details of the answer, for the attempts log. */
export interface AnswerMarks {
  /** 429 with `throttled` concerns the whole account, which is throttled. Without it, `throttled` concerns one transfer. */
  readonly httpStatus?: number | undefined
  readonly requestId?: string | undefined
  /**
   * True when the answer proves that the other side evaluated the idempotency key before it decided. Without that, a refusal
   * says nothing about an earlier request with the key whose answer was lost.
   */
  readonly keyEvaluated?: boolean | undefined
  /**
   * True of a refusal that the other side keeps under the key: for as long as keys live, it refuses every further request with it, whatever has
   * changed meanwhile. Only with `keyEvaluated`. Without it no other gateway takes the transfer over by itself.
   */
  readonly keyClosed?: boolean | undefined
  /**
   * True when somebody else may have answered, such as a proxy with a page of its own, after the request had gone on, or when the
   * gateway had sent the request before with another token and that may have been carried out: the outcome then counts as unknown,
   * unless the answer is a proof. Default false: nothing else has happened.
   */
  readonly mayHaveActed?: boolean | undefined
  /**
   * What kept the request from getting through, with `throttled` or `unknown`. The transfer waits for this reason, the log warns
   * once, and "outlay doctor" reports it. Default: none, and `throttled` means that the other side asked for a pause.
   */
  readonly obstacle?: Obstacle | undefined
}

/**
 * The result of one submission. A gateway returns a value for every answer and failure of the other side. It throws only for a
 * programmer's mistake; the engine then treats the outcome as unknown.
 */
export type SubmitResult = AnswerMarks &
  (
    | { readonly outcome: 'accepted'; readonly remoteId: string; readonly observation?: Observation | undefined }
    | { readonly outcome: 'insufficient_balance'; readonly detail: string }
    | { readonly outcome: 'key_mismatch'; readonly detail: string }
    | { readonly outcome: 'rejected'; readonly code: string; readonly detail: string }
    | { readonly outcome: 'unauthorized'; readonly detail: string }
    | { readonly outcome: 'throttled'; readonly retryAfterMs?: number | undefined; readonly detail: string }
    | { readonly outcome: 'unknown'; readonly retryAfterMs?: number | undefined; readonly detail: string }
  )

/** One counterparty to register, before the transfer that pays it. It has its own key, the same on every attempt. */
export interface Registration {
  /** The engine's own id of the transfer. */
  readonly transferId: string
  readonly accountId: string
  readonly idempotencyKey: string
  readonly address: ExternalAddressRequest
  /** 1 for the first attempt. */
  readonly attempt: number
}

/** The result of one registration. A registration never moves money. */
export type RegisterResult = AnswerMarks &
  (
    | { readonly outcome: 'accepted'; readonly addressId: string }
    /** `detail` names the member of the address that the service refuses, if the service says so. */
    | { readonly outcome: 'rejected'; readonly code: string; readonly detail: string }
    | Extract<SubmitResult, { readonly outcome: 'key_mismatch' | 'unauthorized' | 'throttled' | 'unknown' }>
  )

/** How long a gateway's idempotency keys live when the gateway does not say, in milliseconds. */
export const defaultKeyLifetimeMs = 24 * 3_600_000

/** How a request is sent. */
export interface SendOptions {
  readonly signal: AbortSignal
  /**
   * Called right before the request leaves, after every wait. False when no request may begin because sending is stopped: the
   * gateway then sends nothing and returns `throttled`. Absent when sending cannot be stopped.
   */
  readonly mayBegin?: (() => boolean) | undefined
}

/** How a transfer is read. */
export interface ReadOptions {
  readonly signal: AbortSignal
  /** The engine's own id of the transfer that is read. The engine always gives it. */
  readonly transferId?: string | undefined
}

/** The connection to the other side: an HTTP service, or a set of rails. */
export interface Gateway {
  /**
   * How long the other side certainly keeps idempotency keys, in milliseconds. A request whose outcome is unknown for that long
   * is never sent again. Default 24 hours.
   */
  readonly keyLifetimeMs?: number | undefined
  /**
   * Returns the client as which an account's submissions are sent now: the scope of idempotency keys at the other side, without
   * a secret. While an outcome is unknown, nothing is sent as another client. `wanted` is the client that sent last: a gateway
   * that has cached another client asks again before it answers. Rejects when the client cannot be found out now. Optional:
   * without it all submissions have one scope.
   */
  identify?(
    accountId: string,
    options: { readonly signal: AbortSignal; readonly wanted?: string | undefined },
  ): Promise<string | undefined>
  /**
   * Whether it moves real money. If declared, it is written into the database and with each transfer; an engine never sends a
   * transfer of another environment. Default: not declared, nothing is compared.
   */
  readonly environment?: Environment | undefined
  /** Sends one transfer, once in effect for its idempotency key. */
  submit(submission: Submission, options: SendOptions): Promise<SubmitResult>
  /**
   * Registers a counterparty that a transfer gives in full, once in effect for its idempotency key. Optional: without it the
   * engine refuses such transfers.
   */
  registerAddress?(registration: Registration, options: SendOptions): Promise<RegisterResult>
  /** Reads one transfer; `undefined` when the other side does not know it. Throws OutlayError when it cannot be read now. */
  get(accountId: string, remoteId: string, options: ReadOptions): Promise<Observation | undefined>
  /**
   * Reads the newest transfers of an account, newest first, about `limit` of them, from where `cursor` stands. `unreadable` says
   * how many of the page had to be left out: after a restore what is not in a list counts as not sent. Only a page without `next` is the
   * last one; an empty one may have it. Throws when the list cannot
   * be read now, also when the other side does not know the account. Optional: without it the engine reads transfers one by one.
   */
  list?(
    accountId: string,
    options: { readonly cursor?: string | undefined; readonly limit: number; readonly signal: AbortSignal },
  ): Promise<{
    readonly observations: readonly Observation[]
    readonly next?: string | undefined
    readonly unreadable?: number | undefined
  }>
  /**
   * True when its observations say what came back of complete transfers. The engine then reads them at a slow rate for as long as their
   * money may come back. Default false.
   */
  readonly reportsReturns?: boolean | undefined
  /** Closes connections. Whoever made the gateway calls it; an engine never does. */
  close?(): Promise<void>
}
