import { setTimeout as sleep } from 'node:timers/promises'
import type { Contender } from './contest.ts'
import type { Database } from './database.ts'
import { measure, usageHere } from './measurement.ts'

/** A worker that fetches jobs from a backlog and handles each for the time of its latency. */
export interface DispatchWorker {
  readonly name: string
  readonly database: Database
  /** Empties the tables and fills the backlog with a job per latency, in this order. */
  fill(latenciesMs: readonly number[]): Promise<void>
  /** Starts working; calls `handle` once for each job it fetches. */
  start(handle: (job: number) => Promise<void>): Promise<void>
  /** Stops after the jobs in flight have ended. */
  stop(): Promise<void>
  /** The number of done jobs, and of those begun more than once, according to the database. */
  countDone(): Promise<{ readonly done: number; readonly repeated: number }>
  close(): Promise<void>
}

/** Warm-up time of a contender, in seconds. */
const rampSeconds = 4

/** How long the backlog must last beyond the measured time, in seconds. */
const reserveSeconds = 3

/** Makes a contender of a worker. `draw` gives the latencies of so many jobs; `perSecond` is the most that can be done. */
export function dispatchContender(
  worker: DispatchWorker,
  draw: (count: number) => readonly number[],
  perSecond: number,
): Contender {
  return {
    name: worker.name,
    async round(seconds) {
      const { database } = worker
      const latenciesMs = draw(Math.ceil(perSecond * (rampSeconds + seconds + reserveSeconds)))
      await worker.fill(latenciesMs)
      await database.admin.query('vacuum analyze')
      const begun = new Set<number>()
      const handled = new Set<number>()
      await worker.start(async (job) => {
        const latencyMs = latenciesMs[job]
        if (latencyMs === undefined || begun.has(job)) throw new Error(`${worker.name}: job ${job} is not to be done.`)
        begun.add(job)
        await sleep(latencyMs)
        handled.add(job)
      })
      await sleep(rampSeconds * 1000)
      const measurement = await measure(database.admin, usageHere(database.statements), async () => {
        const before = handled.size
        await sleep(seconds * 1000)
        return { operations: handled.size - before, latenciesMs: null }
      })
      const ranDry = handled.size > latenciesMs.length - 200
      await worker.stop()
      await prove(worker, handled.size, ranDry)
      return measurement
    },
  }
}

async function prove(worker: DispatchWorker, handled: number, ranDry: boolean): Promise<void> {
  if (ranDry) throw new Error(`${worker.name}: the backlog ran dry.`)
  const { done, repeated } = await worker.countDone()
  if (done !== handled || repeated !== 0) {
    throw new Error(`${worker.name}: ${handled} were handled, ${done} are done, ${repeated} were begun more than once.`)
  }
}
