import type { TransferFailure } from './transfer-failure.ts'

/**
 * Statuses of a transfer, in order of precedence. Specification: "Transfer statuses".
 *
 * `complete` and `canceled` are final; `failed` is final unless its failure is retriable.
 */
export const transferStatuses = ['pending', 'processing', 'failed', 'canceled', 'complete'] as const

/** Status of a transfer as the service reports it. */
export type TransferStatus = (typeof transferStatuses)[number]

/** The statuses that may follow each status at the service itself; `failed` is left only while its failure is retriable. */
export const transferTransitions = {
  pending: ['processing', 'canceled', 'failed'],
  processing: ['complete', 'failed', 'canceled'],
  failed: ['processing', 'canceled'],
  canceled: [],
  complete: [],
} as const satisfies Record<TransferStatus, readonly TransferStatus[]>

/** A status with its failure, and when it was reached. */
export interface StatusState {
  readonly status: TransferStatus
  /** Given exactly when the status is `failed`. */
  readonly failure: TransferFailure | null
  /** When the status was reached according to the service, ISO 8601. Not the time at which it became known here. */
  readonly reachedAt?: string | undefined
}

/** An observation of a transfer: a state, or a gateway's observation unchanged. */
export interface StatusObservation extends StatusState {
  /** The whole transfer, if given; its `updatedAt` stands in for `reachedAt`. */
  readonly transfer?: { readonly updatedAt: string } | undefined
}

const is = (value: unknown): value is TransferStatus => (transferStatuses as readonly unknown[]).includes(value)

const isFinal = (status: TransferStatus, failure: Pick<TransferFailure, 'retriable'> | null = null): boolean =>
  status === 'complete' || status === 'canceled' || (status === 'failed' && failure?.retriable !== true)

const allows = (current: Pick<StatusState, 'status' | 'failure'>, to: TransferStatus): boolean =>
  !isFinal(current.status, current.failure) &&
  (transferTransitions[current.status] as readonly TransferStatus[]).includes(to)

const stateOf = ({ status, failure, reachedAt, transfer }: StatusObservation): StatusState => ({
  status,
  failure: status === 'failed' ? failure : null,
  reachedAt: reachedAt ?? transfer?.updatedAt,
})

// A failure has its own time: the same failure read twice must not count as a second one.
const timeOf = ({ failure, reachedAt }: StatusState): number => Date.parse(failure?.occurredAt ?? reachedAt ?? '')

// Both states are processing, or failed and retriable. If a time is missing, failed counts as the later one: late reports of
// processing are common, and a transfer that continues after a failure ends in a final status anyway.
const isLater = (observed: StatusState, current: StatusState): boolean => {
  const elapsedMs = timeOf(observed) - timeOf(current)
  if (Number.isNaN(elapsedMs) || elapsedMs === 0) return observed.status === 'failed' && current.status !== 'failed'
  return elapsedMs > 0
}

const advance = (current: StatusState, observation: StatusObservation): StatusState | undefined => {
  const observed = stateOf(observation)
  if (isFinal(current.status, current.failure)) return undefined
  if (isFinal(observed.status, observed.failure)) return observed
  if (observed.status === 'pending') return undefined
  if (current.status === 'pending') return observed
  return isLater(observed, current) ? observed : undefined
}

/** Rules of a transfer's status. */
export const TransferStatus = {
  /** True for one of the five statuses. */
  is,
  /** True when nothing can follow: complete, canceled, or failed with a failure that is not retriable. */
  isFinal,
  /** True when the service itself may go from one status to the next in one step: the table, for the service's own decisions. */
  allows,
  /**
   * The state after an observation, for an observer; `undefined` when the observation changes nothing.
   *
   * The status only moves forward, in whatever order observations arrive; steps in between may be missing. `failed` is left
   * only while its failure is retriable: for a final status at once, for `processing` when the observation was reached later
   * than the failure. A caller that stores `reachedAt` reaches the same end from the same observations in any order, overcome
   * failures included. Without any `reachedAt` that also holds, with `failed` staying until the final status.
   */
  advance,
} as const
