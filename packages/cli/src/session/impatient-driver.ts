import { type Driver, pgDriver } from '@outlay/adapters-pg'
import type pg from 'pg'

/** Longest wait of a command for one lock: whoever stops payments must not wait in silence behind another session. */
export const lockTimeout = '5s'

const begin = `begin; set local lock_timeout = '${lockTimeout}'`

/** A driver whose statements, in a transaction or not, fail with `55P03` when they do not get a lock in time. */
export function impatientDriver(pool: pg.Pool): Driver<pg.PoolClient> {
  // Unnamed statements work behind every pooler, and a command runs each of its statements once.
  const driver = pgDriver(pool, { prepared: false })
  // A limit of the session would stay on the server's connection behind a pooler, so each statement is in a transaction. A client whose
  // statement failed is closed, and its transaction with it.
  const run: Driver<pg.PoolClient>['run'] = (text, values) =>
    driver.session(async (session) => {
      await session.query(begin)
      const result = await session.query(text, values === undefined ? undefined : [...values])
      await session.query('commit')
      return (Array.isArray(result) ? result.at(-1) : result) ?? { rows: [] }
    })
  return {
    ...driver,
    run,
    async query({ text }, values, onSent) {
      onSent?.()
      return (await run(text, values)).rows
    },
    session: (work) =>
      driver.session(async (session) => {
        await session.query(`set lock_timeout = '${lockTimeout}'`)
        const result = await work(session)
        await session.query('reset lock_timeout')
        return result
      }),
    transaction: (work, options) =>
      driver.transaction(async (tx) => {
        await tx.query(`set local lock_timeout = '${lockTimeout}'`)
        return work(tx)
      }, options),
  }
}
