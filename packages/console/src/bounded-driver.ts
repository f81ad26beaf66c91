import { createHash } from 'node:crypto'
import type { Driver } from '@outlay/adapters-pg'

/** Longest wait of one statement for a lock, in milliseconds: whoever stops a payment must not wait in silence behind another session. */
const longestLockMs = 5_000

const limits = (timeoutMs: number) => {
  const lockMs = Math.min(longestLockMs, Math.ceil(timeoutMs / 3))
  const statementMs = Math.ceil(timeoutMs)
  return [
    { name: `outlay_console_lock_timeout_${lockMs}`, text: `set local lock_timeout = ${lockMs}` },
    { name: `outlay_console_statement_timeout_${statementMs}`, text: `set local statement_timeout = ${statementMs}` },
  ]
}

/**
 * The same driver with a limit of time for each statement. A limit of the session would stay on the server's connection behind a pooler, so
 * each statement is in a transaction. A lock is waited for a third of that, and five seconds at most.
 */
export function boundedDriver<Tx>(driver: Driver<Tx>, timeoutMs: number): Driver<Tx> {
  const statements = limits(timeoutMs)
  const transaction: Driver<Tx>['transaction'] = (work, options) =>
    driver.transaction(async (tx) => {
      for (const one of statements) await driver.execute(tx, one, [])
      return work(tx)
    }, options)
  const run: Driver<Tx>['run'] = async (text, values = []) => {
    // One name for one text, since the server keeps it.
    const name = `outlay_console_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
    return { rows: [...(await transaction((tx) => driver.execute(tx, { name, text }, values)))] }
  }
  return {
    ...driver,
    transaction,
    run,
    query: (statement, values, onSent) =>
      transaction((tx) => {
        onSent?.()
        return driver.execute(tx, statement, values)
      }),
  }
}
