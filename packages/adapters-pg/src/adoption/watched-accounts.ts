import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { type Row, statements } from '../database/statement.ts'

/** A host that has locked the row is about to delete it; otherwise the account is read again when the lease is over. */
const freeWatchText = `from (
      select f.account_id from {{schema}}.watched_account f where f.account_id = $1 for no key update skip locked
    ) f
    where w.account_id = f.account_id`

const texts = {
  watch: `insert into {{schema}}.watched_account (account_id, since, seen_to) values ($1, $2::timestamptz, $2::timestamptz)
    on conflict do nothing returning account_id`,
  // Found transfers stay: nothing would find those again that were seen while the account was watched.
  unwatch: `delete from {{schema}}.watched_account w where w.account_id = $1 returning w.account_id`,
  lease_watched: `with due as (
      select w.account_id from {{schema}}.watched_account w where w.next_poll_at <= statement_timestamp() and w.account_id <> all ($3::text[])
        and {{schema}}.gateway_of(w.account_id) = any ($4::text[])
      order by w.next_poll_at limit $1 for no key update skip locked
    )
    update {{schema}}.watched_account w set next_poll_at = clock_timestamp() + $2 * interval '1 millisecond'
    from due where w.account_id = due.account_id
    returning w.account_id, w.cursor, {{schema}}.iso(w.seen_to) as seen_to, {{schema}}.iso(w.reading_from) as reading_from, w.idle`,
  keep_watch: `update {{schema}}.watched_account w set cursor = $2, reading_from = $3::timestamptz, idle = $4, next_poll_at = clock_timestamp()
    ${freeWatchText}`,
  // A transfer with a time in the future says nothing about those that are created until then.
  end_watch: `update {{schema}}.watched_account w
    set cursor = null, reading_from = null, idle = $3,
      seen_to = greatest(w.seen_to, case when $2::timestamptz > clock_timestamp() then clock_timestamp() else $2::timestamptz end),
      next_poll_at = clock_timestamp() + $4 * interval '1 millisecond'
    ${freeWatchText}`,
  waiting: `select exists (
      select 1 from {{schema}}.transfer t where t.account_id = {{schema}}.account_of($1) and t.gateway = {{schema}}.gateway_of($1) and t.reason = 'insufficient_balance' and t.stage = 'awaiting_funds'
    ) as waiting`,
} as const

/** An account whose list is due to be read for transfers of others. */
export interface WatchedAccount {
  readonly accountId: string
  /** Where the reading goes on; null at the beginning. */
  readonly cursor: string | null
  /** Everything that the service created up to then was read, ISO 8601. */
  readonly seenTo: string
  /** When the service created the newest transfer of the reading under way, ISO 8601; null before its first page. */
  readonly readingFrom: string | null
  /** Readings in a row that found nothing; below zero, readings in a row that failed. */
  readonly idle: number
}

/** The store of watched accounts. */
export type WatchedAccountStore<Tx> = ReturnType<typeof createWatchedAccountStore<Tx>>

/** Makes the store of watched accounts on a driver. */
export function createWatchedAccountStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, texts)
  return {
    /** Adopts the account's transfers of others from then on. False when it is watched already. */
    async watch(tx: Tx, accountId: string, since: string): Promise<boolean> {
      return (await driver.execute(tx, sql.watch, [accountId, since])).length > 0
    },
    /** Finds no more transfers; those that were found are still adopted. False when the account is not watched. */
    async unwatch(tx: Tx, accountId: string): Promise<boolean> {
      return (await driver.execute(tx, sql.unwatch, [accountId])).length > 0
    },
    /** Leases due accounts at these gateways, except those of `except`, for `leaseMs` milliseconds. */
    async lease(
      limit: number,
      leaseMs: number,
      except: readonly string[],
      gateways: readonly string[],
    ): Promise<readonly WatchedAccount[]> {
      return (await driver.query(sql.lease_watched, [limit, leaseMs, except, gateways])).map(readWatched)
    },
    /** Records where a reading goes on; it is due at once. */
    async keep({ accountId, cursor, readingFrom, idle }: WatchedAccount): Promise<void> {
      await driver.query(sql.keep_watch, [accountId, cursor, readingFrom, idle])
    },
    /** Ends a reading that has read everything from then on; null when it has not. */
    async end(accountId: string, seenTo: string | null, idle: number, ms: number): Promise<void> {
      await driver.query(sql.end_watch, [accountId, seenTo, idle, Math.round(ms)])
    },
    /** True when a transfer of the account awaits funds. */
    async isWaiting(accountId: string): Promise<boolean> {
      return readFirst(readWaiting, await driver.query(sql.waiting, [accountId]))?.waiting === true
    },
  }
}

const readWatched: (row: Row) => WatchedAccount = rowDecoder('watched account', {
  accountId: Column.text,
  cursor: Column.nullable(Column.text),
  seenTo: Column.text,
  readingFrom: Column.nullable(Column.text),
  idle: Column.integer,
})

const readWaiting = rowDecoder('account', { waiting: Column.boolean })
