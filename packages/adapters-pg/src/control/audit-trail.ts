import { type AuditEntry, Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { statements, storableJson } from '../database/statement.ts'
import { resolveNames } from '../schema/database-names.ts'

const texts = {
  audit_mark: `select coalesce(max(a.id), 0)::text as mark from {{schema}}.audit a`,
  // Entries of this transaction are behind the mark that it read before.
  audit_complete: `select {{schema}}.record_audit($1, $2, $3, $4, $5::jsonb, $6::jsonb)::text where not exists (
      select from {{schema}}.audit a
      where a.id > $7::bigint and a.transaction = pg_current_xact_id() and a.command = $1 and a.transfer_id is not distinct from $4)`,
} as const

/** Entries of the audit that one transaction writes. */
export interface AuditTrail<Tx> {
  /** Begins the trail of a transaction, before its commands. */
  begin(tx: Tx): Promise<{
    /** Writes the entry of a command, unless the command itself has written one in this transaction about the same transfer. */
    complete(entry: AuditEntry): Promise<void>
  }>
}

/** Where the audit is. */
export interface AuditTrailOptions<Tx> {
  readonly driver: Driver<Tx>
  /** Schema of the engine's tables. Default `outlay`. */
  readonly schema?: string | undefined
}

/**
 * Makes the audit of commands that write no entry of their own, for a surface whose every action has one. The entry commits with the command.
 * @throws Error for the name of a schema that cannot be one.
 */
export function auditTrail<Tx>({ driver, schema }: AuditTrailOptions<Tx>): AuditTrail<Tx> {
  const sql = statements(resolveNames({ schema }).tokens, texts)
  return {
    async begin(tx) {
      const mark = readFirst(readMark, await driver.execute(tx, sql.audit_mark, []))?.mark ?? '0'
      return {
        async complete({ command, actor, reason, transferId, before, after }) {
          const values = [command, actor, reason, transferId, write(before), write(after), mark]
          await driver.execute(tx, sql.audit_complete, values)
        },
      }
    },
  }
}

const write = (value: unknown): string | null => (value === null || value === undefined ? null : storableJson(value))

const readMark = rowDecoder('audit', { mark: Column.text })
