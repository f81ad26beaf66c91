import type { Course, Happening, Kept } from './course.ts'
import { createGate, type Gate } from './gate.ts'
import type { Patience } from './line.ts'
import { createTurns } from './turn.ts'

/** The order of what happens in a run: recorded, or enforced as it was recorded. */
export interface Order {
  /** Lets something happen in its turn. */
  pass<T>(actor: string, what: string, about: readonly number[], run: () => Promise<T>): Promise<T>
  /**
   * Lets a poll happen in its turn. Only its answer shows what it is about, and one that finds nothing does not count. Until its
   * turn comes it finds `nothing`.
   */
  poll<T>(
    actor: string,
    what: string,
    run: () => Promise<T>,
    found: (answer: T) => readonly number[],
    nothing: T,
  ): Promise<T>
  /** Whether a fault hits an actor now, between what others do: on its own, or as recorded. */
  strikes(actor: string, what: string, byItself: () => boolean): boolean
  /** Whether a fault hits something that has a name: on its own, or as recorded. The n-th question with a name is its own. */
  befalls(name: string, byItself: () => boolean): boolean
  readonly gate: Gate
  /** Records and enforces nothing any more. */
  stop(): void
  readonly course: Course
  readonly enforced: Kept
}

/** Patience of a replay: a busy machine is slow. */
const replaying: Patience = { ms: 5_000, endMs: 10_000, shortMs: 200, misses: 12 }

/** Records the order of a run, and holds it to an earlier one where there is such. */
export function createOrder(earlier?: Course, patience: Patience = replaying): Order {
  const record = createRecord()
  const turns = createTurns(earlier?.happened ?? [], patience)
  const expected = earlier && new Set(earlier.befell)
  const asked = new Map<string, number>()
  let isOver = false
  return {
    gate: createGate(),
    course: record.course,
    get enforced() {
      return turns.counts
    },
    stop() {
      isOver = true
      record.stop()
      turns.stop()
    },
    async pass(actor, what, about, run) {
      if (isOver) return run()
      const turn = turns.find(actor, what, about)
      const noting = record.of(actor, what)
      await turn.begin(() => noting.begin(about))
      try {
        return await run()
      } finally {
        await turn.end(about, () => noting.end(about))
      }
    },
    async poll(actor, what, run, found, nothing) {
      if (isOver) return run()
      const turn = turns.findPoll(actor, what)
      const noting = record.of(actor, what)
      if (!(await turn.begin(() => noting.begin([])))) return isOver ? run() : nothing
      try {
        const answer = await run()
        const payouts = found(answer)
        if (payouts.length === 0) {
          turn.giveBack()
          noting.forget()
        } else {
          await turn.end(payouts, () => noting.end(payouts))
        }
        return answer
      } catch (error) {
        turn.giveBack()
        noting.forget()
        throw error
      }
    },
    strikes(actor, what, byItself) {
      if (isOver) return byItself()
      const does = expected === undefined ? byItself() : turns.strikes(actor, what)
      if (does) record.add({ actor, what, phase: 'strike', payouts: [] })
      return does
    },
    befalls(name, byItself) {
      if (isOver) return byItself()
      const nth = (asked.get(name) ?? 0) + 1
      asked.set(name, nth)
      const full = `${name}, time ${nth}`
      const does = expected === undefined ? byItself() : expected.has(full)
      if (does) record.befell(full)
      return does
    },
  }
}

/** What has happened so far. */
function createRecord() {
  const happened: Happening[] = []
  const befell: string[] = []
  let isOver = false
  return {
    course: { happened, befell },
    befell: (name: string) => void befell.push(name),
    add: (one: Happening) => void happened.push(one),
    of(actor: string, what: string) {
      const begun = { actor, what, phase: 'begin' as const, payouts: [] as readonly number[] }
      return {
        begin(payouts: readonly number[]) {
          begun.payouts = payouts
          if (!isOver) happened.push(begun)
        },
        forget() {
          const index = happened.indexOf(begun)
          if (index >= 0) happened.splice(index, 1)
        },
        end(payouts: readonly number[]) {
          begun.payouts = payouts
          if (!isOver) happened.push({ actor, what, phase: 'end', payouts })
        },
      }
    },
    stop() {
      isOver = true
    },
  }
}
