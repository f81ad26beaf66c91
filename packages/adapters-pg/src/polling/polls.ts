import { Column, type PolledTransfer, type PollTrouble, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readIds } from '../database/read-rows.ts'
import { type Row, statements } from '../database/statement.ts'
import { findByRemoteId } from '../transfers/remote-lookup.ts'
import { withTraceContext } from '../transfers/trace-contexts.ts'
import { readPolled } from '../transfers/transfer-row.ts'

/*
 * Statements here that lock several transfers wait for no lock: a host may have locked the same ones in an order of its own. A
 * skipped transfer is polled when its lease ends, or found by the next sweep.
 */
const texts = {
  lease_due: 'select * from {{schema}}.lease_polls_for_gateways($1, $2, $3::text[], $4::text[])',
  // A transfer that was seen is not missing any more. What keeps its status from being read now is its reason, unless it was missing before.
  reschedule: `with free as (
      select n.id, n.ms, n.seen, case when n.asked and t.reason is distinct from 'missing_at_service' then n.trouble else t.reason end as reason
      from unnest($1::text[], $2::bigint[], $3::boolean[], $4::boolean[], $5::text[]) as n (id, ms, seen, asked, trouble)
      join {{schema}}.transfer t on t.id = n.id and t.stage = 'submitted' for no key update of t skip locked
    )
    update {{schema}}.transfer t
    set next_poll_at = clock_timestamp() + f.ms * interval '1 millisecond',
      unknown_since = case when not f.seen then t.unknown_since end, reason = case when not f.seen then f.reason end,
      updated_at = case when not f.seen and f.reason is distinct from t.reason then clock_timestamp() else t.updated_at end
    from free f where t.id = f.id`,
  mark_missing: 'select mark_missing as id from {{schema}}.mark_missing($1, $2)',
  // These were leased but not polled.
  give_back: `with free as (
      select t.id from {{schema}}.transfer t where t.id = any ($1::text[]) and t.stage = 'submitted' for no key update skip locked
    )
    update {{schema}}.transfer t set next_poll_at = clock_timestamp(), polls = t.polls - 1 from free f where t.id = f.id`,
  listed: `select l.id, l.remote_id, l.transfer_type, l.polls, l.due from unnest($2::text[]) as s (remote_id)
    cross join lateral (${findByRemoteId(
      `x.id, x.remote_id, x.request -> 'destination' ->> 'transferType' as transfer_type, x.polls, x.stage, x.next_poll_at <= statement_timestamp() as due`,
      '$1',
      's.remote_id',
    )}) l
    where l.stage = 'submitted' and l.due is not null`,
  // A transfer that was not due is deferred, never brought forward.
  reschedule_after_page: `with free as (
      select n.* from unnest($1::text[], $2::bigint[], $3::integer[], $4::boolean[]) as n (id, ms, polls, due)
      join {{schema}}.transfer t on t.id = n.id and t.stage = 'submitted' for no key update of t skip locked
    )
    update {{schema}}.transfer t
    set next_poll_at = greatest(case when not f.due then t.next_poll_at end, clock_timestamp() + f.ms * interval '1 millisecond'),
      polls = greatest(t.polls, f.polls), unknown_since = null, reason = null
    from free f where t.id = f.id`,
  is_due: `select 1 as due from {{schema}}.transfer t
    where t.account_id = {{schema}}.account_of($1) and t.gateway = {{schema}}.gateway_of($1) and t.stage = 'submitted' and t.next_poll_at <= statement_timestamp()
    order by t.next_poll_at limit 1`,
  apply_early_observations: `with free as (
      select s.account_id, s.remote_id, t.id from {{schema}}.early_observation s
      join {{schema}}.transfer t on t.remote_id = s.remote_id and t.account_id = {{schema}}.account_of(s.account_id) and t.gateway = {{schema}}.gateway_of(s.account_id)
      for update of s skip locked for no key update of t skip locked
    ), listed as (
      delete from {{schema}}.early_observation s using free f where s.account_id = f.account_id and s.remote_id = f.remote_id
    ), old as (
      select s.account_id, s.remote_id from {{schema}}.early_observation s
      where s.seen_at < clock_timestamp() - interval '1 hour' for update skip locked
    ), forgotten as (
      delete from {{schema}}.early_observation s using old o where s.account_id = o.account_id and s.remote_id = o.remote_id
    ), wanted as (
      -- It was complete by the answer to its create already, and only a return is left to be reported.
      insert into {{schema}}.return_window as w (transfer_id, account_id, ends_at, wanted)
      select f.id, f.account_id, clock_timestamp(), true from free f
      join {{schema}}.transfer t on t.id = f.id and t.status = 'complete' where $1 order by f.id
      on conflict (transfer_id) do update set wanted = true, closed_at = null, missing_at = null returning w.account_id
    ), due as (
      insert into {{schema}}.return_reading as r (account_id) select distinct w.account_id from wanted w order by 1
      on conflict (account_id) do update set next_at = least(r.next_at, clock_timestamp())
    )
    update {{schema}}.transfer t set next_poll_at = clock_timestamp() from free f where t.id = f.id and t.stage = 'submitted'`,
} as const

const tracedTexts = { ...texts, lease_due_traced: withTraceContext(texts.lease_due, 'id') } as const

/** A submitted transfer that a page of its account's list has. */
export interface ListedTransfer {
  readonly transferId: string
  readonly remoteId: string
  readonly transferType: string
  /** How often it was polled so far. */
  readonly polls: number
  /** True when it was due for a poll that no worker had leased. */
  readonly due: boolean
}

/** The next poll of a transfer that was polled by itself. */
export interface NextPoll {
  readonly id: string
  readonly ms: number
  readonly seen: boolean
  /** Null where there is none; absent where it was not asked for. */
  readonly trouble?: PollTrouble | null | undefined
}

/** The next poll of a transfer that a page has. */
export interface RescheduledPoll {
  readonly id: string
  readonly ms: number
  /** How often it was polled, this time included. */
  readonly polls: number
  /** True when the next poll is to be at that time; false when it may only be deferred to that time. */
  readonly due: boolean
}

/** The store of polls: which submitted transfers are due for one. */
export type PollStore = ReturnType<typeof createPollStore>

/** Makes the store of polls on a driver. */
export function createPollStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, tracedTexts)
  return {
    /**
     * Leases due transfers for `leaseMs` milliseconds. Skips accounts whose list a worker is reading, those of `except`, and
     * other gateways. `traced` adds the trace contexts.
     */
    async leaseDue(
      limit: number,
      leaseMs: number,
      except: readonly string[],
      gateways: readonly string[],
      traced = false,
    ): Promise<readonly PolledTransfer[]> {
      const statement = traced ? sql.lease_due_traced : sql.lease_due
      return (await driver.query(statement, [limit, leaseMs, except, gateways])).map(readPolled)
    },
    /** Makes leased transfers due again that were not polled. */
    async giveBack(ids: readonly string[]): Promise<void> {
      if (ids.length > 0) await driver.query(sql.give_back, [ids])
    },
    /** Submitted transfers of an account with these ids at the service. */
    async listed(accountId: string, remoteIds: readonly string[]): Promise<readonly ListedTransfer[]> {
      const rows = await driver.query(sql.listed, [accountId, remoteIds])
      return rows.map(readListed)
    },
    /** Sets when the next poll of transfers that a page has is due. */
    async rescheduleAfterPage(polls: readonly RescheduledPoll[]): Promise<void> {
      if (polls.length === 0) return
      await driver.query(sql.reschedule_after_page, [
        polls.map((poll) => poll.id),
        polls.map((poll) => Math.round(poll.ms)),
        polls.map((poll) => poll.polls),
        polls.map((poll) => poll.due),
      ])
    },
    /** True when a transfer of the account is due that no worker has leased. */
    async isDue(accountId: string): Promise<boolean> {
      return (await driver.query(sql.is_due, [accountId])).length > 0
    },
    /**
     * Makes transfers due that have an early observation, complete ones only with `readsReturns`; forgets early observations without a
     * transfer after an hour.
     */
    async applyEarlyObservations(readsReturns = false): Promise<void> {
      await driver.query(sql.apply_early_observations, [readsReturns])
    },
    /** Sets when the next poll is due, for transfers that are still submitted, which were seen at the service, and what kept others from being read. */
    async reschedule(polls: readonly NextPoll[]): Promise<void> {
      if (polls.length === 0) return
      await driver.query(sql.reschedule, [
        polls.map((poll) => poll.id),
        polls.map((poll) => Math.round(poll.ms)),
        polls.map((poll) => poll.seen),
        polls.map((poll) => poll.trouble !== undefined),
        polls.map((poll) => poll.trouble ?? null),
      ])
    },
    /** Marks transfers that the service does not know; returns those that were missing for `patienceMs` by now. */
    async markMissing(ids: readonly string[], patienceMs: number): Promise<readonly string[]> {
      if (ids.length === 0) return []
      return readIds(await driver.query(sql.mark_missing, [ids, patienceMs]))
    },
  }
}

const readListed: (row: Row) => ListedTransfer = rowDecoder('polled transfer', {
  transferId: Column.from('id', Column.text),
  remoteId: Column.text,
  transferType: Column.or(Column.text, ''),
  polls: Column.integer,
  due: Column.or(Column.boolean, false),
})
