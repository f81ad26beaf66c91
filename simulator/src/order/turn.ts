import type { Happening } from './course.ts'
import { createLine, type Line, type Patience } from './line.ts'

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

/** The places of an earlier order: which are spoken for, and what is left of them. */
function createPlaces(earlier: readonly Happening[], line: Line) {
  const taken = new Set<number>()
  /** What polls are about of which a part has been found. */
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
    return seek('end', actor, what, begin + 1, (place) => String(earlier[place]?.payouts) === String(payouts))
  }
  return {
    earlier,
    line,
    aboutAt,
    endOf,
    /** The first place of something that is not spoken for; below zero when there is none. */
    first: (phase: Happening['phase'], actor: string, what: string, fits: (place: number) => boolean = () => true) =>
      seek(phase, actor, what, line.first(), fits),
    runStep(places: readonly number[]) {
      for (const place of places) taken.add(place)
      return () => {
        for (const place of places) taken.delete(place)
      }
    },
    /** Removes what has been found; true when nothing is left. */
    shorten(place: number, found: readonly number[]): boolean {
      const left = aboutAt(place).filter((payout) => !found.includes(payout))
      parts.set(place, left)
      return left.length === 0
    },
    async finish(begin: number, end: number, note: () => void) {
      line.keep(begin)
      if (end >= 0) await line.reach(end)
      note()
      if (end >= 0) line.keep(end)
    },
  }
}

type Places = ReturnType<typeof createPlaces>

function findTurn(places: Places, actor: string, what: string, about: readonly number[]): Turn {
  const { line, aboutAt } = places
  if (line.isOver()) return noTurn
  // What it is about may become known later than the first time.
  const begin = places.first('begin', actor, what, (place) => {
    const payouts = aboutAt(place)
    return about.length === 0 || payouts.length === 0 || about.some((payout) => payouts.includes(payout))
  })
  if (begin < 0) return noTurn
  const end = places.endOf(begin)
  places.runStep([begin, end])
  return {
    async begin(note) {
      await line.reach(begin)
      note()
      if (end >= 0) line.underWay.add(end)
      line.keep(begin)
      return true
    },
    end: (_, note) => places.finish(begin, end, note),
    giveBack: () => undefined,
  }
}

/** What polls have found too early they find no more. */
function forestall(places: Places, actor: string, what: string, early: readonly number[]): void {
  if (early.length === 0) return
  const place = places.first('begin', actor, what, (at) => early.some((payout) => places.aboutAt(at).includes(payout)))
  if (place < 0) return
  const later = early.filter((payout) => !places.aboutAt(place).includes(payout))
  const end = places.endOf(place)
  if (places.shorten(place, early)) for (const at of [place, end]) places.line.keep(at)
  forestall(places, actor, what, later)
}

function findPollTurn(places: Places, actor: string, what: string): Turn {
  const { earlier, line } = places
  if (line.isOver()) return noTurn
  const begin = places.first('begin', actor, what)
  const strike = earlier.findIndex(
    (one, place) => one.phase === 'strike' && one.actor === actor && one.what.includes(what) && !line.done.has(place),
  )
  // One whose turn never comes would find what others are to find. Where a fault hits it, it does not end.
  if (begin < 0 || (strike >= 0 && strike < begin)) {
    const place = strike < 0 ? earlier.length : strike
    return { ...noTurn, begin: async (note) => (await line.reach(place, pollMs)) && noTurn.begin(note) }
  }
  const end = places.endOf(begin)
  const giveBack = places.runStep([begin, end])
  return {
    async begin(note) {
      const reached = await line.reach(begin, pollMs)
      if (reached) note()
      else giveBack()
      return reached
    },
    async end(found, note) {
      const wanted = places.aboutAt(begin)
      const early = found.filter((payout) => !wanted.includes(payout))
      forestall(places, actor, what, early)
      if (wanted.every((payout) => found.includes(payout))) return places.finish(begin, end, note)
      // Nothing goes on until the others are found too.
      places.shorten(begin, found)
      giveBack()
      note()
    },
    giveBack,
  }
}

/** Enforces an order. */
export function createTurns(earlier: readonly Happening[], patience: Patience) {
  const line = createLine(earlier, patience)
  const places = createPlaces(earlier, line)
  return {
    counts: line.counts,
    stop: line.end,
    find: (actor: string, what: string, about: readonly number[]) => findTurn(places, actor, what, about),
    findPoll: (actor: string, what: string) => findPollTurn(places, actor, what),
    /** Whether it is the turn of something that befalls an actor. */
    strikes(actor: string, what: string): boolean {
      const place = places.first('strike', actor, what)
      if (place < 0 || line.first() < place) return false
      line.keep(place)
      return true
    },
  }
}
