import { checkNumbers, type NumberRange, timerRange } from '../number-option.ts'
import type { WorkOptions } from '../ports/work-options.ts'

const ranges: { readonly [K in keyof WorkOptions]: NumberRange } = {
  concurrency: { min: 1, max: 100_000, integer: true },
  pollIntervalMs: timerRange,
  subscriptionConcurrency: { min: 1, max: 10_000, integer: true },
  stopTimeoutMs: { ...timerRange, min: 0 },
  slowAfterMs: timerRange,
}

/** Throws Error naming an option that is no number, or out of its range. */
export function checkWorkOptions(work: WorkOptions): void {
  checkNumbers({ ...work }, ranges)
  checkNumbers({ ...work.retention }, { archiveAfterDays: { min: 0 } }, 'retention.')
}

/** Throws Error unless the longest pause between two polls is a number. */
export function checkPolling(polling: { readonly maxDelayMs?: number | undefined } = {}): void {
  checkNumbers({ ...polling }, { maxDelayMs: { min: 1 } }, 'polling.')
}
