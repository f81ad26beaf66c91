/** How accounts fared whose events were handled last, in one subscription and process. */
export interface TroubledAccounts {
  /** Events of these accounts are being handled; gives what says that they are no more. */
  begin(accountIds: readonly string[]): () => void
  /** An event of the account failed, which took so long, in milliseconds. */
  failed(accountId: string, tookMs: number): void
  /** An event of the account ended a process: the account rests first. */
  endedProcess(accountId: string): void
  /** An event of the account was handled, which took so long, in milliseconds. */
  handled(accountId: string, tookMs: number): void
  /** Those whose last event failed. */
  all(): readonly string[]
  /** Those that failed several times in a row, and whose next try is not due. */
  resting(): readonly string[]
  /** Those that may hold a loop for long: whose last event failed or was slow, or whose first one is being handled. */
  doubtful(): readonly string[]
  /** True when the last event of the account was handled quickly. */
  isQuick(accountId: string): boolean
}

/** Most accounts of each kind that are remembered. */
const most = 1_000

/** Longest pause of an account, in milliseconds. */
const longestRestMs = 60_000

/** Failures in a row after which an account rests. */
const restsAfter = 3

/** Pause of an account whose event ended a process, in milliseconds: time for the others before the next of its events may. */
const restAfterEndMs = 10_000

/**
 * Makes the memory of accounts whose events failed or were slow last. It ends with the process, since the next one may have fixed code. An
 * account rests for twice as long as its failure took: one that hangs gets a third of the time of a loop, and one that fails at
 * once costs the others nothing.
 */
export function createTroubledAccounts(
  slowAfterMs: number,
  now: () => number = () => performance.now(),
): TroubledAccounts {
  const troubles = new Map<string, { readonly failures: number; readonly restsUntil: number }>()
  const slow = new Set<string>()
  const quick = new Set<string>()
  const underWay = new Map<string, number>()
  const change = (accountId: string, by: 1 | -1) => {
    const count = (underWay.get(accountId) ?? 0) + by
    if (count === 0) underWay.delete(accountId)
    else underWay.set(accountId, count)
  }
  const rest = (accountId: string, failures: number, restMs: number) => {
    troubles.delete(accountId)
    troubles.set(accountId, { failures, restsUntil: now() + restMs })
    dropOldest(troubles)
  }
  return {
    begin(accountIds) {
      for (const accountId of accountIds) change(accountId, 1)
      return () => {
        for (const accountId of accountIds) change(accountId, -1)
      }
    },
    failed(accountId, tookMs) {
      const failures = (troubles.get(accountId)?.failures ?? 0) + 1
      rest(accountId, failures, failures < restsAfter ? 0 : Math.min(longestRestMs, 2 * tookMs))
    },
    endedProcess: (accountId) => rest(accountId, restsAfter, restAfterEndMs),
    handled(accountId, tookMs) {
      troubles.delete(accountId)
      const [kind, other] = tookMs > slowAfterMs ? [slow, quick] : [quick, slow]
      other.delete(accountId)
      kind.delete(accountId)
      kind.add(accountId)
      dropOldest(kind)
    },
    all: () => [...troubles.keys()],
    resting() {
      const at = now()
      return [...troubles].filter(([, { restsUntil }]) => restsUntil > at).map(([accountId]) => accountId)
    },
    isQuick: (accountId) => quick.has(accountId),
    doubtful() {
      const untried = [...underWay.keys()].filter((accountId) => !quick.has(accountId))
      return [...new Set([...troubles.keys(), ...slow, ...untried])]
    },
  }
}

function dropOldest(memory: { readonly size: number; keys(): Iterable<string>; delete(key: string): boolean }): void {
  const [oldest] = memory.keys()
  if (memory.size > most && oldest !== undefined) memory.delete(oldest)
}
