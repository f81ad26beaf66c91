import type { Driver } from '@outlay/adapters-pg'
import { moveMoments } from '../plan/moves.ts'
import type { Moment } from '../plan/plan.ts'

/** What befalls a worker at a moment. */
export interface FaultSchedule {
  /** Comes to a moment with a subject, and may end there. Rejects when the connection is lost or the worker dies. */
  reach(at: Moment['at'], phase: Moment['phase'], subject?: unknown): Promise<void>
  /** Lets something befall the worker at a moment from now on. */
  plan(moment: Moment, what: 'kill' | 'lose_connection'): void
  /** Cancels planned faults that have not occurred. */
  forgive(): void
  /** Stops the worker as SIGKILL does: none of its statements has an effect from now on. */
  kill(): void
  readonly isDead: boolean
  /** What befell it so far. */
  readonly befell: readonly string[]
}

/** Decides whether what is planned for a moment befalls a subject that has come to it. */
export type Decide = (at: Moment['at'], what: string, subject: unknown, byItself: () => boolean) => boolean

/** Makes the fate of a worker; `onDeath` severs its connections. */
export function createFaultSchedule(
  onDeath: () => void,
  decide: Decide = (_at, _what, _subject, byItself) => byItself(),
): FaultSchedule {
  const planned: { readonly moment: Moment; readonly what: 'kill' | 'lose_connection'; left: number }[] = []
  const befell: string[] = []
  let isDead = false
  const kill = () => {
    if (isDead) return
    isDead = true
    onDeath()
  }
  return {
    get isDead() {
      return isDead
    },
    befell,
    kill,
    forgive: () => void planned.splice(0),
    plan: (moment, what) => planned.push({ moment, what, left: moment.nth }),
    async reach(at, phase, subject) {
      if (isDead) throw new Error('The worker is dead.')
      for (const [index, one] of planned.entries()) {
        if (one.moment.at !== at || one.moment.phase !== phase) continue
        const isDue = () => {
          one.left -= 1
          return one.left <= 0
        }
        const what = `${one.what} ${phase} ${at}`
        if (!decide(at, what, subject, isDue)) continue
        planned.splice(index, 1)
        befell.push(what)
        if (one.what === 'kill') kill()
        throw new Error(isDead ? 'The worker is dead.' : 'The connection was lost.')
      }
    },
  }
}

/** Lets a statement run in its turn. */
export type QueueUp = (
  statement: Statement,
  values: readonly unknown[],
  run: () => Promise<readonly Row[]>,
) => Promise<readonly Row[]>

type Statement = Parameters<Driver<unknown>['query']>[0]
type Row = Awaited<ReturnType<Driver<unknown>['query']>>[number]

/**
 * A driver whose worker can die or lose its connection before and after each statement. To a dead one every statement
 * answers with nothing, so that its loops come to an end without an effect.
 */
export function mortalDriver<Tx>(
  driver: Driver<Tx>,
  faultSchedule: FaultSchedule,
  queueUp: QueueUp = (_statement, _values, run) => run(),
): Driver<Tx> {
  const passing = async <T>(at: Moment['at'] | undefined, run: () => Promise<T>, subject?: unknown): Promise<T> => {
    if (at === undefined) return run()
    await faultSchedule.reach(at, 'before', subject)
    const answer = await run()
    await faultSchedule.reach(at, 'after', at === 'fetch' ? answer : subject)
    return answer
  }
  const orNothing = async <T>(nothing: T, run: () => Promise<T>): Promise<T> => {
    if (faultSchedule.isDead) return nothing
    try {
      return await run()
    } catch (error) {
      if (faultSchedule.isDead) return nothing
      throw error
    }
  }
  const { listen } = driver
  return {
    ...driver,
    execute: (tx, statement, values) =>
      queueUp(statement, values, () =>
        passing(momentOf(statement.name), () => driver.execute(tx, statement, values), values),
      ),
    transaction: (work) => passing('transaction', () => driver.transaction(work)),
    query: (statement, values, onSent) =>
      orNothing([], () =>
        queueUp(statement, values, () =>
          passing(momentOf(statement.name), () => driver.query(statement, values, onSent), values),
        ),
      ),
    run: (text, values) => orNothing({ rows: [] }, () => driver.run(text, values)),
    ...(listen === undefined
      ? {}
      : {
          listen: (options) =>
            faultSchedule.isDead ? Promise.reject(new Error('The worker is dead.')) : listen(options),
        }),
  }
}

const statementMoments = ['fetch', 'claim', 'settle', 'lease_due', 'next', 'acknowledge', ...moveMoments] as const

/** The moment that a statement is, by the end of its name. */
function momentOf(name: string): Moment['at'] | undefined {
  return statementMoments.find((moment) => name.endsWith(`_${moment}`))
}
