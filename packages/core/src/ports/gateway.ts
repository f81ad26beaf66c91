import type { ExternalAddressRequest } from '../external-address.ts'
import type { Transfer, TransferFailure, TransferRequest } from '../transfer.ts'
import type { TransferStatus } from '../transfer-status.ts'
import type { Environment } from '../transfer-type.ts'

/** One transfer on its way out. The idempotency key is the same on every attempt. */
export interface Submission {
  /** The engine's own id of the transfer. */
  readonly transferId: string
  readonly accountId: string
  /** The engine's own key, made of the account and the host's key: unique over all accounts. */
  readonly idempotencyKey: string
  /** What {@link Gateway.identify} said; the request leaves as this client or not at all. Absent where it said nothing. */
  readonly client?: string | undefined
  readonly request: TransferRequest
  /** 1 for the first attempt. */
  readonly attempt: number
}

/** What is known at the other side about one transfer at one moment. */
export interface Observation {
  readonly remoteId: string
  readonly status: TransferStatus
  readonly failure: TransferFailure | null
  /** When the status was reached, ISO 8601: what tells a transfer that goes on after a failure from an old report. */
  readonly reachedAt?: string | undefined
  /** The whole transfer, when the other side gave it. */
  readonly transfer?: Transfer | undefined
}

/** Marks of the answer, for the attempts log. */
export interface AnswerMarks {
  /** `throttled` with 429 is about the whole account, which is slowed down; without it, about the one transfer. */
  readonly httpStatus?: number | undefined
  readonly requestId?: string | undefined
  /**
   * True when the answer proves that the other side looked the idempotency key up before it decided. Without that a refusal
   * says nothing about an earlier request with the key whose answer was lost.
   */
  readonly keyEvaluated?: boolean | undefined
  /**
   * True for `unauthorized` and `throttled` when somebody else may have answered, such as a proxy with a page of its own, after
   * the request had gone on: the outcome then counts as unknown. Default false: nothing has happened.
   */
  readonly mayHaveActed?: boolean | undefined
}

/**
 * What became of one submission. A gateway answers with a value for everything that the other side can say or fail to say;
 * it throws only for a programmer's mistake, and the engine then takes the outcome as unknown.
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

/** One counterparty on its way out, before the transfer that pays it. Its key is its own, and the same on every attempt. */
export interface Registration {
  /** The engine's own id of the transfer. */
  readonly transferId: string
  readonly accountId: string
  readonly idempotencyKey: string
  readonly address: ExternalAddressRequest
  /** 1 for the first attempt. */
  readonly attempt: number
}

/** What became of one registration. It moves no money, whatever became of it. */
export type RegisterResult = AnswerMarks &
  (
    | { readonly outcome: 'accepted'; readonly addressId: string }
    /** `detail` names the member of the address that the service refuses, where it says so. */
    | { readonly outcome: 'rejected'; readonly code: string; readonly detail: string }
    | Extract<SubmitResult, { readonly outcome: 'key_mismatch' | 'unauthorized' | 'throttled' | 'unknown' }>
  )

/** How long a gateway's idempotency keys live when it does not say, in milliseconds. */
export const defaultKeyLifetimeMs = 24 * 3_600_000

/** How a request is sent. */
export interface SendOptions {
  readonly signal: AbortSignal
  /**
   * Asked right before the request leaves, after every wait: false when none may begin any more, since somebody has stopped
   * sending. Then nothing is sent, and the answer is `throttled`. Absent when nobody can.
   */
  readonly mayBegin?: (() => boolean) | undefined
}

/** The way to the other side: an HTTP service, or a set of rails. */
export interface Gateway {
  /**
   * How long the other side keeps idempotency keys for certain, in milliseconds. A request whose outcome is unknown for that
   * long is never sent again. Default 24 hours.
   */
  readonly keyLifetimeMs?: number | undefined
  /**
   * Says as whom an account's submissions are sent now: the scope of idempotency keys at the other side, without a secret.
   * While an outcome is unknown nothing is sent as anybody else. `wanted` is who sent last: a gateway that remembers another
   * one asks again before it says so. Rejects when that cannot be found out now. Optional: without it all submissions have one
   * scope.
   */
  identify?(
    accountId: string,
    options: { readonly signal: AbortSignal; readonly wanted?: string | undefined },
  ): Promise<string | undefined>
  /**
   * Whether it moves real money. Written into the database and with each transfer where it is declared; an engine never sends
   * a transfer of another environment. Default: not declared, nothing is compared.
   */
  readonly environment?: Environment | undefined
  /** Sends one transfer, once in effect for its idempotency key. */
  submit(submission: Submission, options: SendOptions): Promise<SubmitResult>
  /**
   * Registers a counterparty that a transfer gives whole, once in effect for its idempotency key. Optional: without it the
   * engine takes no such transfers.
   */
  registerAddress?(registration: Registration, options: SendOptions): Promise<RegisterResult>
  /** Reads one transfer; `undefined` when the other side does not know it. Throws OutlayError when it cannot be read now. */
  get(accountId: string, remoteId: string, options: { readonly signal: AbortSignal }): Promise<Observation | undefined>
  /**
   * Reads the newest transfers of an account, newest first, at most `limit` of them, from where `cursor` stands.
   * Optional: without it the engine reads transfers one by one.
   */
  list?(
    accountId: string,
    options: { readonly cursor?: string | undefined; readonly limit: number; readonly signal: AbortSignal },
  ): Promise<{ readonly observations: readonly Observation[]; readonly next?: string | undefined }>
  /** Closes connections. Whoever made the gateway calls it; an engine never does. */
  close?(): Promise<void>
}
