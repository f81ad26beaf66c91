import type { Driver } from '../database/driver.ts'
import { fillTokens } from '../database/statement.ts'
import { sqlFiles } from '../generated/sql.ts'
import { retryWhileLocked, withMigrationLock } from './migrate.ts'
import { runConcurrently, splitStatements } from './migrate-statements.ts'

/** How long one of them waits for the transactions that were open when it began, in milliseconds. */
const patienceMs = 600_000

/**
 * Makes the indexes by which policies find earlier transfers, those that are missing or that an interruption left useless, one by one, and so that nobody waits.
 * @throws Error when one did not get its locks in time; it names the transactions that have been open longest.
 */
export async function makePaymentIndexes<Tx>(
  driver: Driver<Tx>,
  schema: string,
  tokens: Readonly<Record<string, string>>,
  onStep?: (name: string) => void,
): Promise<void> {
  const text = fillTokens(sqlFiles['optional/payment_indexes.sql'] ?? '', tokens)
  await driver.session((session) =>
    withMigrationLock(session, schema, async () => {
      for (const statement of splitStatements(text)) {
        const name = /create index concurrently (\w+)/.exec(statement)?.[1] ?? ''
        const { rows } = await session.query(
          `select from pg_index i where i.indexrelid = to_regclass('"${schema}".${name}') and i.indisvalid`,
        )
        if (rows.length > 0) continue
        onStep?.(`the index ${name}`)
        await retryWhileLocked(session, `The index ${name}`, async () => {
          await session.query(`set lock_timeout = ${patienceMs}`)
          await runConcurrently(session, schema, `${statement};`)
        })
      }
    }),
  )
}
