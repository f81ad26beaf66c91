import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import type { Pool, PoolClient } from 'pg'

/** A pool whose statements start one at a time, in the order that a scheduler chooses among those that wait. */
export interface GatedPool {
  readonly pool: Pool
  /** Runs `work` under a scheduler; without one, statements start at once. */
  under<T>(scheduler: fc.Scheduler, work: () => Promise<T>): Promise<T>
}

/**
 * Puts a gate before every statement. Statements that wait for a lock do not keep others from starting, so transactions
 * interleave in ways that timing alone rarely finds.
 */
export function gatedPool(pool: Pool): GatedPool {
  let scheduler: fc.Scheduler | undefined
  const pass = async (): Promise<void> => {
    await scheduler?.schedule(Promise.resolve(), 'a statement')
  }
  const gated = <T extends Pool | PoolClient>(target: T, more: Partial<T> = {}): T =>
    new Proxy(target, {
      get(_, name) {
        if (name in more) return more[name as keyof T]
        const member = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        if (name !== 'query') return member.bind(target)
        return async (...values: unknown[]) => {
          await pass()
          return member.apply(target, values)
        }
      },
    })
  const connect = async () => gated(await pool.connect())
  return {
    pool: gated(pool, { connect } as Partial<Pool>),
    async under(given, work) {
      scheduler = given
      try {
        return await given.waitFor(work())
      } finally {
        scheduler = undefined
      }
    },
  }
}

/** Schedulers that give statements a moment to arrive before one of those that wait is let through. */
export function statementSchedulers(): fc.Arbitrary<fc.Scheduler> {
  return fc.scheduler({
    act: async (release) => {
      await delay(1)
      await release()
    },
  })
}
