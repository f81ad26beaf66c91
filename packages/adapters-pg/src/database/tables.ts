import type { Row } from './statement.ts'

/** Runs SQL text, on one connection or on any. */
export type RunText = (text: string, values?: unknown[]) => Promise<{ rows: Row[] }>

/** True when there is a table, or another relation, of this quoted name. */
export async function hasTable(run: RunText, name: string): Promise<boolean> {
  const { rows } = await run('select to_regclass($1) is not null as found', [name])
  return rows[0]?.['found'] === true
}
