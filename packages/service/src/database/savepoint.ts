import type { PoolClient } from 'pg'
import { keepWithin } from './after-commit.ts'

/**
 * Does `work` as a part of a transaction: when it rejects, nothing that it wrote is left, and nothing is said of it, while the transaction goes on.
 * Whoever catches the rejection may commit then.
 */
export async function withinSavepoint<T>(tx: PoolClient, work: () => Promise<T>): Promise<T> {
  await tx.query('savepoint part')
  const forget = keepWithin(tx)
  try {
    const result = await work()
    await tx.query('release savepoint part')
    return result
  } catch (error) {
    forget()
    // Without its connection the transaction ends by itself, and the first error says more.
    await tx.query('rollback to savepoint part; release savepoint part').catch(() => undefined)
    throw error
  }
}
