import type { Sql, TransactionSql } from 'postgres'
import { runGuarded } from './guarded-transaction.ts'
import { openEnd } from './transaction-end.ts'

const watched = new WeakSet<object>()

/**
 * Guards every transaction that `sql.begin` opens from now on: one that has ended takes nothing more, or a late call would come to the next
 * transaction on its connection, and one whose connection was lost fails, where postgres.js would end the process by its own `rollback`.
 */
export function watchTransactions(sql: Sql): void {
  if (watched.has(sql)) return
  watched.add(sql)
  const begin = sql.begin as (...given: unknown[]) => Promise<unknown>
  const beginGuarded = (...given: unknown[]) => {
    const work = given.at(-1) as (tx: TransactionSql) => unknown
    return runGuarded((run) => begin(...given.slice(0, -1), run), work, openEnd())
  }
  sql.begin = beginGuarded as Sql['begin']
}
