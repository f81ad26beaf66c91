import { type AuditEntry, type AuditPort, Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst, readIds } from '../database/read-rows.ts'
import { type Row, statements, storableJson } from '../database/statement.ts'

/**
 * An entry as it is hashed, of its columns: the same text as that of the function audit_text(), which makes the chain. A comparison does not ask that function, since
 * whoever owns it could let it say what an entry was before it was edited.
 */
const entryText = `pg_catalog.jsonb_build_object('id', a.id::text, 'at', pg_catalog.to_char(pg_catalog.timezone('UTC', a.at), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'command', a.command, 'actor', a.actor, 'reason', a.reason, 'transferId', a.transfer_id, 'before', a.before, 'after', a.after, 'login', a.login,
      'transaction', a.transaction::text)::text`

const texts = {
  record_audit: 'select {{schema}}.record_audit($1, $2, $3, $4, $5::jsonb, $6::jsonb)::text',
  // A schema of an earlier release lacks the function, and calling it would end the transaction.
  can_audit: `select to_regprocedure('{{schema}}.try_audit(text, text, text, text, jsonb, jsonb)') is not null as is_written`,
  try_audit: 'select {{schema}}.try_audit($1, $2, $3, $4, $5::jsonb, $6::jsonb) as is_written',
  audit: `select a.id::text as id, a.command, a.actor, a.reason, a.transfer_id, jsonb_build_array(a.before, a.after) as change, a.login,
      {{schema}}.iso(a.at) as at
    from {{schema}}.audit a
    where ($1::text is null or a.transfer_id = $1) and ($2::text is null or a.actor = $2) and ($3::text is null or a.command = $3)
      and ($4::bigint is null or a.id < $4)
    order by a.id desc limit $5`,
  chain_audit: 'select {{schema}}.chain_audit($1) as count',
  read_chain: `select c.position::text as position, c.audit_id::text as id, c.hash, case when a.id is not null then ${entryText} end as text
    from {{schema}}.audit_chain c left join {{schema}}.audit a on a.id = c.audit_id
    where c.position > $1::bigint order by c.position limit $2`,
  // Of one snapshot. In a database that was restored into another server, transactions are counted anew until the next entry is in the chain.
  chain_end: `select e.position::text as position, e.hash, array(
      select a.id::text from {{schema}}.audit a
      where a.transaction < e.settled_before and e.settled_before <= pg_snapshot_xmax(pg_current_snapshot())
        and not exists (select from {{schema}}.audit_chain c where c.audit_id = a.id)
      order by a.id limit 100) as unchained
    from {{schema}}.audit_chain_end e`,
  unchained: `select a.id::text as id from {{schema}}.audit a
    where ($1::text[] is null or a.id::text = any ($1::text[])) and not exists (select from {{schema}}.audit_chain c where c.audit_id = a.id)
      and (not current_setting('transaction_read_only')::boolean or a.at < clock_timestamp() - interval '1 minute')
    order by a.id limit 100`,
  await_chain: 'select {{schema}}.await_chain()::text',
} as const

/** Makes the store of the audit on a driver. */
export function createAuditStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>): AuditPort<Tx> {
  const sql = statements(tokens, texts)
  return {
    async recordAudit(tx, entry) {
      await driver.execute(tx, sql.record_audit, valuesOf(entry))
    },
    async tryRecordAudit(tx, entry) {
      const isWritten = (rows: readonly Row[]) => readFirst(readWritten, rows)?.isWritten === true
      if (!isWritten(await driver.execute(tx, sql.can_audit, []))) return false
      return isWritten(await driver.execute(tx, sql.try_audit, valuesOf(entry)))
    },
    async chainAudit(limit) {
      return readFirst(readCount, await driver.query(sql.chain_audit, [limit]))?.count ?? 0
    },
    async readChain(after, limit) {
      const rows = await driver.query(sql.read_chain, [after, limit])
      return rows.map(readChained).map((row) => ({ ...row, position: Number(row.position) }))
    },
    async readChainEnd() {
      const end = readFirst(readEnd, await driver.query(sql.chain_end, []))
      return end === undefined ? undefined : { ...end, position: Number(end.position) }
    },
    async readUnchained(among) {
      return readIds(await driver.query(sql.unchained, [among ?? null]))
    },
    async awaitChain() {
      await driver.query(sql.await_chain, [])
    },
    async readAudit({ transferId, actor, command, cursor, limit }, tx) {
      const values = [transferId ?? null, actor ?? null, command ?? null, cursor ?? null, limit]
      const rows = await (tx === undefined ? driver.query(sql.audit, values) : driver.execute(tx, sql.audit, values))
      return rows.map(readRecord)
    },
  }
}

const valuesOf = ({ command, actor, reason, transferId, before, after }: AuditEntry) => [
  ...[command, actor, reason, transferId],
  ...[write(before), write(after)],
]

const write = (value: unknown): string | null => (value === null || value === undefined ? null : storableJson(value))

const readWritten = rowDecoder('audit', { isWritten: Column.or(Column.boolean, false) })

const readCount = rowDecoder('chained entries', { count: Column.integer })

const readChained = rowDecoder('audit chain', {
  position: Column.text,
  id: Column.text,
  hash: Column.text,
  text: Column.nullable(Column.text),
})

const readEnd = rowDecoder('end of the audit chain', {
  position: Column.text,
  hash: Column.text,
  unchained: Column.texts,
})

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
