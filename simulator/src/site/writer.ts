import { spawnNode } from '@outlay/testing'
import { type Settings, toEnvironment, type WriterSettings } from './settings.ts'
import { keepStanding, type StandingProgram } from './standing-program.ts'

/** What a writer reports from time to time: numbers of payouts, by what it knows of their transactions. */
export interface WriterReport {
  /** The commit was answered. */
  readonly promised: readonly number[]
  /** Rolled back, or broken before the commit was sent. */
  readonly withdrawn: readonly number[]
  /** The commit was sent, and no answer came. */
  readonly unknown: readonly number[]
  /** How long each transaction took that committed, in milliseconds. */
  readonly tookMs: readonly number[]
}

/** All reports of the writers, in one place. */
export interface Promises {
  readonly promised: Set<number>
  readonly withdrawn: Set<number>
  readonly unknown: Set<number>
  /** How long transactions took, in milliseconds; the reader removes them. */
  readonly tookMs: number[]
}

/** How a writer is started. */
export interface WriterOptions extends Settings {
  readonly index: number
  readonly seed: number
  /** Transactions in a second. */
  readonly rate: number
  /** Also rolls back, writes many at once, and loses its connection at the commit. */
  readonly isWild: boolean
  readonly promises: Promises
  readonly onCollapse: (what: string) => void
}

/** Payouts of one life of one writer. */
const numbersPerLife = 1_000_000

/** Writers times lives whose payouts have numbers of their own. */
const livesPerWriter = 200

/** Starts a writer process. */
export function startWriter(options: WriterOptions): Promise<StandingProgram> {
  const { index, seed, rate, isWild, databaseUrl, customers, promises, onCollapse } = options
  let lives = 0
  const name = `writer-${index}`
  const url = new URL(databaseUrl)
  url.searchParams.set('application_name', name)
  return keepStanding({
    name,
    start: () => {
      const first = (index * livesPerWriter + lives) * numbersPerLife
      lives += 1
      const settings: WriterSettings = { databaseUrl: url.toString(), customers, seed, first, rate, isWild }
      return spawnNode(new URL('writer-main.ts', import.meta.url), {
        env: toEnvironment(settings),
        readyTimeoutMs: 60_000,
      })
    },
    onMessage: (message) => take(promises, message as WriterReport),
    onCollapse,
  })
}

function take(promises: Promises, report: WriterReport): void {
  for (const number of report.promised) promises.promised.add(number)
  for (const number of report.withdrawn) promises.withdrawn.add(number)
  for (const number of report.unknown) promises.unknown.add(number)
  promises.tookMs.push(...report.tookMs)
}
