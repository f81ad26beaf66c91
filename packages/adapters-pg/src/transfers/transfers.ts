import type { Amount, Logger, Observation, Stage, StoredTransfer, TransferFailure, TransferStatus } from '@outlay/core'
import { type ChangingTransfer, Column, type DecideChange, type ObserveRules, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { withLockTimeout } from '../database/lock-timeout.ts'
import { readFirst, readIds } from '../database/read-rows.ts'
import { type Row, type Statement, statements, storableJson } from '../database/statement.ts'
import { createFoundTransferStore } from './found-transfers.ts'
import { ensureJobsText, wakeJobsText } from './jobs.ts'
import { createPaidAmountStore } from './paid-amounts.ts'
import { createReturnStore } from './returns.ts'
import { readOne, transferColumns } from './transfer-row.ts'

/** An adopted transfer was not enqueued here, so its time since the enqueue cannot be measured. */
const remoteText = `select t.id, t.remote_id, t.stage, t.status, t.failure, {{schema}}.iso(t.reached_at) as reached_at,
      case when t.idempotency_key not like 'adopted %' then {{schema}}.iso(t.created_at) end as created_at,
      t.request -> 'destination' ->> 'transferType' as transfer_type,
      t.request -> 'source' ->> 'transferType' as source_type,
      coalesce(t.paid -> 'amount', t.request -> 'amount') as known_amount,
      coalesce(t.paid ->> 'changedAt', case when t.status = 'complete' then {{schema}}.iso(t.reached_at) end) as amount_said_at
    from {{schema}}.transfer t
    where t.remote_id = any ($2::text[]) and t.account_id = {{schema}}.account_of($1) and t.gateway = {{schema}}.gateway_of($1)`

/** What another transaction wrote until it unlocked a transfer counts, so its returns are read behind the lock. */
const locking = (how: '' | 'nowait') => `with locked as (${remoteText} order by t.id for no key update ${how})
    select l.*, {{schema}}.has_open_returns(l.id) as has_open_returns from locked l order by l.id`

const texts = {
  get: `select ${transferColumns} from {{schema}}.transfer t where t.id = $1`,
  get_by_key: `select ${transferColumns} from {{schema}}.transfer t where t.account_id = $1 and t.idempotency_key = $2`,
  lock_remote: locking(''),
  lock_remote_now: locking('nowait'),
  // Locked transfers are known, and come without their columns. A full join, which no loop can do: Postgres expects one row of each, and gets hundreds.
  lock_free_remote: `with free as (${remoteText} order by t.id for no key update skip locked),
    known as (select k.id, k.remote_id from {{schema}}.transfer k
      where k.remote_id = any ($2::text[]) and k.account_id = {{schema}}.account_of($1) and k.gateway = {{schema}}.gateway_of($1))
    select k.remote_id, f.id, f.stage, f.status, f.failure, f.reached_at, f.created_at, f.transfer_type, f.source_type, f.known_amount, f.amount_said_at,
      case when f.id is not null then {{schema}}.has_open_returns(f.id) end as has_open_returns
    from known k full join free f on f.id = k.id order by f.id`,
  // The order keeps two observers from waiting for each other. Of an account that moves nothing is recorded: its transfers may be on their way, and it would not move for that.
  record_early_observations: `insert into {{schema}}.early_observation (account_id, remote_id)
    select $1, u.remote_id from unnest($2::text[]) as u (remote_id) where {{schema}}.is_here($1) order by 2 on conflict do nothing`,
  record_early_observations_soon:
    'select {{schema}}.record_early_observations($1, $2::text[])::text where {{schema}}.is_here($1)',
  adopt_found: 'select id, account_id, remote_id, problem from {{schema}}.adopt_found($1)',
  funded_by: 'select funded_by as id from {{schema}}.funded_by($1::text[])',
  funded_unseen: 'select funded_unseen as id from {{schema}}.funded_unseen()',
  apply_changes: 'select {{schema}}.apply_changes($1::jsonb) as count',
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

/**
 * What an observation does about a locked row. In a host's transaction it waits. A worker skips the row, which it polls again. A webhook
 * fails with the code `55P03`, since nobody else may ever see what it says.
 */
type Locking = 'wait' | 'skip' | 'fail'

/** The statements that an observation begins with. */
const observing = <S extends { readonly [K in keyof typeof texts]: Statement }>(sql: S) => ({
  wait: { lock: sql.lock_remote, note: sql.record_early_observations },
  skip: { lock: sql.lock_free_remote, note: sql.record_early_observations_soon },
  fail: { lock: sql.lock_remote_now, note: sql.record_early_observations },
})

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
  const returns = createReturnStore(driver, tokens, logger)
  const payments = createPaidAmountStore(driver, tokens, logger)
  const foundTransfers = createFoundTransferStore(driver, tokens, logger)
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
    /** Applies observations of one account; counts changed and newly found transfers, and gives the ids that were skipped. */
    async apply(tx: Tx, accountId: string, seen: readonly Observation[], rules: ObserveRules, locking: Locking) {
      if (seen.length === 0) return { changed: 0, found: 0, skipped: new Set<string>() }
      const { lock, note } = observing(sql)[locking]
      const rows = (await driver.execute(tx, lock, [accountId, seen.map((one) => one.remoteId)])).map(readObserved)
      const early = findEarly(rows, seen, rules.decide)
      if (early.size > 0) await driver.execute(tx, note, [accountId, [...early]])
      const found = await foundTransfers.record(tx, accountId, findUnknown(rows, seen, rules, accountId))
      const changes = decideChanges(rows, seen, rules, accountId)
      const paid = await payments.record(tx, rows, changes.filter(isComplete), seen)
      const returned = await returns.record(tx, findFree(rows), seen, locking === 'fail')
      if (changes.length > 0) await driver.execute(tx, sql.apply_changes, [storableJson(changes)])
      await wakeFunded(tx, findComplete(changes))
      return { changed: countIds(changes, [...returned, ...paid]), found, skipped: findSkipped(rows) }
    },
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

/** Remote ids that no transfer has yet, of observations that would change a transfer that was just submitted. */
function findEarly(
  rows: readonly ObservedRow[],
  observations: readonly Observation[],
  decide: DecideChange,
): Set<string> {
  const known = new Set(rows.map((row) => row.remoteId))
  const submitted = { stage: 'submitted', status: 'pending', failure: null } as const
  const early = observations.filter((seen) => !known.has(seen.remoteId) && decide(submitted, seen) !== undefined)
  return new Set(early.map((seen) => seen.remoteId))
}

/** Rows for the transfers that none here has the id of yet, one each; the latest observation counts. */
function findUnknown(
  rows: readonly ObservedRow[],
  observations: readonly Observation[],
  { describe }: ObserveRules,
  account: string,
) {
  const known = new Set(rows.map((row) => row.remoteId))
  const unknown = observations
    .filter((seen) => !known.has(seen.remoteId))
    .flatMap((seen) => describe(seen, account) ?? [])
  return [...new Map(unknown.map((found) => [found.remoteId, found])).values()]
}

/** A transfer that an observation is about. */
interface ObservedRow {
  readonly remoteId: string
  /** Undefined when another transaction has it locked. */
  readonly free?: ReturnType<typeof readChanging> & {
    readonly origin: ChangingTransfer['origin']
    /** The rails or chains of both ends. */
    readonly transferTypes: readonly string[]
  }
}

const readRemote = rowDecoder('observed transfer', { id: Column.nullable(Column.text), remoteId: Column.text })

const readChanging = rowDecoder('observed transfer', {
  id: Column.text,
  stage: Column.word<Stage>(),
  status: Column.word<TransferStatus>(),
  failure: Column.nullable(Column.json<TransferFailure>()),
  reachedAt: Column.nullable(Column.text),
  hasOpenReturns: Column.boolean,
  knownAmount: Column.json<Amount>(),
  amountSaidAt: Column.nullable(Column.text),
})

const readOrigin = rowDecoder('observed transfer', {
  createdAt: Column.nullable(Column.text),
  transferType: Column.or(Column.text, ''),
  sourceType: Column.or(Column.text, ''),
})

function readObserved(row: Row): ObservedRow {
  const { id, remoteId } = readRemote(row)
  return id === null ? { remoteId } : { remoteId, free: { ...readChanging(row), ...endsOf(row) } }
}

/** The ends of a transfer, and where it came from: `origin` is undefined for an adopted one. */
function endsOf(row: Row) {
  const { createdAt, transferType, sourceType } = readOrigin(row)
  const origin = createdAt === null ? undefined : { createdAt, transferType }
  return { origin, transferTypes: [sourceType, transferType] }
}

/** Ids at the service of transfers that another transaction has locked: nothing is applied to them. */
const findSkipped = (rows: readonly ObservedRow[]) =>
  new Set(rows.filter(({ free }) => free === undefined).map(({ remoteId }) => remoteId))

const findFree = (rows: readonly ObservedRow[]) =>
  rows.flatMap(({ remoteId, free }) =>
    free === undefined ? [] : [{ id: free.id, remoteId, hasOpenReturns: free.hasOpenReturns }],
  )

const countIds = (changes: readonly { readonly id: string }[], ids: readonly string[]): number =>
  new Set([...changes.map(({ id }) => id), ...ids]).size

const findComplete = (changes: readonly { readonly id: string; readonly status: TransferStatus }[]) =>
  changes.filter(isComplete).map(({ id }) => id)

const isComplete = ({ status }: { readonly status: TransferStatus }): boolean => status === 'complete'

function decideChanges(
  rows: readonly ObservedRow[],
  observations: readonly Observation[],
  rules: ObserveRules,
  account: string,
) {
  const seen = new Map<string, Observation[]>()
  for (const observation of observations) {
    const list = seen.get(observation.remoteId) ?? []
    seen.set(observation.remoteId, [...list, observation])
  }
  return rows.flatMap(({ remoteId, free }) => {
    if (free === undefined) return []
    const { id, origin, transferTypes, knownAmount: _amount, amountSaidAt: _at, ...stored } = free
    let current: Parameters<DecideChange>[0] = stored
    const events: string[] = []
    for (const observation of seen.get(remoteId) ?? []) {
      const change = rules.decide({ ...current, origin }, observation)
      if (change === undefined) continue
      const { stage, status, failure, reachedAt } = change
      current = { stage, status, failure, reachedAt }
      events.push(...change.events.map((event) => event.type))
    }
    const { reachedAt, ...state } = current
    if (events.length === 0) return []
    const windowMs = state.status === 'complete' ? rules.returnWindowMs(transferTypes, account) : undefined
    return [{ id, ...state, reached_at: reachedAt ?? null, return_window_ms: windowMs, events }]
  })
}
