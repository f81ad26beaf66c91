/** The routes that a process knows, of which it keeps a bounded number. */
export interface RouteCache {
  /** The node of an account, where it was read no longer than the longest age ago. */
  fresh(accountId: string): string | undefined
  /** The node of an account as it was last read, for as long as the directory does not answer. */
  any(accountId: string): string | undefined
  /** Begins a read. What it keeps is dropped where the account has changed meanwhile. */
  begin(accountId: string): RouteReading
  /** Drops the route of an account, and what a read under way will give; all of them where none is named. */
  forget(accountId?: string): void
}

/** One read of the directory. */
export interface RouteReading {
  /** True when the account has changed since the read began, so that its result may be old. */
  isStale(): boolean
  keep(node: string): void
  end(): void
}

/** Makes a cache of at most `size` routes. */
export function createRouteCache(options: {
  readonly size: number
  readonly maxAgeMs: number
  readonly realTimeMs: () => number
}): RouteCache {
  const routes = new Map<string, { readonly node: string; readonly readAtMs: number }>()
  const readings = new Map<string, Set<{ isStale: boolean }>>()
  const spoil = (accountId: string) => {
    for (const reading of readings.get(accountId) ?? []) reading.isStale = true
  }
  return {
    any: (accountId) => routes.get(accountId)?.node,
    fresh(accountId) {
      const known = routes.get(accountId)
      return known !== undefined && options.realTimeMs() - known.readAtMs < options.maxAgeMs ? known.node : undefined
    },
    begin(accountId) {
      const mine = { isStale: false }
      const all = readings.get(accountId) ?? new Set()
      readings.set(accountId, all.add(mine))
      const readAtMs = options.realTimeMs()
      return {
        isStale: () => mine.isStale,
        keep(node) {
          if (mine.isStale) return
          routes.delete(accountId)
          const [oldest] = routes.keys()
          if (routes.size >= options.size && oldest !== undefined) routes.delete(oldest)
          routes.set(accountId, { node, readAtMs })
        },
        end() {
          all.delete(mine)
          if (all.size === 0 && readings.get(accountId) === all) readings.delete(accountId)
        },
      }
    },
    forget(accountId) {
      if (accountId !== undefined) {
        routes.delete(accountId)
        spoil(accountId)
        return
      }
      routes.clear()
      for (const reading of readings.keys()) spoil(reading)
    },
  }
}
