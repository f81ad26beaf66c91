import { type AuditPort, Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { type Row, statements, storableJson } from '../database/statement.ts'

const texts = {
  record_audit: 'select {{schema}}.record_audit($1, $2, $3, $4, $5::jsonb, $6::jsonb)::text',
  audit: `select a.id::text as id, a.command, a.actor, a.reason, a.transfer_id, jsonb_build_array(a.before, a.after) as change, a.login,
      {{schema}}.iso(a.at) as at
    from {{schema}}.audit a
    where ($1::text is null or a.transfer_id = $1) and ($2::text is null or a.actor = $2) and ($3::text is null or a.command = $3)
      and ($4::bigint is null or a.id < $4)
    order by a.id desc limit $5`,
} as const

/** Makes the store of the audit on a driver. */
export function createAuditStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>): AuditPort<Tx> {
  const sql = statements(tokens, texts)
  return {
    async recordAudit(tx, { command, actor, reason, transferId, before, after }) {
      const values = [command, actor, reason, transferId, write(before), write(after)]
      await driver.execute(tx, sql.record_audit, values)
    },
    async readAudit({ transferId, actor, command, cursor, limit }, tx) {
      const values = [transferId ?? null, actor ?? null, command ?? null, cursor ?? null, limit]
      const rows = await (tx === undefined ? driver.query(sql.audit, values) : driver.execute(tx, sql.audit, values))
      return rows.map(readRecord)
    },
  }
}

const write = (value: unknown): string | null => (value === null || value === undefined ? null : storableJson(value))

const readColumns = rowDecoder('audit', {
  id: Column.text,
  at: Column.text,
  login: Column.text,
  command: Column.text,
  actor: Column.nullable(Column.text),
  reason: Column.nullable(Column.text),
  transferId: Column.nullable(Column.text),
  change: Column.json<readonly [unknown, unknown]>(),
})

const readRecord = (row: Row) => {
  const { change, ...record } = readColumns(row)
  const [before, after] = change
  return { ...record, before, after }
}
