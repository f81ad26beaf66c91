import { Column, type PolledTransfer, type ReturnLoad, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { type Row, statements } from '../database/statement.ts'
import { readPolled } from '../transfers/transfer-row.ts'

const ms = (interval: string) => `(extract(epoch from ${interval}) * 1000)::float8`

/** A transfer that was adopted long after its completion has a short one, or none. */
const windowMs = `greatest(3600000, ${ms('w.ends_at - w.opened_at')})`

/** When the reading began, and never later than now: the clock may have been set back since. */
const began = 'least($2::timestamptz, statement_timestamp())'

/** A reading begins with the transfers of that moment; those that become complete meanwhile are of the next one. */
const inReading = `w.account_id = $1 and w.opened_at <= ${began} and w.closed_at is null`

/** Transfers that have to be read behind the beginning of the reading. */
const isDue = `(w.wanted or w.ends_at <= ${began})`

/** One that the service did not know is asked for again in a reading that begins so much later: a list of it may lag behind. */
const missPause = `interval '1 hour'`

/** True for a transfer that may be read one by one at a time. */
const isAskedFor = (at: string) => `(w.missing_at is null or w.missing_at <= ${at} - ${missPause})`

/** For how long what has ended stays: if the clock was ahead when its last reading was applied, it is read again. */
const closedFor = `interval '6 hours'`

/** Windows that are deleted at once. */
const forgottenAtOnce = 10_000

const texts = {
  find_return_accounts: 'select {{schema}}.find_return_accounts()::text',
  forget_windows: `delete from {{schema}}.return_window w where w.transfer_id = any (array(
      select c.transfer_id from {{schema}}.return_window c where c.closed_at < statement_timestamp() - ${closedFor}
      order by c.closed_at limit ${forgottenAtOnce} for update skip locked))`,
  lease_returns: `with due as (
      select r.account_id from {{schema}}.return_reading r
      where r.next_at <= statement_timestamp() and r.account_id <> all ($3::text[])
        and {{schema}}.gateway_of(r.account_id) = any ($4::text[])
      order by r.next_at limit $1 for no key update skip locked
    )
    update {{schema}}.return_reading r set next_at = clock_timestamp() + $2 * interval '1 millisecond'
    from due d where r.account_id = d.account_id
    returning r.account_id, {{schema}}.iso(r.began_at) as began_at, r.cursor, r.spent, r.remaining, r.patience`,
  return_load: `select count(*)::integer as transfers, coalesce(sum(1 / ${windowMs}), 0)::float8 as windows_per_ms,
      min(${windowMs}) filter (where w.ends_at <= statement_timestamp() and ${isAskedFor('statement_timestamp()')}) as ended_window_ms,
      coalesce(bool_or(w.wanted and ${isAskedFor('statement_timestamp()')}), false) as is_wanted, ${ms('clock_timestamp() - r.read_at')} as since_ms, r.requests
    from {{schema}}.return_reading r left join {{schema}}.return_window w on w.account_id = r.account_id and w.closed_at is null
    where r.account_id = $1 group by r.account_id`,
  begin_returns: `with load as (
      select count(*)::integer as transfers from {{schema}}.return_window w where w.account_id = $1 and w.closed_at is null
    )
    update {{schema}}.return_reading r set began_at = clock_timestamp(), cursor = null, spent = 0, remaining = case when $2 then l.transfers else 0 end,
      patience = 1 + l.transfers / 20
    from load l where r.account_id = $1
    returning r.account_id, {{schema}}.iso(r.began_at) as began_at, r.cursor, r.spent, r.remaining, r.patience`,
  // What was applied behind the end of the window is the last word of the service.
  note_returns_read: `with listed as (
      select w.transfer_id, ${isDue} as due, w.ends_at <= ${began} as ended from {{schema}}.return_window w
      join {{schema}}.transfer t on t.id = w.transfer_id
      where t.remote_id = any ($3::text[]) and t.account_id = {{schema}}.account_of($1) and t.gateway = {{schema}}.gateway_of($1) and ${inReading} for update of w skip locked
    ), over as (
      update {{schema}}.return_window w set closed_at = clock_timestamp(), wanted = false, missing_at = null
      from listed l where w.transfer_id = l.transfer_id and l.ended
    ), satisfied as (
      update {{schema}}.return_window w set wanted = w.wanted and not l.due, missing_at = null
      from listed l where w.transfer_id = l.transfer_id and not l.ended and (l.due or w.missing_at is not null)
    )
    select count(*)::integer as count from listed`,
  unread_returns: `select t.id, t.account_id, t.remote_id, t.status, t.request -> 'destination' ->> 'transferType' as transfer_type, t.polls, t.gateway
    from {{schema}}.return_window w cross join lateral (select t.* from {{schema}}.transfer t where t.id = w.transfer_id offset 0) t
    where ${inReading} and ${isDue} and ${isAskedFor(began)} order by w.ends_at limit $3`,
  keep_returns: `update {{schema}}.return_reading r set cursor = $2, spent = $3, remaining = $4, patience = $5,
      next_at = clock_timestamp() + $6 * interval '1 millisecond'
    where r.account_id = $1`,
  end_returns: `update {{schema}}.return_reading r set read_at = r.began_at, requests = $2, began_at = null, cursor = null,
      next_at = clock_timestamp() + $3 * interval '1 millisecond'
    where r.account_id = $1`,
  // Its next transfer gives it another row.
  forget_returns: `delete from {{schema}}.return_reading r
    where r.account_id = $1 and not exists (
      select 1 from {{schema}}.return_window w where w.account_id = r.account_id and w.closed_at is null)`,
  defer_returns: `update {{schema}}.return_reading r set next_at = clock_timestamp() + $2 * interval '1 millisecond' where r.account_id = $1`,
  miss_returns: `update {{schema}}.return_window w set missing_at = coalesce(w.missing_at, clock_timestamp()),
      closed_at = case when w.missing_at <= ${began} - ${missPause} then clock_timestamp() end
    where w.transfer_id = any ($3::text[]) and w.account_id = $1 and w.closed_at is null returning (w.closed_at is not null) as is_closed`,
} as const

/** How far the reading of an account's returns has come. */
export interface ReturnReading {
  readonly accountId: string
  /** When it began, ISO 8601; null when none is under way. */
  readonly beganAt: string | null
  /** Where it goes on; null at the beginning. */
  readonly cursor: string | null
  /** Its requests so far. */
  readonly spent: number
  /** Transfers that it has yet to find; below 1 the list is not read on. */
  readonly remaining: number
  /** Pages without such a transfer that it may still read. */
  readonly patience: number
}

/** The store of readings of returns. */
export type ReturnReadingStore = ReturnType<typeof createReturnReadingStore>

/** Makes the store of readings of returns on a driver. */
export function createReturnReadingStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, texts)
  return {
    /** Forgets windows that ended hours ago, and finds the accounts that have complete transfers whose money may come back. */
    async findAccounts(): Promise<void> {
      await driver.query(sql.forget_windows, [])
      await driver.query(sql.find_return_accounts, [])
    },
    /** Leases accounts at these gateways for which a reading may be due, except those of `except`, for `leaseMs` milliseconds. */
    async lease(
      limit: number,
      leaseMs: number,
      except: readonly string[],
      gateways: readonly string[],
    ): Promise<readonly ReturnReading[]> {
      return (await driver.query(sql.lease_returns, [limit, leaseMs, except, gateways])).map(readReading)
    },
    async load(accountId: string): Promise<ReturnLoad | undefined> {
      return readFirst(readLoad, await driver.query(sql.return_load, [accountId]))
    },
    /** Begins a reading, of the list as well or only of the transfers that have to be read now. */
    async begin(accountId: string, isListRead: boolean): Promise<ReturnReading | undefined> {
      return readFirst(readReading, await driver.query(sql.begin_returns, [accountId, isListRead]))
    },
    /** Notes that these transfers were read and applied; returns how many of them the reading had to find. */
    async noteRead({ accountId, beganAt }: ReturnReading, remoteIds: readonly string[]): Promise<number> {
      if (remoteIds.length === 0) return 0
      const rows = await driver.query(sql.note_returns_read, [accountId, beganAt, remoteIds])
      return readFirst(readCount, rows)?.count ?? 0
    },
    /** Transfers that the reading has to read and that the list has not shown. */
    async unread({ accountId, beganAt }: ReturnReading, limit: number): Promise<readonly PolledTransfer[]> {
      return (await driver.query(sql.unread_returns, [accountId, beganAt, limit])).map(readPolled)
    },
    /** Records how far it has come, and renews the lease; 0 releases it. */
    async keep({ accountId, cursor, spent, remaining, patience }: ReturnReading, leaseMs: number): Promise<void> {
      await driver.query(sql.keep_returns, [accountId, cursor, spent, remaining, patience, leaseMs])
    },
    /** Ends it; whether the next one is due is decided after `ms` milliseconds. */
    async end({ accountId, spent }: ReturnReading, ms: number): Promise<void> {
      await driver.query(sql.end_returns, [accountId, spent, ms])
      await driver.query(sql.forget_returns, [accountId])
    },
    /** Decides about the account again after `ms` milliseconds. */
    async defer(accountId: string, ms: number): Promise<void> {
      await driver.query(sql.defer_returns, [accountId, ms])
      await driver.query(sql.forget_returns, [accountId])
    },
    /**
     * Notes that the service does not know these transfers: a reading an hour or more later asks again, and one that it does not know then
     * is read no more. Returns how many those are.
     */
    async miss({ accountId, beganAt }: ReturnReading, ids: readonly string[]): Promise<number> {
      const rows = await driver.query(sql.miss_returns, [accountId, beganAt, ids])
      return rows.filter((row) => readMissed(row).isClosed).length
    },
  }
}

const readReading: (row: Row) => ReturnReading = rowDecoder('reading of returns', {
  accountId: Column.text,
  beganAt: Column.nullable(Column.text),
  cursor: Column.nullable(Column.text),
  spent: Column.integer,
  remaining: Column.integer,
  patience: Column.integer,
})

const readLoad: (row: Row) => ReturnLoad = rowDecoder('complete transfers', {
  transfers: Column.integer,
  windowsPerMs: Column.anyNumber,
  endedWindowMs: Column.nullable(Column.anyNumber),
  isWanted: Column.boolean,
  sinceMs: Column.anyNumber,
  requests: Column.nullable(Column.integer),
})

const readCount = rowDecoder('complete transfers', { count: Column.integer })

const readMissed = rowDecoder('complete transfers', { isClosed: Column.boolean })
