/** The length of what is counted together: an hour or a day of UTC. */
export type CountStep = 'hour' | 'day'

/** Which counts are read. Times are ISO 8601, UTC, and begin an hour or a day. */
export interface CountQuery {
  readonly step: CountStep
  readonly from: string
  readonly to: string
  /** Only of this gateway. */
  readonly gateway?: string | undefined
  /** Only of these accounts. Default: all of them. */
  readonly accountIds?: readonly string[] | undefined
}

/** What was counted of one gateway and currency in an hour or a day, or in a part of it. */
export interface TransferCount {
  /** When the hour or day began, ISO 8601, UTC. */
  readonly at: string
  readonly currency: string
  readonly enqueued: number
  readonly completed: number
  readonly failed: number
  readonly canceled: number
  readonly blocked: number
  /** Decimal string. */
  readonly enqueuedValue: string
  readonly completedValue: string
  /** How many took how long: `12` stands for 2^(12/4) milliseconds and more, and less than 2^(13/4). */
  readonly acceptedIn: Readonly<Record<string, number>>
  readonly endedIn: Readonly<Record<string, number>>
}

/** Counts, and how far workers have added them up. */
export interface TransferCounts {
  readonly counts: readonly TransferCount[]
  /** Nothing before is counted; null where no worker has begun. ISO 8601, UTC. */
  readonly begunAt: string | null
  /** Everything from then to this time is counted. */
  readonly countedTo: string | null
}

/** Reads what workers have counted. */
export interface CountPort {
  readCounts(query: CountQuery): Promise<TransferCounts>
}
