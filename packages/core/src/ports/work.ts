import type { Obstacle } from '../error.ts'
import type { TransferStatus } from '../transfer-status.ts'
import type { Environment } from '../transfer-type.ts'
import type { Claim, Settlement } from './claim.ts'
import type { Observation } from './gateway.ts'
import type { ObserveRules } from './observations.ts'
import type { Logger } from './runtime.ts'
import type { Screening } from './screening.ts'
import type { Subscription } from './subscriptions.ts'
import type { DecideThrottle } from './throttle.ts'
import type { WorkOptions } from './work-options.ts'

/** A submitted transfer that is due for a poll. */
export interface PolledTransfer {
  readonly transferId: string
  readonly accountId: string
  /** The gateway that has it. */
  readonly gateway: string
  readonly remoteId: string
  readonly status: TransferStatus
  /** Rail or chain of the destination; determines the poll interval. */
  readonly transferType: string
  /** How often it was polled so far. */
  readonly polls: number
  /** W3C trace context of its enqueue, if it has one; only for {@link WorkHandlers.traced} handlers. */
  readonly traceparent?: string | undefined
}

/** What keeps the status of a submitted transfer from being read: an obstacle, or any other error of its gateway (`poll_failed`). */
export type PollTrouble = Obstacle | 'poll_failed'

/** The result of polling submitted transfers. */
export interface Readings {
  readonly observations: readonly Observation[]
  /** Ids of transfers that the other side does not have. */
  readonly missing: readonly string[]
  /** Why others could not be read, by their ids: null where the other side asked for a pause. Those that were not asked for are in none of the members. */
  readonly troubles?: ReadonlyMap<string, PollTrouble | null> | undefined
}

/** One page of an account's list, newest first. */
export interface ListPage {
  readonly observations: readonly Observation[]
  /** Cursor of the next page; `undefined` at the end of the list. */
  readonly next?: string | undefined
  /** How many of its transfers could not be read, and are left out. Default 0. */
  readonly unreadable?: number | undefined
}

/** The complete transfers of one account whose money may still come back, when a reading of them may be due. */
export interface ReturnLoad {
  readonly transfers: number
  /** Sum of one divided by the window of each, in milliseconds. */
  readonly windowsPerMs: number
  /** Of those whose window has ended: the shortest window, in milliseconds; null where none has. */
  readonly endedWindowMs: number | null
  /** True when a return of one of them was reported that could not be written yet. */
  readonly isWanted: boolean
  /** Milliseconds since the last reading began, or since the account was found. */
  readonly sinceMs: number
  /** Requests of the last reading; null before the first. */
  readonly requests: number | null
}

/** How returns are read: by pages of the account's list, or only the transfers that have to be read now, one by one. */
export type ReturnReadingKind = 'list' | 'single'

/** How long the outcome of a transfer to a gateway may be unknown. */
export interface UnknownLimit {
  readonly gateway: string
  /** Age of an unknown outcome at which a person has to decide, in milliseconds. */
  readonly limitMs: number
  /** Age from which the same key is sent no more, in milliseconds. */
  readonly lastSendMs: number
}

/** What the engine does with work from a backend. An account is given as `atGateway` writes it, together with its gateway. */
export interface WorkHandlers<Tx> {
  /** Names of the engine's gateways. Transfers to any other gateway are neither claimed nor read. */
  readonly gateways: readonly string[]
  /** The client as which every transfer is sent; `undefined` when a gateway returns one for each account. */
  readonly client?: string | undefined
  /** How long an outcome may be unknown, for each of the gateways. */
  readonly unknownLimits: readonly UnknownLimit[]
  /**
   * Submits one claimed transfer and decides what its answer means. Never rejects. `mayBegin` says right before the request
   * leaves whether it may; if not, the transfer is put back as it was. `recordLate` gets the acceptance by a call that was abandoned
   * before, at any time after the result, also when the workers have stopped: it is written besides that result, and never throws.
   */
  submit(
    claim: Claim,
    signal: AbortSignal,
    mayBegin: () => boolean,
    recordLate: (settlement: Settlement) => void,
  ): Promise<Settlement>
  /** Polls transfers of one account one by one and returns the observations; transfers that could not be read are left out. */
  poll(account: string, transfers: readonly PolledTransfer[], signal: AbortSignal): Promise<Readings>
  /** Reads a page of an account's list, from its beginning without a cursor; `undefined` when the other side has no lists. */
  readPage(account: string, cursor: string | null, signal: AbortSignal): Promise<ListPage | undefined>
  /** Delay until the next poll, in milliseconds. */
  nextPollMs(transfer: Pick<PolledTransfer, 'accountId' | 'transferType' | 'polls'>): number
  /** Delay until the next read of a watched account, in milliseconds, after this many reads in a row that found nothing or failed. */
  nextWatchMs(idle: number): number
  /** Decides whether returns of an account are read now. Absent when the other side does not report any. */
  readonly decideReturnReading?: ((load: ReturnLoad) => ReturnReadingKind | undefined) | undefined
  /** Asks whether transfers may be sent that a policy holds for that. Absent where the engine has no screener: then they wait for another worker. */
  readonly screening?: Screening | undefined
  readonly rules: ObserveRules
  /** Environment of the gateways, if they declare one. */
  readonly environment?: Environment | undefined
  /** Decides how far an account is throttled after the service answered 429. */
  readonly decideThrottle: DecideThrottle
  readonly subscriptions: readonly Subscription<Tx>[]
  /** True for handlers that want trace contexts. Default false: the contexts are not read. */
  readonly traced?: boolean | undefined
  /** Where the workers log. Default: the backend's own logger. */
  readonly logger?: Logger | undefined
}

/** How far one loop of the workers is. */
export interface LoopProgress {
  readonly name: string
  /** Turns that have begun since the start. */
  readonly turns: number
  /** How long the turn under way has taken so far, in milliseconds; 0 in a pause between two turns. */
  readonly turnMs: number
  /** How long the host's own code may keep a turn, in milliseconds: that of a handler; 0 where none runs in it. */
  readonly hostMs: number
}

/** Running workers. */
export interface Workers {
  /** How far each loop is, without asking the database. Absent where a backend does not know. */
  loops?(): readonly LoopProgress[]
  /** Stops claiming, waits for requests in flight, settles them, and returns the rest to the queue. */
  stop(): Promise<void>
}

/** Runs the workers of one process. */
export interface WorkPort<Tx> {
  /**
   * Records the client as which a claimed transfer is about to be sent, also for the next transfers of its account. False when
   * the claim is no longer the current one, or when another transaction has locked the transfer: then nothing may be sent.
   */
  recordClient(claim: Pick<Claim, 'transferId' | 'attempt'>, client: string): Promise<boolean>
  work(handlers: WorkHandlers<Tx>, options: WorkOptions): Promise<Workers>
}
