import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { statements } from '../database/statement.ts'
import { queueTimeTexts } from '../queue/queue-times.ts'

/** A time that was written before the clock was set back by `$1` milliseconds, as the clock reads now; past times stay past. */
const moved = (column: string) => `greatest(clock_timestamp(), ${column} - $1 * interval '1 millisecond')`

/** When something happened before the clock was set back, as the clock reads now; times in the past stay. */
const asBefore = (column: string) =>
  `case when ${column} > clock_timestamp() then least(clock_timestamp(), ${column} - $1 * interval '1 millisecond') else ${column} end`

/**
 * Moves times that rows wait for. Skips locked rows: it waits for no host. Keeps times that a host has asked for.
 */
const jumpTexts = {
  ...queueTimeTexts(moved),
  move_polls: `with late as (
      select t.id from {{schema}}.transfer t
      where t.next_poll_at > statement_timestamp() + $2 * interval '1 millisecond' and t.stage = 'submitted' for no key update skip locked
    )
    update {{schema}}.transfer t set next_poll_at = ${moved('t.next_poll_at')} from late l where t.id = l.id returning t.id`,
  // No doubt becomes younger: it may have begun while the clock was ahead, even if that time is past by now. What was sent would seem
  // to have left later than it was found.
  move_unknown: `with late as (
      select t.id from {{schema}}.transfer t
      where t.remote_id is null and t.status = 'pending' and ($2::float8 = 0 and t.unknown_since is not null
        or greatest(t.unknown_since, t.updated_at) > clock_timestamp() + $2 * interval '1 millisecond') for no key update skip locked
    )
    update {{schema}}.transfer t
    set unknown_since = least(clock_timestamp(), t.unknown_since - case when $2::float8 = 0 or t.unknown_since > clock_timestamp()
        then $1::float8 else 0 end * interval '1 millisecond'),
      updated_at = ${asBefore('t.updated_at')}
    from late l where t.id = l.id returning t.id`,
  move_attempts: `update {{schema}}.attempt a
    set claimed_at = ${asBefore('a.claimed_at')}, answered_at = ${asBefore('a.answered_at')}
    from {{schema}}.transfer t
    where t.remote_id is null and t.status = 'pending' and a.transfer_id = t.id
      and a.claimed_at > statement_timestamp() + $2 * interval '1 millisecond' returning a.transfer_id`,
  move_readings: `update {{schema}}.list_reading r set leased_until = ${moved('r.leased_until')}
    where r.leased_until > clock_timestamp() + $2 * interval '1 millisecond' returning r.account_id`,
  move_watches: `update {{schema}}.watched_account w set next_poll_at = ${moved('w.next_poll_at')}
    where w.next_poll_at > statement_timestamp() + $2 * interval '1 millisecond' returning w.account_id`,
  move_return_readings: `update {{schema}}.return_reading r set next_at = ${moved('r.next_at')}, read_at = least(r.read_at, clock_timestamp()),
      began_at = case when r.began_at is not null then least(r.began_at, clock_timestamp()) end
    where greatest(r.next_at, r.read_at, r.began_at) > clock_timestamp() + $2 * interval '1 millisecond' returning r.account_id`,
  // What has ended by that clock alone is read again. The end is counted from what the service said, or else from that clock.
  move_return_windows: `update {{schema}}.return_window w
    set opened_at = ${asBefore('w.opened_at')}, closed_at = case when w.closed_at <= clock_timestamp() then w.closed_at end,
      missing_at = case when w.missing_at is not null then least(w.missing_at, clock_timestamp()) end,
      ends_at = case when w.opened_at > clock_timestamp() and not exists (
          select 1 from {{schema}}.transfer t where t.id = w.transfer_id and t.reached_at is not null)
        then w.ends_at - $1 * interval '1 millisecond' else w.ends_at end
    where greatest(w.opened_at, w.closed_at, w.missing_at) > clock_timestamp() + $2 * interval '1 millisecond' returning w.transfer_id`,
  move_probes: `update {{schema}}.unauthorized_account r set probe_at = ${moved('r.probe_at')}
    where r.probe_at > clock_timestamp() + $2 * interval '1 millisecond' returning r.account_id`,
  move_throttles: `update {{schema}}.account_throttle p
    set next_at = case when p.next_at is not null then least(p.next_at, ${moved('p.next_at')}) end,
      throttled_until = case when p.throttled_until is not null then least(p.throttled_until, ${moved('p.throttled_until')}) end,
      changed_at = least(p.changed_at, clock_timestamp()), waited_at = least(p.waited_at, clock_timestamp())
    where greatest(p.next_at, p.throttled_until, p.changed_at, p.waited_at) > clock_timestamp() + $2 * interval '1 millisecond' returning p.account_id`,
  move_deliveries: `with late as (
      select d.subscription, d.transfer_id, d.sequence from {{schema}}.delivery d
      where d.due_at > statement_timestamp() + $2 * interval '1 millisecond' and not d.dead for update skip locked
    )
    update {{schema}}.delivery d set due_at = ${moved('d.due_at')} from late l
    where d.subscription = l.subscription and d.transfer_id = l.transfer_id and d.sequence = l.sequence returning d.transfer_id`,
} as const

const readTexts = {
  read_clock: `select (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms,
    (select (extract(epoch from h.seen_at) * 1000)::float8 from {{schema}}.known_database h) as seen_ms`,
  // For one worker only: a second one would move the times again that the first has moved.
  claim_jump: `update {{schema}}.known_database h set seen_at = clock_timestamp()
    where h.seen_at > clock_timestamp() + interval '10 seconds'
      and exists (select 1 from {{schema}}.known_database x where x.only_row for no key update skip locked) returning h.only_row`,
} as const

/** What is done about the clock of the database. */
export type ClockJumpStore = ReturnType<typeof createClockJumpStore>

/** Makes it on a driver. */
export function createClockJumpStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const read = statements(tokens, readTexts)
  const jump = statements(tokens, jumpTexts)
  return {
    /** The time of the database, and when a worker last recorded that it was there, in milliseconds since the epoch. */
    async read(): Promise<{ readonly nowMs: number; readonly seenMs: number }> {
      const [row = {}] = await driver.query(read.read_clock, [])
      return readClock(row)
    },
    /** True for the first worker that finds the recorded time in the future; it is recorded anew. */
    async claim(): Promise<boolean> {
      return (await driver.query(read.claim_jump, [])).length > 0
    },
    /**
     * Brings times forward that were written before the clock was set back, if they are further away than `fromMs` milliseconds.
     * Returns how many rows.
     */
    async setBack(byMs: number, fromMs = 0): Promise<number> {
      let count = 0
      for (const [name, statement] of Object.entries(jump)) {
        const takesTime = jumpTexts[name as keyof typeof jumpTexts].includes('$1')
        count += (await driver.query(statement, takesTime ? [byMs, fromMs] : [])).length
      }
      return count
    },
  }
}

const readClock = rowDecoder('clock', { nowMs: Column.anyNumber, seenMs: Column.or(Column.anyNumber, 0) })
