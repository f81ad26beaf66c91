import type { Contender } from './contest.ts'
import type { Database } from './database.ts'
import { measure, usageHere } from './measurement.ts'

/** A worker that works a backlog off as fast as it can. */
export interface Drainer {
  readonly name: string
  readonly database: Database
  /** Empties the tables and fills the backlog. */
  fill(count: number): Promise<void>
  /** Works until nothing is left; returns how many different jobs it handled. */
  drain(): Promise<number>
  /** The number done once each, according to the database. */
  countDone(): Promise<number>
  close(): Promise<void>
}

/** How a drainer works: loops side by side, each of which claims a batch, handles it, and claims the next. */
export interface DrainShape {
  readonly loops: number
  readonly batch: number
}

/** The length of a turn that only warms up, in seconds. */
export const drainWarmUpSeconds = 0.1

/** Makes a contender of a drainer. A turn is one backlog, however long it takes; the warm-up is a tenth of it. */
export function drainContender(drainer: Drainer, size: number): Contender {
  const { name, database } = drainer
  return {
    name,
    async round(seconds) {
      const count = seconds === drainWarmUpSeconds ? Math.ceil(size / 10) : size
      await drainer.fill(count)
      await database.admin.query('vacuum analyze')
      const measurement = await measure(database.admin, usageHere(database.statements), async () => ({
        operations: await drainer.drain(),
        latenciesMs: null,
      }))
      const done = await drainer.countDone()
      if (done !== count || measurement.operations !== count) {
        throw new Error(`${name}: of ${count} jobs ${measurement.operations} were handled and ${done} are done.`)
      }
      return measurement
    },
  }
}
