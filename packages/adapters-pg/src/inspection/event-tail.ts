import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { type Row, statements } from '../database/statement.ts'
import type { DatabaseNames } from '../schema/database-names.ts'

/** Which events to stream. Members that are absent do not narrow them. */
export interface EventTailOptions {
  /** Also events recorded within so many milliseconds before now. Default 0: new ones only. */
  readonly sinceMs?: number | undefined
  readonly accountId?: string | undefined
  readonly transferId?: string | undefined
  readonly type?: string | undefined
}

/** One event of the stream. */
export interface TailedEvent {
  readonly transferId: string
  readonly sequence: number
  readonly type: string
  readonly accountId: string
  readonly stage: string
  readonly status: string
  readonly reason: string | null
  readonly remoteId: string | null
  readonly attempt: number
  /** ISO 8601, UTC. */
  readonly occurredAt: string
}

/** A place in the stream of events. */
export interface EventTail {
  /** The events that were committed since the last call, in the order of their transactions; at most 1 000. */
  next(): Promise<readonly TailedEvent[]>
}

/** Most events that one call gives. */
const pageSize = 1_000

/** How far the clock of an event may be before the start of its transaction, in milliseconds. */
const slackMs = 60_000

/** Age of the oldest transaction that may still be open when the stream starts, in milliseconds. */
const longestOpenMs = 24 * 3_600_000

/** Most marks that are kept; fewer cost a longer read back, never an event. */
const maxMarks = 1_000

// Transactions become visible in another order than they wrote, so neither a time nor a sequence says what a reader has
// seen. But every transaction below the oldest one that is still open has ended: up to there the order
// (transaction, transfer, sequence) is final. A row knows the lower half of its transaction's number.
const texts = {
  tail_start: `select pg_snapshot_xmin(pg_current_snapshot())::text as open_from, {{schema}}.iso(clock_timestamp()) as at`,
  tail_next: `with snapshot as materialized (
      select pg_snapshot_xmin(s)::text::bigint as open_from, pg_snapshot_xmax(s)::text::bigint as ends_at, {{schema}}.iso(clock_timestamp()) as at
      from pg_current_snapshot() s
    ), numbered as (
      select e.*, case when e.xmin::text::bigint > (s.ends_at & 4294967295) then ((s.ends_at >> 32) - 1) << 32 else (s.ends_at >> 32) << 32 end
        + e.xmin::text::bigint as xact
      from {{schema}}.event e, snapshot s
      where e.occurred_at >= $4::timestamptz and ($5::text is null or e.transfer_id = $5) and ($6::text is null or e.type = $6)
        and ($7::text is null or exists (select 1 from {{schema}}.transfer t where t.id = e.transfer_id and t.account_id = $7))
    ), page as (
      select n.* from numbered n, snapshot s
      where n.xact < s.open_from and (n.xact, n.transfer_id, n.sequence) > ($1::bigint, $2::text collate "C", $3::integer)
      order by n.xact, n.transfer_id collate "C", n.sequence limit ${pageSize}
    )
    select s.open_from::text, s.ends_at::text, s.at, p.xact::text, p.transfer_id, p.sequence, p.type, p.stage, p.status, p.reason,
      p.remote_id, p.attempt, {{schema}}.iso(p.occurred_at) as occurred_at, t.account_id
    from snapshot s left join page p on true left join {{schema}}.transfer t on t.id = p.transfer_id
    order by p.xact, p.transfer_id collate "C", p.sequence`,
} as const

/** A transaction that had not begun at a time: no event of it, or of a later one, is older. */
interface Mark {
  readonly xact: bigint
  readonly atMs: number
}

interface Position {
  readonly xact: bigint
  readonly transferId: string
  readonly sequence: number
}

/** Makes a place in the stream of events that begins now, or a while ago. Events of open transactions come when they commit. */
export function createEventTail<Tx>(
  driver: Driver<Tx>,
  { tokens }: DatabaseNames,
  options: EventTailOptions,
): EventTail {
  const sql = statements(tokens, texts)
  const { sinceMs = 0 } = options
  let position: Position | undefined
  let marks: readonly Mark[] = []

  const begin = async (): Promise<Position> => {
    const [row = {}] = await driver.query(sql.tail_start, [])
    const { at, openFrom } = readStart(row)
    const atMs = Date.parse(at)
    marks = [{ xact: 0n, atMs: sinceMs > 0 ? atMs - sinceMs : atMs - longestOpenMs }]
    return { xact: sinceMs > 0 ? 0n : BigInt(openFrom) - 1n, transferId: '~', sequence: 0 }
  }
  return {
    async next() {
      position ??= await begin()
      const from = new Date((marks[0]?.atMs ?? 0) - (marks[0]?.xact === 0n ? 0 : slackMs)).toISOString()
      const { xact, transferId, sequence } = position
      const { transferId: ofTransfer = null, type = null, accountId = null } = options
      const values = [String(xact), transferId, sequence, from, ofTransfer, type, accountId]
      const rows = await driver.query(sql.tail_next, values)
      const found = rows.filter((row) => readTransaction(row).xact !== null)
      const head = readFirst(readSnapshot, rows)
      const last = found.at(-1)
      if (head === undefined) return []
      position = last !== undefined && found.length === pageSize ? positionOf(last) : before(head.openFrom)
      marks = advance(marks, { xact: BigInt(head.endsAt), atMs: Date.parse(head.at) }, position)
      return found.map(readTailed)
    },
  }
}

/** Behind the last event of every transaction before the oldest one that is open. */
const before = (openFrom: string): Position => ({
  xact: BigInt(openFrom) - 1n,
  transferId: '~',
  sequence: 0,
})

function positionOf(row: Row): Position {
  const { xact, transferId, sequence } = readPosition(row)
  return { xact: BigInt(xact), transferId, sequence }
}

/** Adds a mark and drops those that a later one makes needless. */
function advance(marks: readonly Mark[], next: Mark, position: Position): readonly Mark[] {
  const all = marks.length < maxMarks ? [...marks, next] : marks
  const wanted = position.sequence === 0 ? position.xact + 1n : position.xact
  const newest = all.findLastIndex((mark) => mark.xact <= wanted)
  return newest > 0 ? all.slice(newest) : all
}

const readStart = rowDecoder('snapshot', { openFrom: Column.text, at: Column.text })
const readSnapshot = rowDecoder('snapshot', { openFrom: Column.text, endsAt: Column.text, at: Column.text })
const readTransaction = rowDecoder('event', { xact: Column.nullable(Column.text) })
const readPosition = rowDecoder('event', { xact: Column.text, transferId: Column.text, sequence: Column.integer })

const readTailed: (row: Row) => TailedEvent = rowDecoder('event', {
  transferId: Column.text,
  sequence: Column.integer,
  type: Column.text,
  accountId: Column.or(Column.text, ''),
  stage: Column.text,
  status: Column.text,
  reason: Column.nullable(Column.text),
  remoteId: Column.nullable(Column.text),
  attempt: Column.integer,
  occurredAt: Column.text,
})
