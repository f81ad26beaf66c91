import { checkNumbers, type NumberRange, timerRange } from '../number-option.ts'
import { checkNames } from '../option-names.ts'
import type { WorkOptions } from '../ports/work-options.ts'
import { longestArchiveMs } from './archiving.ts'
import { checkFlag } from './checked-text.ts'

const ranges: { readonly [K in keyof WorkOptions]: NumberRange } = {
  concurrency: { min: 1, max: 100_000, integer: true },
  pollIntervalMs: timerRange,
  subscriptionConcurrency: { min: 1, max: 10_000, integer: true },
  screeningConcurrency: { min: 1, max: 10_000, integer: true },
  stopTimeoutMs: { ...timerRange, min: 0 },
  slowAfterMs: timerRange,
}

/** Throws Error naming an option that does not exist, is no number, or is out of its range. */
export function checkWorkOptions(work: WorkOptions): void {
  checkNames(work, [...Object.keys(ranges), 'retention', 'listen'])
  checkNames(work.retention, ['archiveAfterDays'], 'retention')
  if (work.listen !== undefined) checkFlag(work.listen, 'listen')
  checkNumbers({ ...work }, ranges)
  checkNumbers(
    { ...work.retention },
    { archiveAfterDays: { min: 0, max: longestArchiveMs / 86_400_000 } },
    'retention.',
  )
}

/** Throws Error unless the longest pause between two polls is a number. */
export function checkPolling(polling: { readonly maxDelayMs?: number | undefined } = {}): void {
  checkNames(polling, ['maxDelayMs'], 'polling')
  checkNumbers({ ...polling }, { maxDelayMs: { min: 1 } }, 'polling.')
}
