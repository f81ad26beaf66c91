/**
 * Where the next job of each account goes in the order of dispatch, as far as this process knows.
 *
 * Jobs are fetched by tag, smallest first. An account's tags count up from the virtual time, which is the greatest tag fetched
 * so far: one by one, or by the inverse of its weight, rounded up to whole tags. So the first job of an account that was idle
 * goes beside the next job of an account with a hundred thousand waiting, not behind all of them. Nothing is locked for it:
 * two processes that enqueue for one account count apart, which gives that account two shares while both have jobs waiting.
 */
export interface AccountTags {
  /** Reserves the next tag of an account. */
  reserve(accountId: string): TagReservation
  /** Reserves one tag per entry; equal accounts count up. */
  reserveMany(accountIds: readonly string[]): TagReservations
}

/** A reserved tag. */
export interface TagReservation {
  /** The whole tag that it follows. */
  readonly base: number
  /** Records the tag that the job got. */
  advance(tag: number): void
  /** Takes it back: no job was written. */
  giveBack(): void
}

/** Reserved tags of one call. */
export interface TagReservations {
  readonly bases: readonly number[]
  /** How far each tag is beyond its base. */
  readonly offsets: readonly number[]
  /** Records the virtual time that the tags were counted from at least. */
  advance(clock: number): void
  /** Takes the places of as many jobs back: they were not written. */
  giveBack(accountIds: readonly string[]): void
  /** Takes all of them back. */
  giveBackAll(): void
}

/** Where an account is. A jump of the virtual time makes another one, so that places before it cannot be given back. */
interface Place {
  position: number
}

/** What a call reserved of one account. */
interface Share {
  place: Place
  readonly step: number
  /** How far its tags reach beyond their base. */
  span: number
  /** Jobs whose places were not given back. */
  count: number
}

/** Most accounts that are remembered; beyond, the ones with the oldest enqueue start again from the virtual time. */
const maxAccounts = 10_000

/** The largest base and offset; the sum fits into an integer of Postgres. */
const maxBase = 2_000_000_000
const maxOffset = 100_000_000

/** A base that is so far ahead of the virtual time is not used: it was reserved before that time was set back. */
const maxLead = 1_000_000_000

/** Rounds up to a whole tag, apart from the rounding error of many thirds. */
const wholeTag = (position: number): number => Math.ceil(position - 1e-6)

/** Counts what a call reserves of each account, and how far each tag is beyond its base. */
function countShares(
  accountIds: readonly string[],
  find: (accountId: string) => Place,
  stepOf: (accountId: string) => number,
) {
  const shares = new Map<string, Share>()
  const offsets = accountIds.map((accountId) => {
    let share = shares.get(accountId)
    if (share === undefined) {
      const place = find(accountId)
      share = { place, step: stepOf(accountId), span: place.position - Math.floor(place.position), count: 0 }
      shares.set(accountId, share)
    }
    share.span += share.step
    share.count += 1
    return Math.min(maxOffset, wholeTag(share.span))
  })
  return { shares, offsets }
}

/** Makes the tags of one process. */
export function createAccountTags(weightOf: (accountId: string) => number): AccountTags {
  const places = new Map<string, Place>()
  const keep = (accountId: string, place: Place) => {
    places.delete(accountId)
    places.set(accountId, place)
    if (places.size > maxAccounts) {
      for (const oldest of places.keys()) {
        places.delete(oldest)
        break
      }
    }
    return place
  }
  const find = (accountId: string) => keep(accountId, places.get(accountId) ?? { position: 0 })
  const positionOf = (accountId: string) => places.get(accountId)?.position ?? 0
  const reserveMany: AccountTags['reserveMany'] = (accountIds) => {
    const { shares, offsets } = countShares(accountIds, find, (accountId) => 1 / weightOf(accountId))
    const baseOf = new Map([...shares].map(([accountId, { place }]) => [accountId, Math.floor(place.position)]))
    for (const { place, step, count } of shares.values()) place.position += count * step
    const giveBack = (share: Share, count: number) => {
      share.count -= count
      share.span -= count * share.step
      share.place.position = Math.max(0, share.place.position - count * share.step)
    }
    return {
      bases: accountIds.map((accountId) => Math.min(maxBase, baseOf.get(accountId) ?? 0)),
      offsets,
      advance(clock) {
        for (const [accountId, share] of shares) {
          const isUnused = (baseOf.get(accountId) ?? 0) - clock >= maxLead && share.place === places.get(accountId)
          if (clock + share.span > positionOf(accountId) || isUnused)
            share.place = keep(accountId, { position: clock + share.span })
        }
      },
      giveBack(accounts) {
        for (const accountId of accounts) {
          const share = shares.get(accountId)
          if (share !== undefined) giveBack(share, 1)
        }
      },
      giveBackAll() {
        for (const share of shares.values()) giveBack(share, share.count)
      },
    }
  }
  return {
    reserve(accountId) {
      const place = find(accountId)
      const step = 1 / weightOf(accountId)
      place.position += step
      const base = wholeTag(place.position) - 1
      return {
        base: Math.min(maxBase, base),
        advance(tag) {
          // A tag beyond the one that was reserved follows the virtual time, which has moved past the account; one before it, too.
          const isUnused = tag <= base && place === places.get(accountId)
          if (tag > wholeTag(positionOf(accountId)) || isUnused) keep(accountId, { position: tag - 1 + step })
        },
        giveBack() {
          place.position = Math.max(0, place.position - step)
        },
      }
    },
    reserveMany,
  }
}
