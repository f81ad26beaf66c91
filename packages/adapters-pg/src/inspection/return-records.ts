import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Row } from '../database/statement.ts'

/** Money that came back of a transfer, or that the service says came back. */
export interface ReturnRecord {
  /** Distinguishes it from the other returns of its transfer; its content, as it was reported. */
  readonly identity: string
  readonly code: string
  /** Decimal string; null where neither the service nor a person has said how much. */
  readonly amount: string | null
  readonly currency: string | null
  /** When it came back, ISO 8601, UTC; null where the service does not say. */
  readonly occurredAt: string | null
  readonly seenAt: string
  /** Of its event; null while it waits or is held, and when it is dismissed. */
  readonly sequence: number | null
  /** Why it is held, or was dismissed; null for one that does not contradict its transfer. */
  readonly problem: string | null
  /** When a person decided about it; null when nobody had to, or has yet to. */
  readonly resolvedAt: string | null
  readonly resolvedBy: string | null
  readonly resolutionNote: string | null
}

/** Selects the returns of a transfer, `$1`, the earliest report first. */
export const returnsText = `select r.identity, r.code, r.amount::text, r.currency, {{schema}}.iso(r.occurred_at) as occurred_at, {{schema}}.iso(r.seen_at) as seen_at,
      r.sequence, r.problem, {{schema}}.iso(r.resolved_at) as resolved_at, r.resolved_by, r.resolution_note
    from {{schema}}.transfer_return r where r.transfer_id = $1 order by r.seen_at, r.identity`

/** Reads a row of it. */
export const readReturn: (row: Row) => ReturnRecord = rowDecoder('return', {
  identity: Column.text,
  code: Column.text,
  amount: Column.nullable(Column.text),
  currency: Column.nullable(Column.text),
  occurredAt: Column.nullable(Column.text),
  seenAt: Column.text,
  sequence: Column.nullable(Column.integer),
  problem: Column.nullable(Column.text),
  resolvedAt: Column.nullable(Column.text),
  resolvedBy: Column.nullable(Column.text),
  resolutionNote: Column.nullable(Column.text),
})
