import type { Logger } from '@outlay/core'
import { thrownText } from '../database/thrown-text.ts'

/** Tasks under way, one per account at most, in a bounded number that slow accounts cannot use up. */
export interface AccountTasks {
  /** How many more tasks may begin now, not counting those of slow accounts. */
  free(): number
  /** Accounts whose task may not begin now: those under way, and slow ones while their share is used up. */
  excluded(): readonly string[]
  mayBegin(accountId: string): boolean
  /** Begins the task of an account. Logs what it throws. */
  begin(accountId: string, run: () => Promise<void>): void
  /** Resolves when no task is under way. */
  ended(): Promise<void>
}

/** What tasks of accounts work with. */
export interface AccountTasksOptions {
  readonly logger: Logger
  /** Tasks at once, not counting those that have become slow. */
  readonly size: number
  /** A task that takes longer is slow, in milliseconds. */
  readonly slowAfterMs: number
  /** Called whenever another task may begin. */
  readonly onFree: () => void
}

/** Tasks at once of accounts whose last task was slow. */
const slowAtOnce = 8

/** Slow accounts that are remembered at most; the one that was slow first is forgotten first. */
const maxSlow = 20_000

/**
 * Makes the bounded set of tasks. A task that has become slow no longer counts, so that waiting tasks begin after `slowAfterMs`
 * at the latest; the next tasks of its account begin in the small share of slow accounts, until one was fast again.
 */
export function createAccountTasks({ logger, size, slowAfterMs, onFree }: AccountTasksOptions): AccountTasks {
  const underWay = new Map<string, Promise<void>>()
  const slow = new Set<string>()
  /** Tasks that count against the size. */
  let counted = 0
  let slowUnderWay = 0
  const hasSlot = (accountId: string) => (slow.has(accountId) ? slowUnderWay < slowAtOnce : counted < size)
  const markSlow = (accountId: string) => {
    slow.delete(accountId)
    slow.add(accountId)
    const [first] = slow
    if (slow.size > maxSlow && first !== undefined) slow.delete(first)
  }
  const perform = async (accountId: string, run: () => Promise<void>) => {
    const beganSlow = slow.has(accountId)
    let isSlow = false
    if (beganSlow) slowUnderWay += 1
    else counted += 1
    const timer = setTimeout(() => {
      isSlow = true
      markSlow(accountId)
      if (beganSlow) return
      counted -= 1
      onFree()
    }, slowAfterMs)
    try {
      // Not synchronously: the entry has to exist before the task ends.
      await Promise.resolve().then(run)
    } catch (error) {
      const message = thrownText(error)
      logger.warn({ accountId, error: message }, 'A poll of an account failed; the worker repeats it later.')
    } finally {
      clearTimeout(timer)
      underWay.delete(accountId)
      if (beganSlow) slowUnderWay -= 1
      else if (!isSlow) counted -= 1
      if (!isSlow) slow.delete(accountId)
      onFree()
    }
  }
  return {
    free: () => size - counted,
    excluded() {
      if (slowUnderWay < slowAtOnce) return [...underWay.keys()]
      return [...new Set([...underWay.keys(), ...slow])]
    },
    mayBegin: (accountId) => !underWay.has(accountId) && hasSlot(accountId),
    begin(accountId, run) {
      underWay.set(accountId, perform(accountId, run))
    },
    async ended() {
      while (underWay.size > 0) await Promise.all(underWay.values())
    },
  }
}
