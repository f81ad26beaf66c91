import type { Amount, Logger, Observation, Stage, TransferFailure, TransferStatus } from '@outlay/core'
import {
  type AccountObservations,
  type ChangingTransfer,
  Column,
  type DecideChange,
  type ObserveRules,
  rowDecoder,
} from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { type Row, type Statement, statements, storableJson } from '../database/statement.ts'
import { createFoundTransferStore } from './found-transfers.ts'
import { createPaidAmountStore } from './paid-amounts.ts'
import { findByRemoteId } from './remote-lookup.ts'
import { createReturnStore } from './returns.ts'

/** An adopted transfer was not enqueued here, so its time since the enqueue cannot be measured. */
const remoteText = `select t.id, {{schema}}.gateway_account(t.gateway, t.account_id) as account, t.remote_id, t.stage, t.status, t.failure, {{schema}}.iso(t.reached_at) as reached_at,
      case when t.idempotency_key not like 'adopted %' then {{schema}}.iso(t.created_at) end as created_at,
      t.request -> 'destination' ->> 'transferType' as transfer_type,
      t.request -> 'source' ->> 'transferType' as source_type,
      coalesce(t.paid -> 'amount', t.request -> 'amount') as known_amount,
      coalesce(t.paid ->> 'changedAt', case when t.status = 'complete' then {{schema}}.iso(t.reached_at) end) as amount_said_at
    from {{schema}}.transfer t`

/**
 * Of several accounts: each remote id has its account beside it. Each is looked up by itself, and then each is locked, in the order of the ids. What
 * another transaction wrote until it unlocked a transfer counts: its returns are read behind the lock, and so is whether it has an id at all. Asked for with the
 * lock, that made Postgres read the index of all ids where it had last counted none.
 */
const locking = (how: '' | 'nowait') => `with known as materialized (
      select k.id from unnest($1::text[], $2::text[]) as s (account, remote_id)
      cross join lateral (${findByRemoteId('x.id', 's.account', 's.remote_id')}) k
      group by k.id order by k.id
    ), locked as materialized (
      select t.* from known k cross join lateral (${remoteText} where t.id = k.id for no key update ${how}) t)
    select l.*, {{schema}}.has_open_returns(l.id) as has_open_returns from locked l where l.remote_id is not null order by l.id`

const texts = {
  lock_remote: locking(''),
  lock_remote_now: locking('nowait'),
  // Locked transfers are known, and come without their columns, as do those that have had another id since the statement began.
  lock_free_remote: `with known as materialized (
      select k.id, k.remote_id from unnest($2::text[]) as s (remote_id)
      cross join lateral (${findByRemoteId('x.id, x.remote_id', '$1', 's.remote_id')}) k
      group by k.id, k.remote_id order by k.id
    ), free as materialized (
      select t.* from known k
      cross join lateral (${remoteText} where t.id = k.id for no key update skip locked) t)
    select $1 as account, k.remote_id, f.id, f.stage, f.status, f.failure, f.reached_at, f.created_at, f.transfer_type, f.source_type, f.known_amount, f.amount_said_at,
      case when f.id is not null then {{schema}}.has_open_returns(f.id) end as has_open_returns
    from known k left join free f on f.id = k.id and f.remote_id = k.remote_id order by f.id`,
  // The order keeps two observers from waiting for each other. Of an account that moves nothing is recorded: its transfers may be on their way, and it would not move for that.
  record_early_observations: `insert into {{schema}}.early_observation (account_id, remote_id)
    select u.account, u.remote_id from unnest($1::text[], $2::text[]) as u (account, remote_id)
    where {{schema}}.is_here(u.account) order by 1, 2 on conflict do nothing`,
  record_early_observations_soon:
    'select {{schema}}.record_early_observations($1, $2::text[])::text where {{schema}}.is_here($1)',
  apply_changes: 'select {{schema}}.apply_changes($1::jsonb) as count',
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

/** What observations did. */
export interface Applied {
  /** How many transfers changed. */
  readonly changed: number
  /** How many were found that no transfer here stands for. */
  readonly found: number
  /** Ids at the service of transfers that another transaction has locked: nothing was applied to them. */
  readonly skipped: ReadonlySet<string>
}

/** What the application of observations needs beside the driver. */
interface ObservedTransferOptions<Tx> {
  readonly logger: Logger | undefined
  /** Releases the transfers that wait for funds which these have brought. */
  readonly wakeFunded: (tx: Tx, ids: readonly string[]) => Promise<void>
}

/** Makes the application of observations: to the transfers of one account, and in a host's transaction of several. */
export function createObservedTransfers<Tx>(
  driver: Driver<Tx>,
  tokens: Readonly<Record<string, string>>,
  { logger, wakeFunded }: ObservedTransferOptions<Tx>,
) {
  const sql = statements(tokens, texts)
  const returns = createReturnStore(driver, tokens, logger)
  const payments = createPaidAmountStore(driver, tokens, logger)
  const foundTransfers = createFoundTransferStore(driver, tokens, logger)
  const write = async (tx: Tx, observed: readonly Observed[], rules: ObserveRules, how: Locking): Promise<Applied> => {
    const early = observed.flatMap(({ account, rows, seen }) =>
      [...findEarly(rows, seen, rules.decide)].map((remoteId) => ({ account, remoteId })),
    )
    if (early.length > 0) await driver.execute(tx, observing(sql)[how].note, parameters(early, how))
    let found = 0
    for (const { account, rows, seen } of observed)
      found += await foundTransfers.record(tx, account, findUnknown(rows, seen, rules, account))
    const changes = observed.flatMap(({ account, rows, seen }) => decideChanges(rows, seen, rules, account))
    const paid = await payments.record(tx, observed, changes.filter(isComplete))
    const returned = await returns.record(
      tx,
      observed.map(({ rows, seen }) => ({ known: findFree(rows), seen })),
      how === 'fail',
    )
    if (changes.length > 0) await driver.execute(tx, sql.apply_changes, [storableJson(changes)])
    await wakeFunded(tx, findComplete(changes))
    const skipped = new Set(observed.flatMap(({ rows }) => findSkipped(rows)))
    return { changed: countIds(changes, [...returned, ...paid]), found, skipped }
  }
  const applyAll = async (
    tx: Tx,
    given: readonly AccountObservations[],
    rules: ObserveRules,
    how: Locking,
  ): Promise<Applied> => {
    const ids = given.flatMap(({ account, observations }) =>
      observations.map(({ remoteId }) => ({ account, remoteId })),
    )
    if (ids.length === 0) return { changed: 0, found: 0, skipped: new Set() }
    const rows = (await driver.execute(tx, observing(sql)[how].lock, parameters(ids, how))).map(readObserved)
    const ofAccount = Map.groupBy(rows, ({ account }) => account)
    const observed = given.map(({ account, observations }) => {
      return { account, rows: ofAccount.get(account) ?? [], seen: observations }
    })
    return write(tx, observed, rules, how)
  }
  return {
    /** Applies observations of one account. */
    apply: (tx: Tx, account: string, observations: readonly Observation[], rules: ObserveRules, how: Locking) =>
      applyAll(tx, [{ account, observations }], rules, how),
    /** Applies observations of several accounts, each of which is named once. Waits for transfers that others have locked. */
    applyMany: (tx: Tx, given: readonly AccountObservations[], rules: ObserveRules) =>
      // What is found is recorded in one order, too.
      applyAll(
        tx,
        given.toSorted((a, b) => (a.account < b.account ? -1 : 1)),
        rules,
        'wait',
      ),
  }
}

/** What was observed of an account, and its transfers which that is about. */
interface Observed {
  readonly account: string
  readonly rows: readonly ObservedRow[]
  readonly seen: readonly Observation[]
}

/** A worker reads of one account, which its statements name once. */
const parameters = (ids: readonly { readonly account: string; readonly remoteId: string }[], how: Locking) => [
  how === 'skip' ? ids[0]?.account : ids.map(({ account }) => account),
  ids.map(({ remoteId }) => remoteId),
]

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
  /** With its gateway. */
  readonly account: string
  readonly remoteId: string
  /** Undefined when another transaction has it locked. */
  readonly free?: ReturnType<typeof readChanging> & {
    readonly origin: ChangingTransfer['origin']
    /** The rails or chains of both ends. */
    readonly transferTypes: readonly string[]
  }
}

const readRemote = rowDecoder('observed transfer', {
  id: Column.nullable(Column.text),
  account: Column.text,
  remoteId: Column.text,
})

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
  const { id, account, remoteId } = readRemote(row)
  return id === null ? { account, remoteId } : { account, remoteId, free: { ...readChanging(row), ...endsOf(row) } }
}

/** The ends of a transfer, and where it came from: `origin` is undefined for an adopted one. */
function endsOf(row: Row) {
  const { createdAt, transferType, sourceType } = readOrigin(row)
  const origin = createdAt === null ? undefined : { createdAt, transferType }
  return { origin, transferTypes: [sourceType, transferType] }
}

/** Ids at the service of transfers that another transaction has locked: nothing is applied to them. */
const findSkipped = (rows: readonly ObservedRow[]) =>
  rows.filter(({ free }) => free === undefined).map(({ remoteId }) => remoteId)

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
  const seen = Map.groupBy(observations, (observation) => observation.remoteId)
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
