/** Limits on the calls that use one pair of credentials. */
export interface CallLimits {
  /** Calls in progress at once. Default: no limit. */
  readonly concurrency?: number | undefined
  /** Calls started per second, evenly spaced. Default: no limit. */
  readonly ratePerSecond?: number | undefined
}

/** The same limits for every pair of credentials, or a function that returns the limits of an account; `undefined` for none. */
export type CallLimitsSource = CallLimits | ((accountId: string) => CallLimits | undefined)

/** Releases a call's permit. Safe to call once. */
type Leave = () => void

/** Gives permits to calls, in the order in which they arrive. */
export interface Limiter {
  /**
   * Resolves when the call may begin; `undefined` when the signal aborted first.
@throws Error when the limits of the account are not valid
   */
  enter(accountId: string, signal?: AbortSignal): Promise<Leave | undefined>
}

/** Calls that share limits. */
interface Lane {
  limits: CallLimits
  underWay: number
  /** When the next call may begin, by the monotonic clock. */
  nextAtMs: number
  /** In order. A call that is aborted leaves the queue at any position. */
  readonly waiting: Set<Leave>
  timer: NodeJS.Timeout | undefined
}

/** How much lateness of a timer may be made up for, in milliseconds. */
const madeUpMs = 50

/** Number of lanes above which idle ones are removed. */
const manyLanes = 10_000

/** Throws Error for invalid limits. */
function checkCallLimits(limits: CallLimits): CallLimits {
  const { concurrency, ratePerSecond } = limits
  if (concurrency !== undefined && !(Number.isInteger(concurrency) && concurrency >= 1)) {
    throw new Error('limits.concurrency must be a whole number of at least 1')
  }
  if (ratePerSecond !== undefined && !(Number.isFinite(ratePerSecond) && ratePerSecond > 0)) {
    throw new Error('limits.ratePerSecond must be a number greater than 0')
  }
  return limits
}

/** Makes a limiter. `laneOf` groups the calls that share limits when the limits are the same for all accounts. */
export function createLimiter(source: CallLimitsSource, laneOf: (accountId: string) => string): Limiter {
  const lanes = new Map<string, Lane>()
  if (typeof source !== 'function') checkCallLimits(source)

  const findLane = (accountId: string): Lane | undefined => {
    const limits = typeof source === 'function' ? source(accountId) : source
    if (limits === undefined) return undefined
    const key = typeof source === 'function' ? accountId : laneOf(accountId)
    const lane = lanes.get(key) ?? openEnvironment(lanes, key, limits)
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

function openEnvironment(lanes: Map<string, Lane>, key: string, limits: CallLimits): Lane {
  if (lanes.size >= manyLanes) {
    for (const [name, { underWay, waiting, nextAtMs }] of lanes) {
      if (underWay === 0 && waiting.size === 0 && nextAtMs < performance.now()) lanes.delete(name)
    }
  }
  const lane: Lane = { limits, underWay: 0, nextAtMs: 0, waiting: new Set(), timer: undefined }
  lanes.set(key, lane)
  return lane
}

/** Gives permits to the calls that may begin now, and sets a timer for the next one. */
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
