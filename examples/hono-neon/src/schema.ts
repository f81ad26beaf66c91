import { readFile } from 'node:fs/promises'
import { Pool, type PoolClient } from '@neondatabase/serverless'

/** A customer, with the money that we hold for them, in dollars. */
export interface Customer {
  readonly id: string
  readonly balance: string
}

/** Money that a customer sends to somebody. The customer chooses its id. */
export interface Remittance {
  readonly id: string
  readonly customer_id: string
  readonly amount: string
  /** Name of the recipient. */
  readonly recipient: string
  readonly status: 'on_its_way' | 'paid' | 'refunded'
  readonly transfer_id: string
}

/** Opens a pool whose connections are WebSockets; `pool.end()` closes it. */
export function openDatabase(url: string): Pool {
  const pool = new Pool({ connectionString: url, max: 20 })
  // The pool replaces a broken idle connection. Without a listener, its error would end the process.
  pool.on('error', () => {})
  return pool
}

/** Makes the tables of customers and remittances. */
export async function migrateDatabase(pool: Pool): Promise<void> {
  await pool.query(await readFile(new URL('../schema.sql', import.meta.url), 'utf8'))
}

/** Runs `work` between `begin` and `commit`, or `rollback` when it throws. */
export async function inTransaction<T>(pool: Pool, work: (tx: PoolClient) => Promise<T>): Promise<T> {
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
