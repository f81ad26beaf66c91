import type { QueueUp } from './mortal-driver.ts'
import type { Surroundings } from './worker.ts'

/** Statements that decide who sends what, with whether only their answers tell what they are about. */
const ordered: readonly (readonly [ending: string, polls: boolean])[] = [
  ['_fetch', true],
  ['_take', false],
  ['_settle', false],
]

/** Lets the statements and requests of a worker happen in the order of the run. */
export function inTurns({ order, numbers }: Pick<Surroundings, 'order' | 'numbers'>, actor: string) {
  const about = (what: unknown): readonly number[] => {
    const ids = JSON.stringify(what).match(/[0-7][0-9A-HJKMNP-TV-Z]{25}/g) ?? []
    return [...new Set(ids.flatMap((id) => numbers.get(id) ?? []))].sort((a, b) => a - b)
  }
  const statement: QueueUp = (statement, values, run) => {
    const found = ordered.find(([ending]) => statement.name.endsWith(ending))
    if (found === undefined) return run()
    const [ending, polls] = found
    return polls ? order.pass(actor, ending, null, run, about) : order.pass(actor, ending, about(values), run)
  }
  return {
    statement,
    submission: <T>(transferId: string, run: () => Promise<T>) => order.pass(actor, 'submit', about([transferId]), run),
  }
}
