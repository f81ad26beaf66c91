import type { CounterpartyDetails, StoredRequest } from '../counterparty.ts'
import type { Metadata } from '../metadata.ts'

/** What an answer about a transfer says: it may be sent, somebody decides first, or it is not sent at all. */
export const screeningResults = ['pass', 'hold', 'refuse'] as const

/** What an answer about a transfer says. */
export type ScreeningResult = (typeof screeningResults)[number]

/** A committed transfer that waits to be screened, as it will be sent. Times are ISO 8601, UTC. */
export interface ScreenedTransfer {
  readonly id: string
  readonly accountId: string
  readonly gateway: string
  readonly idempotencyKey: string
  /** Amount, source and destination. A registered counterparty has an id here alone: the host knows who that is. */
  readonly request: StoredRequest
  /** The payee, where the request gives it in full. */
  readonly counterparty?: CounterpartyDetails['address'] | undefined
  readonly metadata?: Metadata | undefined
  readonly createdBy?: string | undefined
  readonly batchId?: string | undefined
  readonly notBefore: string | null
  readonly expiresAt: string | null
  readonly createdAt: string
  /** The policies that ask for it. */
  readonly policies: readonly string[]
  /** Counts up from 1 with each time that the transfer is screened: a provider that takes keys can have the id with this. */
  readonly ask: number
}

/** The answer of a screener. */
export interface ScreeningAnswer {
  readonly result: ScreeningResult
  /** The case at the provider, of at most 255 characters: a later answer about it names it. */
  readonly case?: string | undefined
  /** Why, for people. Only the first 2 000 characters are kept. */
  readonly note?: string | undefined
}

/**
 * Asks somebody whether a transfer may be sent. Workers call it outside of any transaction, before the first attempt, and perhaps more than
 * once for one transfer. What it throws, and what is no answer, holds the transfer, and it is asked again later.
 */
export type Screener = (
  transfer: ScreenedTransfer,
  signal: AbortSignal,
) => ScreeningAnswer | PromiseLike<ScreeningAnswer>

/** What came of one call of the screener: an answer, or why there is none. */
export type Screened =
  | { readonly answer: ScreeningAnswer; readonly failure?: undefined }
  | { readonly answer?: undefined; readonly failure: string }

/** What asks a screener, within bounds. */
export interface Screening {
  /** Never rejects. */
  screen(transfer: ScreenedTransfer, signal: AbortSignal): Promise<Screened>
  /** Longest time of one call, in milliseconds. */
  readonly longestMs: number
  /** Pause before the next call after so many without an answer, in milliseconds. */
  pauseMs(failures: number): number
}

/** How the screening of a held transfer stands. */
export interface ScreeningState {
  /** The case at the provider, whose answer it waits for; absent where there is none. */
  readonly case?: string | undefined
  /** True where an answer holds it: nobody asks again until another answer, or a person, ends that. */
  readonly isOnHold: boolean
  /** How often it was asked about. */
  readonly asks: number
  /** Calls in a row that gave no answer. */
  readonly failures: number
  /** ISO 8601, UTC: the first of these. */
  readonly failingSince?: string | undefined
  /** What the last of these said. */
  readonly lastError?: string | undefined
}

/** An answer about a transfer as it is stored; the rows are only added. */
export interface StoredScreening extends ScreeningAnswer {
  /** Who gave it: the worker that asked, or the actor of a later answer. */
  readonly by: string
  /** False where it changed nothing: the transfer was held no more, or a pass was that of an earlier call. */
  readonly isCounted: boolean
  /** Fingerprint of the request that was screened. */
  readonly fingerprint: string
  /** ISO 8601, UTC. */
  readonly at: string
}

/** What became of an answer. */
export interface AnsweredScreening {
  readonly isCounted: boolean
  /** True where nothing holds the transfer any more: it is sent after the commit. */
  readonly isReleased: boolean
}

/** Keeps answers that come later than the call of the screener. */
export interface ScreeningPort<Tx> {
  /** Writes an answer about a transfer, which the caller has locked, and does what it says. */
  answerScreening(
    tx: Tx,
    transferId: string,
    answer: ScreeningAnswer & { readonly by: string },
  ): Promise<AnsweredScreening>
}
