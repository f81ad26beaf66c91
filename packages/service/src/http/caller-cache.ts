import type { Caller } from '../schema/caller.ts'

/** A caller with the accounts that this process knows to be the caller's. */
export interface CachedCaller {
  readonly caller: Caller
  readonly accountIds: Set<string>
}

/** Authenticated tokens, cached for a few seconds so that authentication needs no query. */
export interface CallerCache {
  get(tokenDigest: string): CachedCaller | undefined
  set(tokenDigest: string, caller: Caller): CachedCaller
  delete(tokenDigest: string): void
  /** Forgets everything about a client. */
  deleteClient(clientId: string): void
}

const mostEntries = 10_000

/**
 * Makes a {@link CallerCache} whose entries live for `lifetimeMs` of real time, independent of the service's clock. The reader
 * still compares the token's expiry with that clock.
 */
export function createCallerCache(lifetimeMs: number, realTimeMs: () => number = () => performance.now()): CallerCache {
  const entries = new Map<string, CachedCaller & { readonly untilMs: number }>()
  return {
    get(tokenDigest) {
      const entry = entries.get(tokenDigest)
      if (entry === undefined) return undefined
      if (entry.untilMs > realTimeMs()) return entry
      entries.delete(tokenDigest)
      return undefined
    },
    set(tokenDigest, caller) {
      if (entries.size >= mostEntries) entries.clear()
      const entry = { caller, accountIds: new Set<string>(), untilMs: realTimeMs() + lifetimeMs }
      entries.set(tokenDigest, entry)
      return entry
    },
    delete(tokenDigest) {
      entries.delete(tokenDigest)
    },
    deleteClient(clientId) {
      for (const [tokenDigest, entry] of entries) if (entry.caller.clientId === clientId) entries.delete(tokenDigest)
    },
  }
}
