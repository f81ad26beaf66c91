import type { Catalog } from '../catalog.ts'
import type { ReturnLoad, ReturnReadingKind } from '../ports/work.ts'
import { pageSize } from './polling.ts'

/** From this many transfers of an account on, its list is read; fewer are read one by one, at the end of their windows. */
const readListFrom = 10

/** Requests that a transfer may cost over its whole window. The promise is twice as many: two readings may come close to each other. */
const requestsPerTransfer = 0.05

/** How long the money of a transfer between these rails or chains may come back; `undefined` where it cannot. */
export function longestReturnWindowMs(catalog: Catalog, transferTypes: readonly string[]): number | undefined {
  const windows = transferTypes.flatMap((name) => catalog.transferType(name)?.returnWindowMs ?? [])
  return windows.length === 0 ? undefined : Math.max(...windows)
}

/**
 * Decides whether returns of an account are read now: as often as the requests of its transfers allow, and once behind the end of each
 * window. Pure.
 */
export function decideReturnReading(load: ReturnLoad): ReturnReadingKind | undefined {
  const { transfers, windowsPerMs, endedWindowMs, isWanted, sinceMs } = load
  if (transfers < readListFrom) return isWanted || endedWindowMs !== null ? 'single' : undefined
  const requests = Math.max(load.requests ?? 0, Math.ceil(transfers / pageSize))
  const isPaidFor = sinceMs >= requests / (requestsPerTransfer * windowsPerMs)
  if (isPaidFor || (endedWindowMs !== null && sinceMs >= endedWindowMs)) return 'list'
  return isWanted ? 'single' : undefined
}
