import type { FollowedTransfer } from '@outlay/core'
import type { Driver } from './driver.ts'
import { statements } from './statement.ts'
import { withTraceContext } from './trace-contexts.ts'
import { readFollowed } from './transfer-row.ts'

/*
 * What locks several transfers here waits for nobody: a host may have locked the same ones in an order of its own. One that is
 * passed over is looked at when its lease ends, or met by the next sweep.
 */
const texts = {
  take_due: 'select * from {{schema}}.take_unread($1, $2, $3::text[])',
  // One that was seen is not missing any more.
  look_again: `with free as (
      select n.* from unnest($1::text[], $2::bigint[], $3::boolean[]) as n (id, ms, seen)
      join {{schema}}.transfer t on t.id = n.id and t.stage = 'submitted' for no key update of t skip locked
    )
    update {{schema}}.transfer t
    set follow_at = clock_timestamp() + f.ms * interval '1 millisecond',
      unknown_since = case when not f.seen then t.unknown_since end, reason = case when not f.seen then t.reason end
    from free f where t.id = f.id`,
  mark_missing: 'select mark_missing as id from {{schema}}.mark_missing($1, $2)',
  // Nobody looked at these after all.
  give_back: `with free as (
      select t.id from {{schema}}.transfer t where t.id = any ($1::text[]) and t.stage = 'submitted' for no key update skip locked
    )
    update {{schema}}.transfer t set follow_at = clock_timestamp(), looks = t.looks - 1 from free f where t.id = f.id`,
  met: `select t.id, t.remote_id, t.request -> 'destination' ->> 'transferType' as transfer_type, t.looks,
      t.follow_at <= statement_timestamp() as due
    from {{schema}}.transfer t
    where t.remote_id = any ($2::text[]) and t.account_id = $1 and t.stage = 'submitted' and t.follow_at is not null`,
  // What was not due is put off, never brought forward.
  look_after_page: `with free as (
      select n.* from unnest($1::text[], $2::bigint[], $3::integer[], $4::boolean[]) as n (id, ms, looks, due)
      join {{schema}}.transfer t on t.id = n.id and t.stage = 'submitted' for no key update of t skip locked
    )
    update {{schema}}.transfer t
    set follow_at = greatest(case when not f.due then t.follow_at end, clock_timestamp() + f.ms * interval '1 millisecond'),
      looks = greatest(t.looks, f.looks), unknown_since = null, reason = null
    from free f where t.id = f.id`,
  is_due: `select 1 as due from {{schema}}.transfer t
    where t.account_id = $1 and t.stage = 'submitted' and t.follow_at <= statement_timestamp()
    order by t.follow_at limit 1`,
  look_at_sighted: `with free as (
      select s.account_id, s.remote_id, t.id from {{schema}}.sighting s
      join {{schema}}.transfer t on t.remote_id = s.remote_id and t.account_id = s.account_id
      for update of s skip locked for no key update of t skip locked
    ), met as (
      delete from {{schema}}.sighting s using free f where s.account_id = f.account_id and s.remote_id = f.remote_id
    ), old as (
      select s.account_id, s.remote_id from {{schema}}.sighting s
      where s.seen_at < clock_timestamp() - interval '1 hour' for update skip locked
    ), forgotten as (
      delete from {{schema}}.sighting s using old o where s.account_id = o.account_id and s.remote_id = o.remote_id
    )
    update {{schema}}.transfer t set follow_at = clock_timestamp() from free f where t.id = f.id and t.stage = 'submitted'`,
} as const

const tracedTexts = { ...texts, take_due_traced: withTraceContext(texts.take_due, 'id') } as const

/** A submitted transfer that a page of its account's list has. */
export interface MetTransfer {
  readonly transferId: string
  readonly remoteId: string
  readonly transferType: string
  /** How often it was looked at so far. */
  readonly looks: number
  /** True when it was due for a look that nobody had taken. */
  readonly due: boolean
}

/** The next look at a transfer that was met in a page. */
export interface LookAfterPage {
  readonly id: string
  readonly ms: number
  /** How often it was looked at, this time included. */
  readonly looks: number
  /** True when the next look is to be at that time; false when it may only be later than it would be. */
  readonly due: boolean
}

/** The store of looks: which submitted transfers are due for one. */
export type LookStore = ReturnType<typeof createLookStore>

/** Makes the store of looks on a driver. */
export function createLookStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, tracedTexts)
  return {
    /**
     * Takes transfers that are due, whose account's list nobody reads, and whose account is none of `except`; other workers
     * keep away for `leaseMs` milliseconds. `traced` adds their contexts.
     */
    async takeDue(
      limit: number,
      leaseMs: number,
      except: readonly string[],
      traced = false,
    ): Promise<readonly FollowedTransfer[]> {
      const statement = traced ? sql.take_due_traced : sql.take_due
      return (await driver.query(statement, [limit, leaseMs, except])).map(readFollowed)
    },
    /** Makes taken transfers due again that nobody looked at. */
    async giveBack(ids: readonly string[]): Promise<void> {
      if (ids.length > 0) await driver.query(sql.give_back, [ids])
    },
    /** Submitted transfers of an account with these ids at the service. */
    async met(accountId: string, remoteIds: readonly string[]): Promise<readonly MetTransfer[]> {
      const rows = await driver.query(sql.met, [accountId, remoteIds])
      return rows.map((row) => ({
        transferId: row['id'] as string,
        remoteId: row['remote_id'] as string,
        transferType: (row['transfer_type'] ?? '') as string,
        looks: row['looks'] as number,
        due: row['due'] === true,
      }))
    },
    /** Says when the next look at transfers that were met in a page is due. */
    async lookAfterPage(looks: readonly LookAfterPage[]): Promise<void> {
      if (looks.length === 0) return
      await driver.query(sql.look_after_page, [
        looks.map((look) => look.id),
        looks.map((look) => Math.round(look.ms)),
        looks.map((look) => look.looks),
        looks.map((look) => look.due),
      ])
    },
    /** True when a transfer of the account is due that nobody has taken. */
    async isDue(accountId: string): Promise<boolean> {
      return (await driver.query(sql.is_due, [accountId])).length > 0
    },
    /** Makes transfers due that were told of before their ids were known; forgets what was told for an hour in vain. */
    async lookAtSighted(): Promise<void> {
      await driver.query(sql.look_at_sighted, [])
    },
    /** Says when the next look is due, for those that are still followed, and which were seen at the service. */
    async lookAgain(
      looks: readonly { readonly id: string; readonly ms: number; readonly seen: boolean }[],
    ): Promise<void> {
      if (looks.length === 0) return
      await driver.query(sql.look_again, [
        looks.map((look) => look.id),
        looks.map((look) => Math.round(look.ms)),
        looks.map((look) => look.seen),
      ])
    },
    /** Marks transfers that the service does not know; answers with those that were missing for `patienceMs` by now. */
    async markMissing(ids: readonly string[], patienceMs: number): Promise<readonly string[]> {
      if (ids.length === 0) return []
      return (await driver.query(sql.mark_missing, [ids, patienceMs])).map((row) => row['id'] as string)
    },
  }
}
