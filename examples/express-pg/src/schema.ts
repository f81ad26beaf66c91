import { readFile } from 'node:fs/promises'
import pg from 'pg'

/** A purchase, refunded in one or more parts. */
export interface Purchase {
  readonly id: string
  readonly bank_id: string
  readonly total: string
  readonly refunded: string
}

/** A refund to a customer. The caller chooses its id. */
export interface Refund {
  readonly id: string
  readonly purchase_id: string
  readonly amount: string
  readonly status: 'on_its_way' | 'paid' | 'unpaid'
  readonly transfer_id: string
}

/** Opens a pool; `pool.end()` closes it. */
export function openDatabase(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url })
  // The pool replaces a broken idle connection. Without a listener, its error would end the process.
  pool.on('error', () => {})
  return pool
}

/** Makes the shop's own tables. */
export async function migrateDatabase(pool: pg.Pool): Promise<void> {
  await pool.query(await readFile(new URL('../schema.sql', import.meta.url), 'utf8'))
}

/** Runs `work` between `begin` and `commit`, or `rollback` when it throws. */
export async function inTransaction<T>(pool: pg.Pool, work: (tx: pg.PoolClient) => Promise<T>): Promise<T> {
  const tx = await pool.connect()
  let broken: Error | undefined
  try {
    await tx.query('begin')
    const result = await work(tx)
    await tx.query('commit')
    return result
  } catch (error) {
    await tx.query('rollback').catch((failure: Error) => {
      broken = failure
    })
    throw error
  } finally {
    // A connection that cannot roll back must not return to the pool.
    tx.release(broken)
  }
}
