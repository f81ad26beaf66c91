import type { Stage } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Row } from '../database/statement.ts'

/** One transfer that waits for something other than its turn. */
export interface StuckTransfer {
  readonly id: string
  readonly accountId: string
  readonly gateway: string
  readonly stage: Stage
  readonly reason: string | null
  /** What it waits for, in words. */
  readonly waitsFor: string
  /** What a person can do about it. */
  readonly remedy: string
  /** ISO 8601, UTC. */
  readonly since: string
  readonly waitingMs: number
  readonly attempts: number
  readonly nextAttemptAt: string | null
}

/** Selects stuck transfers, the longest first: of an account, `$1`, or one, `$2`, where these are given, and `$3` at most. */
export const stuckText = `select v.id, v.account_id, v.stage, v.reason, v.waits_for, v.remedy, {{schema}}.iso(v.since) as since, round(extract(epoch from v.waiting) * 1000)::float8 as waiting_ms,
    v.attempts, {{schema}}.iso(v.next_attempt_at) as next_attempt_at, v.gateway from {{schema}}.stuck_transfers v
    where ($1::text is null or v.account_id = $1) and ($2::text is null or v.id = $2) order by v.since limit $3`

/** Reads a row of it. */
export const readStuck: (row: Row) => StuckTransfer = rowDecoder('stuck transfer', {
  id: Column.text,
  accountId: Column.text,
  gateway: Column.text,
  stage: Column.word<Stage>(),
  reason: Column.nullable(Column.text),
  waitsFor: Column.text,
  remedy: Column.text,
  since: Column.text,
  waitingMs: Column.number,
  attempts: Column.integer,
  nextAttemptAt: Column.nullable(Column.text),
})
