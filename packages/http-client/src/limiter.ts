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
interface CallBudget {
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

/** Number of budgets above which idle ones are removed. */
const manyBudgets = 10_000

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

/** Makes a limiter. `budgetOf` groups the calls that share limits when the limits are the same for all accounts. */
export function createLimiter(source: CallLimitsSource, budgetOf: (accountId: string) => string): Limiter {
  const budgets = new Map<string, CallBudget>()
  if (typeof source !== 'function') checkCallLimits(source)

  const findBudget = (accountId: string): CallBudget | undefined => {
    const limits = typeof source === 'function' ? source(accountId) : source
    if (limits === undefined) return undefined
    const key = typeof source === 'function' ? accountId : budgetOf(accountId)
    const budget = budgets.get(key) ?? openBudget(budgets, key, limits)
    budget.limits = checkCallLimits(limits)
    return budget
  }
  return {
    async enter(accountId, signal) {
      if (signal?.aborted) return undefined
      const budget = findBudget(accountId)
      if (budget === undefined) return () => undefined
      return new Promise((resolve) => {
        const onAbort = () => {
          budget.waiting.delete(begin)
          resolve(undefined)
        }
        const begin = () => {
          signal?.removeEventListener('abort', onAbort)
          resolve(() => {
            budget.underWay -= 1
            admit(budget)
          })
        }
        signal?.addEventListener('abort', onAbort, { once: true })
        budget.waiting.add(begin)
        admit(budget)
      })
    },
  }
}

function openBudget(budgets: Map<string, CallBudget>, key: string, limits: CallLimits): CallBudget {
  if (budgets.size >= manyBudgets) {
    for (const [name, { underWay, waiting, nextAtMs }] of budgets) {
      if (underWay === 0 && waiting.size === 0 && nextAtMs < performance.now()) budgets.delete(name)
    }
  }
  const budget: CallBudget = { limits, underWay: 0, nextAtMs: 0, waiting: new Set(), timer: undefined }
  budgets.set(key, budget)
  return budget
}

/** Gives permits to the calls that may begin now, and sets a timer for the next one. */
function admit(budget: CallBudget): void {
  const { concurrency = Number.POSITIVE_INFINITY, ratePerSecond } = budget.limits
  for (const begin of budget.waiting) {
    if (budget.underWay >= concurrency) return
    const now = performance.now()
    if (ratePerSecond !== undefined && budget.nextAtMs > now) {
      budget.timer ??= setTimeout(() => {
        budget.timer = undefined
        admit(budget)
      }, budget.nextAtMs - now)
      return
    }
    if (ratePerSecond !== undefined) budget.nextAtMs = Math.max(budget.nextAtMs, now - madeUpMs) + 1_000 / ratePerSecond
    budget.waiting.delete(begin)
    budget.underWay += 1
    begin()
  }
}
