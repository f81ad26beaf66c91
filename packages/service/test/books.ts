import { inspect } from './inspection.ts'
import type { TestSandbox } from './sandbox.ts'

/** Sums of the ledger by kind of account and value type, such as `settlement USD`: what is held and what is available. */
export type Books = Readonly<Record<string, number>>

/** Reads the books of a sandbox. */
export async function readBooks(api: TestSandbox): Promise<Books> {
  const { pool, schema } = api.sandbox.service.context
  const { rows } = await inspect(pool).query(
    `select kind || ' ' || value_type as name, sum(entries_available + entries_held)::float as value
       from ${schema}.ledger_balance where kind <> 'outside' group by 1 order by 1`,
  )
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]))
}

/** What has changed from some books to others. */
export function changeOf(before: Books, after: Books): Books {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  const changes = names.map(
    (name) => [name, Math.round(((after[name] ?? 0) - (before[name] ?? 0)) * 1e6) / 1e6] as const,
  )
  return Object.fromEntries(changes.filter(([, change]) => change !== 0))
}
