import type { SqlSession } from '../database/driver.ts'

/** First line of a migration whose statements run one by one, outside of a transaction. */
const mark = /^-- concurrently\b/

/** True for the SQL of a migration whose statements run one by one, so that none of them makes other sessions wait. */
export const isConcurrent = (sql: string): boolean => mark.test(sql)

/** The same migration for an empty database, where it can run in a transaction like any other. */
export const asOneTransaction = (sql: string): string => (isConcurrent(sql) ? sql.replaceAll(' concurrently', '') : sql)

/** The statements of a text, each of which ends with a semicolon at the end of a line. */
export const splitStatements = (sql: string): readonly string[] =>
  sql.split(/;[ \t]*(?:\n|$)/).filter((one) => /^\s*[a-z]/m.test(one))

/**
 * Runs the statements one by one. An interrupted one leaves an unusable index behind, so each index is dropped before it is
 * made.
 */
export async function runConcurrently(session: SqlSession, schema: string, sql: string): Promise<void> {
  for (const statement of splitStatements(sql)) {
    const index = /create (?:unique )?index concurrently (\w+)/.exec(statement)?.[1]
    if (index !== undefined) await session.query(`drop index concurrently if exists "${schema}".${index}`)
    await session.query(statement)
  }
}
