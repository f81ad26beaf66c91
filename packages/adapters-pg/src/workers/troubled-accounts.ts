/** Accounts whose events failed last, in one subscription and process. */
export interface TroubledAccounts {
  /** An event of the account failed, which took so long, in milliseconds. */
  failed(accountId: string, tookMs: number): void
  /** An event of the account was handled: all is well again. */
  handled(accountId: string): void
  all(): readonly string[]
  /** Those that failed several times in a row, and whose next try is not due. */
  resting(): readonly string[]
}

/** Most accounts that are kept in mind. */
const most = 1_000

/** Longest pause of an account, in milliseconds. */
const longestRestMs = 60_000

/**
 * Makes the memory of accounts whose events failed last. It is gone with the process, whose successor may be mended. An account
 * rests for twice as long as its failure took: one that hangs has a third of the time of a loop, and one that fails at once
 * costs the others nothing.
 */
export function createTroubledAccounts(now: () => number = () => performance.now()): TroubledAccounts {
  const troubles = new Map<string, { readonly failures: number; readonly restsUntil: number }>()
  return {
    failed(accountId, tookMs) {
      const failures = (troubles.get(accountId)?.failures ?? 0) + 1
      const restMs = failures < 3 ? 0 : Math.min(longestRestMs, 2 * tookMs)
      troubles.delete(accountId)
      troubles.set(accountId, { failures, restsUntil: now() + restMs })
      const [oldest] = troubles.keys()
      if (troubles.size > most && oldest !== undefined) troubles.delete(oldest)
    },
    handled(accountId) {
      troubles.delete(accountId)
    },
    all: () => [...troubles.keys()],
    resting() {
      const at = now()
      return [...troubles].filter(([, { restsUntil }]) => restsUntil > at).map(([accountId]) => accountId)
    },
  }
}
