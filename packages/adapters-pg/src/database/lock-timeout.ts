import { setTimeout } from 'node:timers/promises'
import type { Driver } from './driver.ts'

/** Longest wait of a worker for one lock, in milliseconds: far below `deadlock_timeout`, so that no deadlock ends a host's transaction. */
const lockTimeoutMs = 250

/**
 * Runs `work` of a worker in a transaction that waits for no lock longer than 250 ms. Workers skip locked rows; this is for
 * locks that they cannot see. It fails with the code `55P03` when it did not get a lock in that time.
 */
export function withLockTimeout<Tx, T>(driver: Driver<Tx>, work: (tx: Tx) => Promise<T>): Promise<T> {
  return driver.transaction(async (tx) => {
    await driver.execute(tx, lockTimeout, [])
    return work(tx)
  })
}

/** Pauses before the tries of what another transaction may have locked, in milliseconds. */
const tryAfterMs = [0, 50, 200]

/**
 * Runs `work` that nobody repeats in a transaction that waits for no lock longer than 250 ms, and tries it again after a pause in
 * which it keeps no connection. Gives `undefined` when it did not get its locks: nothing is written then.
 */
export async function unlessLocked<Tx, T>(driver: Driver<Tx>, work: (tx: Tx) => Promise<T>): Promise<T | undefined> {
  for (const pauseMs of tryAfterMs) {
    if (pauseMs > 0) await setTimeout(pauseMs)
    try {
      return await withLockTimeout(driver, work)
    } catch (error) {
      if (isLockTimeout(error)) continue
      if (pauseMs === 0) throw error
      // The pool may have ended meanwhile. It did not get its locks before, so nothing is written either way.
      return undefined
    }
  }
  return undefined
}

/** True for an error with such an SQLSTATE, also where a library has wrapped it, as Drizzle does. */
export function hasSqlState(error: unknown, states: RegExp): boolean {
  if (!(error instanceof Error)) return false
  const isIt = 'code' in error && typeof error.code === 'string' && states.test(error.code)
  return isIt || hasSqlState(error.cause, states)
}

/** True for the error of a row that violates the check constraint of this name, also where a library has wrapped it. */
export function violates(error: unknown, constraint: string): boolean {
  if (!(error instanceof Error)) return false
  return (hasSqlState(error, /^23514$/) && error.message.includes(constraint)) || violates(error.cause, constraint)
}

/** True for the error of a statement that did not get a lock in time. */
export const isLockTimeout = (error: unknown): boolean => hasSqlState(error, /^55P03$/)

/** `OUTRU` is what settle() says to the rules of other code. Node and Prisma have codes of their own that are as long. */
const rowStates = /^(?!08|25|40|53|55|57P|58|XX|OUTRU|P[1-9]|E[A-Z]{4})[0-9A-Z]{5}$/

/**
 * The SQLSTATE of an error that may be of one of the rows: of their data, or of what triggers and rights of the host say to them, which may be
 * any state. `undefined` for what is of the connection, the server, the transaction or all rows, and for codes of Node and Prisma.
 */
export function rowStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return rowStates.test(code) ? code : rowStateOf(error.cause)
}

const lockTimeout = {
  name: 'outlay_lock_timeout',
  text: `select set_config('lock_timeout', '${lockTimeoutMs}ms', true)`,
}
