import type { Pool, QueryResult } from 'pg'
import { inTransaction } from '../src/context.ts'

/** Looks into the tables behind the service's back, at everybody's rows: a test asks what is there, not what one may see. */
export function inspect(pool: Pool): { query(text: string, values?: readonly unknown[]): Promise<QueryResult> } {
  return {
    query: (text, values = []) => inTransaction({ pool }, (tx) => tx.query(text, [...values])),
  }
}
