/**
 * Where the next job of each account goes in the order of dispatch, as far as this process knows.
 *
 * Jobs are fetched by tag, smallest first. An account's tags count up one by one from the virtual time, which is the
 * greatest tag fetched so far. So the first job of an account that was idle goes beside the next job of an account with a
 * hundred thousand waiting, not behind all of them. Nothing is locked for it: two processes that enqueue for one account
 * count apart, which gives that account two shares while both have jobs waiting.
 */
export interface AccountTags {
  /** Reserves `count` tags; returns the tag that they follow. */
  take(accountId: string, count: number): number
  /** Reserves one tag per entry; equal accounts count up. */
  takeMany(accountIds: readonly string[]): {
    readonly bases: readonly number[]
    readonly offsets: readonly number[]
    readonly counts: ReadonlyMap<string, number>
  }
  /** Notes the tag that the account's last job was given. */
  advance(accountId: string, tag: number): void
}

/** Accounts remembered at most; beyond, the ones enqueued for longest ago start again from the virtual time. */
const maxAccounts = 10_000

/** Makes the tags of one process. */
export function createAccountTags(): AccountTags {
  const last = new Map<string, number>()
  const set = (accountId: string, tag: number) => {
    last.delete(accountId)
    last.set(accountId, tag)
    if (last.size > maxAccounts) {
      for (const oldest of last.keys()) {
        last.delete(oldest)
        break
      }
    }
  }
  const take = (accountId: string, count: number): number => {
    const base = last.get(accountId) ?? 0
    set(accountId, base + count)
    return base
  }
  return {
    take,
    takeMany(accountIds) {
      const counts = new Map<string, number>()
      const offsets = accountIds.map((accountId) => {
        const offset = (counts.get(accountId) ?? 0) + 1
        counts.set(accountId, offset)
        return offset
      })
      const bases = new Map([...counts].map(([accountId, count]) => [accountId, take(accountId, count)]))
      return { bases: accountIds.map((accountId) => bases.get(accountId) ?? 0), offsets, counts }
    },
    advance(accountId, tag) {
      if (tag > (last.get(accountId) ?? 0)) set(accountId, tag)
    },
  }
}
