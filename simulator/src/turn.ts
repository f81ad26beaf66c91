import { createLine, type Patience } from './line.ts'
import type { Happening } from './order.ts'

/** The turn of something in an earlier order. */
export interface Turn {
  /**
   * Resolves when it may happen, and notes that before anything else goes on; with false when its turn does not come soon, for
   * something that can come again.
   */
  begin(note: () => void): Promise<boolean>
  /** It has happened, and is about those. Notes its end in its turn. */
  end(payouts: readonly number[], note: () => void): Promise<void>
  /** It found nothing, and does not count. */
  giveBack(): void
}

const noTurn: Turn = {
  async begin(note) {
    note()
    return true
  },
  async end(_, note) {
    note()
  },
  giveBack: () => undefined,
}

/** How long a poll waits for its turn before it finds nothing, in milliseconds. */
const pollMs = 100

const covers = (payouts: readonly number[], found: readonly number[]) => payouts.every((one) => found.includes(one))

/** Enforces an order. */
export function createTurns(earlier: readonly Happening[], patience: Patience) {
  const line = createLine(earlier, patience)
  const taken = new Set<number>()
  /** What polls are about that came in several parts, or in parts too early. */
  const parts = new Map<number, readonly number[]>()
  const aboutAt = (place: number) => parts.get(place) ?? earlier[place]?.payouts ?? []
  const seek = (
    phase: Happening['phase'],
    actor: string,
    what: string,
    from: number,
    fits: (place: number) => boolean,
  ) =>
    earlier.findIndex((one, place) => {
      if (place < from || taken.has(place) || line.done.has(place) || one.phase !== phase) return false
      return one.actor === actor && one.what === what && fits(place)
    })
  const endOf = (begin: number) => {
    const { actor = '', what = '', payouts = [] } = earlier[begin] ?? {}
    const same = (place: number) => String(earlier[place]?.payouts) === String(payouts)
    return seek('end', actor, what, begin + 1, same)
  }
  const finish = async (begin: number, end: number, note: () => void) => {
    line.keep(begin)
    if (end >= 0) await line.reach(end)
    note()
    if (end >= 0) line.keep(end)
  }
  const find = (actor: string, what: string, about: readonly number[]): Turn => {
    if (line.isOver()) return noTurn
    // What it is about may become known later than the first time.
    const fits = (place: number) =>
      about.length === 0 || aboutAt(place).length === 0 || about.some((payout) => aboutAt(place).includes(payout))
    const begin = seek('begin', actor, what, line.first(), fits)
    if (begin < 0) return noTurn
    const end = endOf(begin)
    for (const place of [begin, end]) taken.add(place)
    return {
      async begin(note) {
        await line.reach(begin)
        note()
        if (end >= 0) line.underWay.add(end)
        line.keep(begin)
        return true
      },
      end: (_, note) => finish(begin, end, note),
      giveBack: () => undefined,
    }
  }
  /** What polls have found too early, they find no more. */
  const forestall = (actor: string, what: string, early: readonly number[]) => {
    if (early.length === 0) return
    const place = seek('begin', actor, what, line.first(), (at) => early.some((payout) => aboutAt(at).includes(payout)))
    if (place < 0) return
    const left = aboutAt(place).filter((payout) => !early.includes(payout))
    parts.set(place, left)
    if (left.length === 0) for (const at of [place, endOf(place)]) line.keep(at)
    forestall(
      actor,
      what,
      early.filter((payout) => !(earlier[place]?.payouts ?? []).includes(payout)),
    )
  }
  const findPoll = (actor: string, what: string): Turn => {
    if (line.isOver()) return noTurn
    const begin = seek('begin', actor, what, line.first(), () => true)
    const strike = earlier.findIndex(
      (one, place) => one.phase === 'strike' && one.actor === actor && one.what.includes(what) && !line.done.has(place),
    )
    // One whose turn never comes would take what others are to find. Where something befalls it, it does not end.
    if (begin < 0 || (strike >= 0 && strike < begin)) {
      const place = strike < 0 ? earlier.length : strike
      return { ...noTurn, begin: async (note) => (await line.reach(place, pollMs)) && noTurn.begin(note) }
    }
    const end = endOf(begin)
    for (const place of [begin, end]) taken.add(place)
    const giveBack = () => {
      for (const place of [begin, end]) taken.delete(place)
    }
    return {
      async begin(note) {
        const reached = await line.reach(begin, pollMs)
        if (reached) note()
        else giveBack()
        return reached
      },
      async end(found, note) {
        const wanted = aboutAt(begin)
        forestall(
          actor,
          what,
          found.filter((payout) => !wanted.includes(payout)),
        )
        if (covers(wanted, found)) return finish(begin, end, note)
        // Nothing goes on until the others are found too.
        parts.set(
          begin,
          wanted.filter((payout) => !found.includes(payout)),
        )
        giveBack()
        note()
      },
      giveBack,
    }
  }
  return {
    counts: line.counts,
    stop: line.end,
    find,
    findPoll,
    /** Whether it is the turn of something that befalls an actor. */
    strikes(actor: string, what: string): boolean {
      const place = seek('strike', actor, what, line.first(), () => true)
      if (place < 0 || line.first() < place) return false
      line.keep(place)
      return true
    },
  }
}
