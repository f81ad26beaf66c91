import type { ReturnedAmount } from '@outlay/core'
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
  /** What came back; null for every event but `transfer.returned`. */
  readonly returned: ReturnedAmount | null
}

/** Events that are committed and not in the stream yet, since an older transaction is open. */
export interface HeldBackEvents {
  readonly events: number
  /** Process of that transaction; null where it may not be read, or for a prepared transaction. */
  readonly pid: number | null
  /** Global id of a prepared transaction; null for a process. */
  readonly gid: string | null
  /** Program, user, state and database of the process, as far as they may be read. */
  readonly detail: string
  /** When that transaction began; ISO 8601, UTC. */
  readonly since: string | null
}

/** A place in the stream of events. */
export interface EventTail {
  /** The events that were committed since the last call, in the order of their transactions; at most 1 000. */
  next(): Promise<readonly TailedEvent[]>
  /** What an open transaction, of any database of the server, keeps out of the stream; undefined where that is nothing. */
  heldBack(): Promise<HeldBackEvents | undefined>
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
/** The events in question, each with its transaction; `from` is the number of the first parameter. */
const numbered = (from: number) => `with snapshot as materialized (
      select pg_snapshot_xmin(s)::text::bigint as open_from, pg_snapshot_xmax(s)::text::bigint as ends_at, {{schema}}.iso(clock_timestamp()) as at
      from pg_current_snapshot() s
    ), numbered as (
      select e.*, case when e.xmin::text::bigint > (s.ends_at & 4294967295) then ((s.ends_at >> 32) - 1) << 32 else (s.ends_at >> 32) << 32 end
        + e.xmin::text::bigint as xact
      from {{schema}}.event e, snapshot s
      where e.occurred_at >= $${from}::timestamptz and ($${from + 1}::text is null or e.transfer_id = $${from + 1})
        and ($${from + 2}::text is null or e.type = $${from + 2})
        and ($${from + 3}::text is null or exists (
          select 1 from {{schema}}.transfer t where t.id = e.transfer_id and t.account_id = $${from + 3}))
    )`

const texts = {
  tail_start: `select pg_snapshot_xmin(pg_current_snapshot())::text as open_from, {{schema}}.iso(clock_timestamp()) as at`,
  tail_next: `${numbered(4)}, page as (
      select n.* from numbered n, snapshot s
      where n.xact < s.open_from and (n.xact, n.transfer_id, n.sequence) > ($1::bigint, $2::text collate "C", $3::integer)
      order by n.xact, n.transfer_id collate "C", n.sequence limit ${pageSize}
    )
    select s.open_from::text, s.ends_at::text, s.at, p.xact::text, p.transfer_id, p.sequence, p.type, p.stage, p.status, p.reason,
      p.remote_id, p.attempt, {{schema}}.iso(p.occurred_at) as occurred_at, p.returned, t.account_id
    from snapshot s left join page p on true left join {{schema}}.transfer t on t.id = p.transfer_id
    order by p.xact, p.transfer_id collate "C", p.sequence`,
  // The oldest open transaction is that of a process or a prepared one; both have the lower half of its number.
  tail_held: `${numbered(1)}, held as (
      select count(*)::integer as events from numbered n, snapshot s where n.xact >= s.open_from
    )
    select h.events, a.pid, p.gid, concat_ws(', ', nullif(a.application_name, ''), a.usename, a.state, a.datname) as detail,
      {{schema}}.iso(coalesce(a.xact_start, p.prepared)) as since
    from held h cross join snapshot s
    left join pg_stat_activity a on a.backend_xid::text::bigint = s.open_from & 4294967295
    left join pg_prepared_xacts p on p.transaction::text::bigint = s.open_from & 4294967295
    where h.events > 0`,
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
  const wanted = () => {
    const from = new Date((marks[0]?.atMs ?? 0) - (marks[0]?.xact === 0n ? 0 : slackMs)).toISOString()
    const { transferId = null, type = null, accountId = null } = options
    return [from, transferId, type, accountId]
  }
  return {
    async next() {
      position ??= await begin()
      const { xact, transferId, sequence } = position
      const rows = await driver.query(sql.tail_next, [String(xact), transferId, sequence, ...wanted()])
      const found = rows.filter((row) => readTransaction(row).xact !== null)
      const head = readFirst(readSnapshot, rows)
      const last = found.at(-1)
      if (head === undefined) return []
      position = last !== undefined && found.length === pageSize ? positionOf(last) : before(head.openFrom)
      marks = advance(marks, { xact: BigInt(head.endsAt), atMs: Date.parse(head.at) }, position)
      return found.map(readTailed)
    },
    async heldBack() {
      position ??= await begin()
      return readFirst(readHeld, await driver.query(sql.tail_held, wanted()))
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

const readHeld: (row: Row) => HeldBackEvents = rowDecoder('events', {
  events: Column.integer,
  pid: Column.nullable(Column.integer),
  gid: Column.nullable(Column.text),
  detail: Column.text,
  since: Column.nullable(Column.text),
})

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
  returned: Column.nullable(Column.json<ReturnedAmount>()),
})
