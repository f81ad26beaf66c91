import type { Logger, StoredTransfer } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { withLockTimeout } from '../database/lock-timeout.ts'
import { readFirst, readIds } from '../database/read-rows.ts'
import { type Row, type Statement, statements } from '../database/statement.ts'
import { ensureJobsText, wakeJobsText } from './jobs.ts'
import { createObservedTransfers } from './observed-transfers.ts'
import { readOne, transferColumns } from './transfer-row.ts'

const texts = {
  get: `select ${transferColumns} from {{schema}}.transfer t where t.id = $1`,
  get_by_key: `select ${transferColumns} from {{schema}}.transfer t where t.account_id = $1 and t.idempotency_key = $2`,
  adopt_found: 'select id, account_id, remote_id, problem from {{schema}}.adopt_found($1)',
  funded_by: 'select funded_by as id from {{schema}}.funded_by($1::text[])',
  funded_unseen: 'select funded_unseen as id from {{schema}}.funded_unseen()',
  funds_arrived: `with mark as (
      insert into {{schema}}.account (account_id, funds_arrived_at) values ($1, clock_timestamp())
      on conflict (account_id) do update set funds_arrived_at = excluded.funds_arrived_at
    )
    select t.id from {{schema}}.transfer t
    where t.account_id = $1 and t.stage = 'awaiting_funds' and t.reason = 'insufficient_balance' order by t.id for no key update`,
  // A refusal for lack of funds was written while the arrival had not committed yet, so neither of the two saw the other.
  funds_missed: `select t.id from {{schema}}.account f
    join {{schema}}.transfer t
      on t.account_id = f.account_id and t.stage = 'awaiting_funds' and t.reason = 'insufficient_balance'
    join {{schema}}.attempt a on a.transfer_id = t.id and a.attempt = t.attempt
    where f.funds_arrived_at > greatest(a.claimed_at, clock_timestamp() - interval '1 hour')
    order by t.id limit 5000 for no key update of t skip locked`,
  // A claim deferred them for a pause that was over when the claim committed, so the resume did not see them.
  // From one account to the next, since those that stay paused may have very many.
  resumed_unseen: `with recursive waiting as (
      (select t.account_id from {{schema}}.transfer t where t.reason = 'account_paused' order by t.account_id limit 1)
      union all
      select (select t.account_id from {{schema}}.transfer t
        where t.reason = 'account_paused' and t.account_id > w.account_id order by t.account_id limit 1)
      from waiting w where w.account_id is not null
    ), missed as materialized (
      select t.id from {{schema}}.transfer t
      where t.reason = 'account_paused' and t.stage = 'queued' and t.account_id = any (array(
        select w.account_id from waiting w where not exists (
          select 1 from {{schema}}.held_account h where h.account_id = w.account_id)))
      order by t.id limit 5000 for no key update skip locked
    ), cleared as (
      update {{schema}}.transfer t set reason = null from missed m where t.id = m.id returning t.id, t.not_before
    )
    select {{schema}}.queue_wake(array_agg({{schema}}.job_id(c.id)), array_agg(c.not_before), null) as count from cleared c`,
  // An adopted transfer is not the engine's to send again: the engine has no key for it.
  lock_waiting: `select t.id from {{schema}}.transfer t
    where t.id = $1 and (t.stage in ('blocked', 'awaiting_funds', 'queued') or t.reason = 'missing_at_service')
      and t.idempotency_key not like 'adopted %' for no key update`,
  // An unknown outcome stays unknown since the same time. A release lets one more attempt go, whose answer is judged by that age.
  // A transfer that the service has lost is sent again under its key; its id at the service has no meaning any more. Its doubt,
  // and the doubt of a transfer that a restore left behind, is as old as its first request may be, and so is the key.
  requeue: `with doubtful as (
      select t.id, case when t.stage <> 'submitted' and t.reason is distinct from 'reconcile' then t.unknown_since
        else least(t.unknown_since, coalesce(
          (select case when not bool_or(a.outcome is not distinct from 'reconciled') then min(a.claimed_at) filter (where a.step is null) end
            from {{schema}}.attempt a where a.transfer_id = t.id),
          greatest(t.created_at, t.not_before))) end as since, case when t.stage = 'submitted' then t.remote_id end as remote_id,
        -- A reconciliation has blocked it while people still had to approve it.
        t.stage = 'blocked' and exists (select from {{schema}}.hold h where h.transfer_id = t.id) as is_held
      from {{schema}}.transfer t where t.id = any ($1::text[])
    ), changed as (
      update {{schema}}.transfer t
      set stage = case when f.is_held then 'held' else 'queued' end,
          reason = case when f.is_held then (select min(h.name) from {{schema}}.hold h where h.transfer_id = t.id) when $2::boolean and f.since is not null then 'released' end,
          released_at = case when $2 and f.since is not null then clock_timestamp() else t.released_at end,
          unknown_since = f.since,
          remote_id = case when t.stage <> 'submitted' then t.remote_id end, next_poll_at = null,
          status = case when t.stage <> 'submitted' then t.status else 'pending' end,
          failure = case when t.stage <> 'submitted' then t.failure end,
          event_sequence = t.event_sequence + 1, updated_at = clock_timestamp()
      from doubtful f where t.id = f.id returning t.id, t.event_sequence, t.stage
    ), unmatched as (
      -- The service may find it again under that id.
      update {{schema}}.attempt a set unmatched = true, unmatched_id = a.remote_id from doubtful f
      where a.transfer_id = f.id and a.remote_id = f.remote_id and a.unmatched is null
    ), doubtless as (
      -- No money moves by a registration, so its time starts again.
      update {{schema}}.counterparty_details d set unknown_since = null
      where $2 and d.transfer_id = any ($1::text[]) and d.unknown_since is not null
    )
    select {{schema}}.record_events(array_agg(c.id), array_agg(c.event_sequence),
      array_agg(case c.stage when 'held' then 'transfer.held' else 'transfer.released' end))::text from changed c having count(*) > 0`,
  wake_jobs: wakeJobsText,
  ensure_jobs: ensureJobsText,
  notify: `select pg_notify('{{channel}}', '')::text`,
} as const

/** The store of transfers. */
export type TransferStore<Tx> = ReturnType<typeof createTransferStore<Tx>>

/** What became of transfers that were found at the service. */
export interface Adopted {
  /** Ids of the new rows. */
  readonly ids: readonly string[]
  /** What could not be written, and the code of the error. */
  readonly failed: readonly { readonly accountId: string; readonly remoteId: string; readonly code: string }[]
}

const readAdoption = rowDecoder('adoption', { id: Column.nullable(Column.text) })
const readProblem = rowDecoder('adoption', {
  accountId: Column.text,
  remoteId: Column.text,
  code: Column.from('problem', Column.text),
})

/** Reads the results of the functions that adopt. */
const readAdopted = (rows: readonly Row[]): Adopted => ({
  ids: rows.flatMap((row) => readAdoption(row).id ?? []),
  failed: rows.filter((row) => readAdoption(row).id === null).map(readProblem),
})

const readCount = rowDecoder('change', { count: Column.integer })

/** How a store of transfers works. */
interface TransferStoreOptions {
  /** Announces with NOTIFY what is sent again. Default true. */
  readonly notifies?: boolean
  /** Where held returns and other amounts than were asked for are logged. Default: nowhere. */
  readonly logger?: Logger
}

type Tokens = Readonly<Record<string, string>>

/** Rows as the transaction sees them, or as they are committed. */
const readRows = <Tx>(driver: Driver<Tx>, statement: Statement, values: readonly unknown[], tx: Tx | undefined) =>
  tx === undefined ? driver.query(statement, values) : driver.execute(tx, statement, values)

/** Makes the store of transfers on a driver. */
export function createTransferStore<Tx>(driver: Driver<Tx>, tokens: Tokens, options: TransferStoreOptions = {}) {
  const sql = statements(tokens, texts)
  const { notifies = true, logger } = options
  const requeue = async (tx: Tx, rows: readonly Row[], byPerson = false): Promise<number> => {
    const ids = readIds(rows)
    if (ids.length === 0) return 0
    await driver.execute(tx, sql.requeue, [ids, byPerson])
    await driver.execute(tx, sql.wake_jobs, [ids])
    await driver.execute(tx, sql.ensure_jobs, [ids])
    if (notifies) await driver.execute(tx, sql.notify, [])
    return ids.length
  }
  /** Releases the transfers that wait for funds which these transfers have brought. */
  const wakeFunded = async (tx: Tx, ids: readonly unknown[]): Promise<void> => {
    if (ids.length > 0) await requeue(tx, await driver.execute(tx, sql.funded_by, [ids]))
  }
  return {
    get: async (id: string, tx?: Tx): Promise<StoredTransfer | undefined> =>
      readOne(await readRows(driver, sql.get, [id], tx)),
    getByKey: async (accountId: string, key: string, tx?: Tx): Promise<StoredTransfer | undefined> =>
      readOne(await readRows(driver, sql.get_by_key, [accountId, key], tx)),
    ...createObservedTransfers(driver, tokens, { logger, wakeFunded }),
    /** Adopts transfers found at the service that certainly have no row here. */
    async adoptFound(limit: number): Promise<Adopted> {
      return withLockTimeout(driver, async (tx) => {
        const adopted = readAdopted(await driver.execute(tx, sql.adopt_found, [limit]))
        await wakeFunded(tx, adopted.ids)
        return adopted
      })
    },
    async fundsArrived(tx: Tx, accountId: string) {
      return requeue(tx, await driver.execute(tx, sql.funds_arrived, [accountId]))
    },
    /** Sends transfers out again that were claimed before funds arrived and refused as that was committed. */
    async releaseMissed(): Promise<number> {
      return withLockTimeout(driver, async (tx) => {
        const missed = await requeue(tx, await driver.execute(tx, sql.funds_missed, []))
        return missed + (await requeue(tx, await driver.execute(tx, sql.funded_unseen, [])))
      })
    },
    /** Releases transfers that a claim deferred for a pause as it ended. Returns how many. */
    async releaseResumed(): Promise<number> {
      return readFirst(readCount, await driver.query(sql.resumed_unseen, []))?.count ?? 0
    },
    async release(tx: Tx, id: string) {
      return (await requeue(tx, await driver.execute(tx, sql.lock_waiting, [id]), true)) > 0
    },
  }
}
