import type { Driver } from './driver.ts'

/** Longest wait of a worker for one lock, in milliseconds: far below `deadlock_timeout`, so that it is never a host who ends a deadlock. */
const lockTimeoutMs = 250

/**
 * Runs `work` of a worker in a transaction that waits for no lock longer than 250 ms. Workers pass over what is
 * locked; this is for what they do not know to be. An error with the code `55P03` says that it was in vain.
 */
export function inHurry<Tx, T>(driver: Driver<Tx>, work: (tx: Tx) => Promise<T>): Promise<T> {
  return driver.transaction(async (tx) => {
    await driver.execute(tx, hurry, [])
    return work(tx)
  })
}

const hurry = { name: 'outlay_hurry', text: `select set_config('lock_timeout', '${lockTimeoutMs}ms', true)` }
