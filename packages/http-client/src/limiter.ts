/** Bounds of the calls that are made with one pair of credentials. */
export interface CallLimits {
  /** Calls under way at once. Default: no bound. */
  readonly concurrency?: number | undefined
  /** Calls begun per second, evenly. Default: no bound. */
  readonly ratePerSecond?: number | undefined
}

/** The same bounds for every pair of credentials, or a way to find those of an account; `undefined` for none. */
export type CallLimitsSource = CallLimits | ((accountId: string) => CallLimits | undefined)

/** Ends a call's stay; safe to call once. */
type Leave = () => void

/** Lets calls in, in the order in which they came. */
export interface Limiter {
  /**
   * Resolves when the call may begin; `undefined` when the signal aborted first.
   * @throws Error when the bounds of the account are no bounds
   */
  enter(accountId: string, signal?: AbortSignal): Promise<Leave | undefined>
}

/** Calls that share bounds. */
interface Lane {
  limits: CallLimits
  underWay: number
  /** When the next call may begin, by the monotonic clock. */
  nextAtMs: number
  /** In order; a call that is aborted leaves from wherever it stands. */
  readonly waiting: Set<Leave>
  timer: NodeJS.Timeout | undefined
}

/** Time that may be made up for when a timer fires late, in milliseconds. */
const madeUpMs = 50

/** Lanes from which on the idle ones are forgotten. */
const manyLanes = 10_000

/** Throws Error for bounds that are none. */
function checkCallLimits(limits: CallLimits): CallLimits {
  const { concurrency, ratePerSecond } = limits
  if (concurrency !== undefined && !(Number.isInteger(concurrency) && concurrency >= 1)) {
    throw new Error('limits.concurrency is a whole number from 1 on')
  }
  if (ratePerSecond !== undefined && !(Number.isFinite(ratePerSecond) && ratePerSecond > 0)) {
    throw new Error('limits.ratePerSecond is a number greater than 0')
  }
  return limits
}

/** Makes a limiter; `laneOf` names the calls that share the bounds which are given once for all. */
export function createLimiter(source: CallLimitsSource, laneOf: (accountId: string) => string): Limiter {
  const lanes = new Map<string, Lane>()
  if (typeof source !== 'function') checkCallLimits(source)

  const findLane = (accountId: string): Lane | undefined => {
    const limits = typeof source === 'function' ? source(accountId) : source
    if (limits === undefined) return undefined
    const key = typeof source === 'function' ? accountId : laneOf(accountId)
    const lane = lanes.get(key) ?? openLane(lanes, key, limits)
    lane.limits = checkCallLimits(limits)
    return lane
  }
  return {
    async enter(accountId, signal) {
      if (signal?.aborted) return undefined
      const lane = findLane(accountId)
      if (lane === undefined) return () => undefined
      return new Promise((resolve) => {
        const onAbort = () => {
          lane.waiting.delete(begin)
          resolve(undefined)
        }
        const begin = () => {
          signal?.removeEventListener('abort', onAbort)
          resolve(() => {
            lane.underWay -= 1
            admit(lane)
          })
        }
        signal?.addEventListener('abort', onAbort, { once: true })
        lane.waiting.add(begin)
        admit(lane)
      })
    },
  }
}

function openLane(lanes: Map<string, Lane>, key: string, limits: CallLimits): Lane {
  if (lanes.size >= manyLanes) {
    for (const [name, { underWay, waiting, nextAtMs }] of lanes) {
      if (underWay === 0 && waiting.size === 0 && nextAtMs < performance.now()) lanes.delete(name)
    }
  }
  const lane: Lane = { limits, underWay: 0, nextAtMs: 0, waiting: new Set(), timer: undefined }
  lanes.set(key, lane)
  return lane
}

/** Lets in whoever may begin now, and comes back when the next one may. */
function admit(lane: Lane): void {
  const { concurrency = Number.POSITIVE_INFINITY, ratePerSecond } = lane.limits
  for (const begin of lane.waiting) {
    if (lane.underWay >= concurrency) return
    const now = performance.now()
    if (ratePerSecond !== undefined && lane.nextAtMs > now) {
      lane.timer ??= setTimeout(() => {
        lane.timer = undefined
        admit(lane)
      }, lane.nextAtMs - now)
      return
    }
    if (ratePerSecond !== undefined) lane.nextAtMs = Math.max(lane.nextAtMs, now - madeUpMs) + 1_000 / ratePerSecond
    lane.waiting.delete(begin)
    lane.underWay += 1
    begin()
  }
}
