import type { Backlog } from '../ports/backlog.ts'
import type { CountStep } from '../ports/transfer-counts.ts'

/** Which counts are wanted. */
export interface StatsQuery {
  /** Hours are kept for 60 days, days for two years. Default `hour`. */
  readonly step?: CountStep | undefined
  /** The first hour or day: the one that this moment is in. Default: the last 48 hours, or 30 days. */
  readonly from?: string | Date | undefined
  /** Hours or days that begin before it. Default now. */
  readonly to?: string | Date | undefined
  /** Only of this gateway. Default: all together. */
  readonly gateway?: string | undefined
  /** Only of these accounts, at most 50. Default: all together. */
  readonly accountIds?: readonly string[] | undefined
}

/** How long something took: milliseconds that half of them, and 95 of 100, needed at most, exact to a fifth. */
export interface StatsLatency {
  readonly count: number
  /** Null where nothing was counted. */
  readonly p50Ms: number | null
  readonly p95Ms: number | null
}

/** What came in and what ended in one hour or day of UTC. */
export interface StatsBucket {
  /** When it began, ISO 8601, UTC. */
  readonly at: string
  /** The gateway of the query; null for all together. */
  readonly gateway: string | null
  readonly enqueued: number
  readonly completed: number
  readonly failed: number
  readonly canceled: number
  /** How often it came to a person, because the engine cannot know whether money has moved. */
  readonly blocked: number
  /** Decimal strings: what was asked for of what was enqueued, and what was paid of what was completed, as it was known some seconds later. */
  readonly value: readonly { readonly currency: string; readonly enqueued: string; readonly completed: string }[]
  /** From the enqueue, or the time that it waited for, until the service accepted it. Of those accepted here. */
  readonly toAccepted: StatsLatency
  /** The same until it completed or failed. Of those that did here. */
  readonly toFinal: StatsLatency
}

/** Counts by hour or day. Adopted transfers are in none of them. */
export interface Stats {
  readonly step: CountStep
  /** ISO 8601, UTC. */
  readonly from: string
  readonly to: string
  /** Workers have counted what was committed before, and nothing behind it. Null where none ever has. */
  readonly rolledUpTo: string | null
  /** In the order of time, one for each hour or day of which something may be counted. */
  readonly data: readonly StatsBucket[]
}

/** Counts of transfers. */
export interface Counting {
  /** Counts of transfers and events, at this moment. */
  backlog(): Promise<Backlog>
  /**
   * How many transfers were enqueued and ended, what they came to and how long they took, by hour or day. Workers add it up in the background, some minutes behind;
   * `rolledUpTo` says how far. Reads sums alone, however many transfers there are.
   * @throws OutlayError `invalid_request`, `invalid_id` with the field, before any SQL
   */
  stats(query?: StatsQuery): Promise<Stats>
}
