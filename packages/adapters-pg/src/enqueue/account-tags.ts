/**
 * Where the next job of each account goes in the order of dispatch, as far as this process knows.
 *
 * Jobs are fetched by tag, smallest first. An account's tags count up from the virtual time, which is the greatest tag fetched
 * so far: one by one, or by the inverse of its weight, rounded up to whole tags. So the first job of an account that was idle
 * goes beside the next job of an account with a hundred thousand waiting, not behind all of them. Nothing is locked for it:
 * two processes that enqueue for one account count apart, which gives that account two shares while both have jobs waiting.
 */
export interface AccountTags {
  /** Reserves the next tag of an account; returns the whole tag that it follows. */
  reserve(accountId: string): number
  /** Reserves one tag per entry; equal accounts count up. */
  reserveMany(accountIds: readonly string[]): {
    readonly bases: readonly number[]
    readonly offsets: readonly number[]
    /** How far the tags of each account reach beyond their base. */
    readonly spans: ReadonlyMap<string, number>
  }
  /** Records the tag of the account's last job. */
  advance(accountId: string, tag: number): void
  /** Records the virtual time that the tags of {@link reserveMany} were counted from at least. */
  advanceMany(spans: ReadonlyMap<string, number>, clock: number): void
}

/** Most accounts that are remembered; beyond, the ones with the oldest enqueue start again from the virtual time. */
const maxAccounts = 10_000

/** Rounds up to a whole tag, apart from the rounding error of many thirds. */
const wholeTag = (position: number): number => Math.ceil(position - 1e-6)

/** Makes the tags of one process. */
export function createAccountTags(weightOf: (accountId: string) => number): AccountTags {
  const last = new Map<string, number>()
  const set = (accountId: string, position: number) => {
    last.delete(accountId)
    last.set(accountId, position)
    if (last.size > maxAccounts) {
      for (const oldest of last.keys()) {
        last.delete(oldest)
        break
      }
    }
  }
  const advanceTo = (accountId: string, position: number) => {
    if (position > (last.get(accountId) ?? 0)) set(accountId, position)
  }
  const stepOf = (accountId: string) => 1 / weightOf(accountId)
  return {
    reserve(accountId) {
      const position = (last.get(accountId) ?? 0) + stepOf(accountId)
      set(accountId, position)
      return wholeTag(position) - 1
    },
    reserveMany(accountIds) {
      const starts = new Map<string, number>()
      const spans = new Map<string, number>()
      const offsets = accountIds.map((accountId) => {
        const start = starts.get(accountId) ?? last.get(accountId) ?? 0
        starts.set(accountId, start)
        const span = (spans.get(accountId) ?? start - Math.floor(start)) + stepOf(accountId)
        spans.set(accountId, span)
        return wholeTag(span)
      })
      const baseOf = (accountId: string) => Math.floor(starts.get(accountId) ?? 0)
      for (const [accountId, span] of spans) set(accountId, baseOf(accountId) + span)
      return { bases: accountIds.map(baseOf), offsets, spans }
    },
    advance(accountId, tag) {
      // A tag beyond the one that was reserved follows the virtual time, which has moved past the account.
      if (tag > wholeTag(last.get(accountId) ?? 0)) set(accountId, tag - 1 + stepOf(accountId))
    },
    advanceMany(spans, clock) {
      for (const [accountId, span] of spans) advanceTo(accountId, clock + span)
    },
  }
}
