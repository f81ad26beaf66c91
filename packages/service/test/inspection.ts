import type { Pool, QueryResult } from 'pg'
import { inTransaction } from '../src/context.ts'

/** Reads the tables directly, with the rows of all tenants: a test checks what exists, not what a client may see. */
export function inspect(pool: Pool): { query(text: string, values?: readonly unknown[]): Promise<QueryResult> } {
  return {
    query: (text, values = []) => inTransaction({ pool }, (tx) => tx.query(text, [...values])),
  }
}
