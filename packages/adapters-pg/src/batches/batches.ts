import { type Batch, type BatchCounts, type BatchReview, type Metadata, OutlayError } from '@outlay/core'
import { type BatchPort, Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst, readIds } from '../database/read-rows.ts'
import { type Row, type Statement, statements } from '../database/statement.ts'

const counts = ['pending', 'processing', 'failed', 'canceled', 'complete', 'unended', 'resubmitted'] as const

/** One snapshot has what is added up and what is not yet, each change in one of the two. */
const batchText = `select b.id, b.account_id, b.key, b.metadata, b.paused, {{schema}}.iso(b.created_at) as created_at,
    {{schema}}.iso(b.closed_at) as closed_at, {{schema}}.iso(b.completed_at) as completed_at,
    ${counts.map((name) => `b.${name}::integer as ${name}`).join(', ')}
  from {{schema}}.batches b`

const lockedText = 'select b.id from {{schema}}.batch b where b.id = $1 for key share'
const changedText = `select (select count(*) from locked l)::integer as found, (select count(*) from changed c)::integer as changed`

const texts = {
  create_batch: `insert into {{schema}}.batch (id, account_id, key, metadata) values ($1, $2, $3, $4::jsonb) on conflict do nothing returning id`,
  batch: `${batchText} where b.id = $1`,
  batch_by_key: `${batchText} where coalesce(b.account_id, '') = coalesce($1, '') and b.key = $2`,
  // What changes a batch holds its row until the end of the transaction: an account that moves takes the batch along only behind that.
  close_batch: 'select {{schema}}.close_batch($1, $2, $3) as changed',
  cancel_batch: 'select {{schema}}.cancel_batch($1) as count',
  // A cancel holds the row before it locks transfers.
  lock_batch: 'select b.id from {{schema}}.batch b where b.id = $1 for no key update',
  lock_cancelable_of_batch: `select count(*)::integer as count from (
      select t.id from {{schema}}.transfer t
      where t.batch_id = $1 and t.stage in ('held', 'queued', 'awaiting_funds', 'blocked') order by t.id for no key update
    ) l`,
  // Behind the lock, so that it has the hold of another transaction that has just ended.
  held_by_people: `select h.transfer_id as id from {{schema}}.hold h join {{schema}}.transfer t on t.id = h.transfer_id
    where t.batch_id = $1 and t.stage = 'held' and h.name = 'operator' and h.policy = '' order by h.transfer_id limit 1`,
  lock_held_of_batch: `select t.id from {{schema}}.transfer t where t.batch_id = $1 and t.stage = 'held' order by t.id for no key update`,
  review_batch: `with asked as (
      select t.id, t.fingerprint, t.request -> 'amount' ->> 'currency' as currency, (t.request -> 'amount' ->> 'value')::numeric as value
      from {{schema}}.transfer t
      where t.batch_id = $1 and t.stage = 'held' and case when $2::text[] is null then coalesce(t.expires_at > clock_timestamp(), true) else t.id = any ($2) end
        and exists (select from {{schema}}.hold h where h.transfer_id = t.id and h.requirement is not null)
    ), totals as (
      select a.currency, sum(a.value)::text as total from asked a group by a.currency
    )
    select count(*)::integer as transfers, (select coalesce(jsonb_object_agg(s.currency, s.total), '{}') from totals s) as totals,
      encode(sha256(convert_to(coalesce(string_agg(a.id || ' ' || a.fingerprint, e'\\n' order by a.id), ''), 'UTF8')), 'hex') as digest
    from asked a`,
  pause_batch: `with locked as materialized (${lockedText}), again as (
      delete from {{schema}}.resumed_batch r using locked l where r.batch_id = l.id
    ), changed as (
      insert into {{schema}}.paused_batch (batch_id) select l.id from locked l on conflict do nothing returning batch_id
    )
    ${changedText}`,
  resume_batch: `with locked as materialized (${lockedText}), ended as (
      delete from {{schema}}.paused_batch p using locked l where p.batch_id = l.id returning p.batch_id
    ), changed as (
      insert into {{schema}}.resumed_batch (batch_id) select e.batch_id from ended e
      on conflict (batch_id) do update set resumed_at = clock_timestamp(), seen_at = null, woken_to = null returning batch_id
    )
    ${changedText}`,
  hold_batch: 'select {{schema}}.batch_refusal($1, $2, true) as refusal',
  is_canceled: 'select b.canceled_at is not null as canceled from {{schema}}.batch b where b.id = $1',
  is_canceled_locked: 'select b.canceled_at is not null as canceled from {{schema}}.batch b where b.id = $1 for share',
  // One of several accounts stays where it was completed. One of an account is unpacked before that is here.
  is_elsewhere: `select exists (select from {{schema}}.transfer t where t.batch_id = $1 and {{schema}}.is_here(t.account_id)) as elsewhere`,
  // The default of a session may be another one, in which a worker would not see who has just entered a batch.
  read_committed: 'set transaction isolation level read committed',
  fold_batches: 'select {{schema}}.fold_batches($1) as count',
  wake_resumed_batches: 'select {{schema}}.wake_resumed_batches($1) as count',
  notify: `select pg_notify('{{channel}}', '')::text`,
} as const

/** The store of batches. */
export type BatchStore<Tx> = ReturnType<typeof createBatchStore<Tx>>

/** Batches that one transaction adds up at most, the oldest first: later ones wait while so many change in every turn. */
const foldedAtOnce = 1_000

/** Transfers of one resumed batch that one transaction makes due at most. */
const wokenAtOnce = 1_000

/** Makes the store of batches on a driver. */
export function createBatchStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>, notifies = true) {
  const sql = statements(tokens, texts)
  const read = (rows: readonly Row[]): Batch | undefined => readFirst(readBatch, rows)
  const change = createChange(driver, sql)
  const port: BatchPort<Tx> = {
    async createBatch(tx, { id, accountId, key, metadata }) {
      const values = [id, accountId, key, metadata === undefined ? null : JSON.stringify(metadata)]
      const isNew = (await driver.execute(tx, sql.create_batch, values)).length > 0
      if (isNew) return read(await driver.execute(tx, sql.batch, [id]))
      return key === null ? undefined : read(await driver.execute(tx, sql.batch_by_key, [accountId, key]))
    },
    async getBatch(batchId, tx) {
      return read(
        await (tx === undefined ? driver.query(sql.batch, [batchId]) : driver.execute(tx, sql.batch, [batchId])),
      )
    },
    async getBatchByKey(accountId, key, tx) {
      const values = [accountId, key]
      return read(
        await (tx === undefined
          ? driver.query(sql.batch_by_key, values)
          : driver.execute(tx, sql.batch_by_key, values)),
      )
    },
    async reviewBatch(batchId, tx, ids) {
      const values = [batchId, ids ?? null]
      const rows = await (tx === undefined
        ? driver.query(sql.review_batch, values)
        : driver.execute(tx, sql.review_batch, values))
      return readFirst(readReview, rows) ?? { transfers: 0, totals: {}, digest: '' }
    },
    async closeBatch(tx, batchId, { actor, reason }) {
      const rows = await driver.execute(tx, sql.close_batch, [batchId, actor ?? null, reason ?? null])
      const changed = readFirst(readClosed, rows)?.changed ?? null
      if (changed === null) throw hasLeft(batchId)
      return changed
    },
    cancelBatch: async (tx, batchId) =>
      readFirst(readCanceled, await driver.execute(tx, sql.cancel_batch, [batchId]))?.count ?? undefined,
    async lockHeldByPeople(tx, batchId) {
      await driver.execute(tx, sql.lock_batch, [batchId])
      await driver.execute(tx, sql.lock_cancelable_of_batch, [batchId])
      return readIds(await driver.execute(tx, sql.held_by_people, [batchId]))[0]
    },
    lockHeldOfBatch: async (tx, batchId) => readIds(await driver.execute(tx, sql.lock_held_of_batch, [batchId])),
    pauseBatch: (tx, batchId) => change(tx, 'pause_batch', batchId),
    async resumeBatch(tx, batchId) {
      if (!(await change(tx, 'resume_batch', batchId))) return false
      if (notifies) await driver.execute(tx, sql.notify, [])
      return true
    },
    holdBatch: async (tx, batchId, accountId) =>
      readFirst(readRefusal, await driver.execute(tx, sql.hold_batch, [batchId, accountId]))?.refusal === null,
    isBatchCanceled: createIsCanceled(driver, sql),
  }
  return {
    port,
    /** Adds up what has changed, and completes what is complete; returns how many batches were completed. */
    fold: (): Promise<number> =>
      driver.transaction(async (tx) => {
        await driver.execute(tx, sql.read_committed, [])
        return readFirst(readCount, await driver.execute(tx, sql.fold_batches, [foldedAtOnce]))?.count ?? 0
      }),
    /** Makes due what waited for batches that were resumed; returns how many transfers. */
    wakeResumed: async (): Promise<number> =>
      readFirst(readCount, await driver.query(sql.wake_resumed_batches, [wokenAtOnce]))?.count ?? 0,
  }
}

/** Makes what changes a batch, and gives whether that changed anything. */
function createChange<Tx>(driver: Driver<Tx>, sql: Readonly<Record<'pause_batch' | 'resume_batch', Statement>>) {
  return async (tx: Tx, name: keyof typeof sql, batchId: string): Promise<boolean> => {
    const { found, changed } = readFirst(readChange, await driver.execute(tx, sql[name], [batchId])) ?? {
      ...{ found: 0, changed: 0 },
    }
    if (found === 0) throw hasLeft(batchId)
    return changed > 0
  }
}

/** Makes what says whether a batch was canceled, and in a transaction keeps it from being canceled. */
function createIsCanceled<Tx>(
  driver: Driver<Tx>,
  sql: Readonly<Record<'is_canceled' | 'is_canceled_locked' | 'is_elsewhere', Statement>>,
): BatchPort<Tx>['isBatchCanceled'] {
  return async (batchId, tx) => {
    const rows = await (tx === undefined
      ? driver.query(sql.is_canceled, [batchId])
      : driver.execute(tx, sql.is_canceled_locked, [batchId]))
    if (tx !== undefined && rows.length === 0) {
      if (readFirst(readIsElsewhere, await driver.execute(tx, sql.is_elsewhere, [batchId]))?.elsewhere) return undefined
      // A move takes a batch along before its transfers, and unpacks it behind them.
      throw hasLeft(batchId)
    }
    return readFirst(readIsCanceled, rows)?.canceled === true
  }
}

/** The refusal of a batch that was found a moment ago and is not there any more. */
function hasLeft(batchId: string): OutlayError {
  const message = `The batch ${batchId} was here a moment ago and has left with its account for another node; roll back, and try again there in a few seconds.`
  return new OutlayError('account_moving', message, { field: 'batchId' })
}

/** The refusal of a transfer whose batch may not have it, by the reason of the function. */
export function refusedBatch(refusal: string, batchId: string | undefined, prefix = '') {
  const messages: Readonly<Record<string, string>> = {
    unknown: `There is no batch ${batchId}; give the id that batches.create returned, in the same transaction or after its commit.`,
    closed: `The batch ${batchId} is closed; enqueue into another one, or without a batch.`,
    account: `The batch ${batchId} is of another account.`,
  }
  return {
    field: `${prefix}batchId`,
    code: 'conflict' as const,
    message: messages[refusal] ?? `The batch ${batchId} refuses it.`,
  }
}

/** The same as an error. */
export const batchError = (refusal: string, batchId: string | undefined): OutlayError =>
  OutlayError.fromIssues([refusedBatch(refusal, batchId)])

const readCount = rowDecoder('batch', { count: Column.integer })
const readChange = rowDecoder('batch', { found: Column.integer, changed: Column.integer })
const readClosed = rowDecoder('batch', { changed: Column.nullable(Column.boolean) })
const readCanceled = rowDecoder('batch', { count: Column.nullable(Column.integer) })
const readIsCanceled = rowDecoder('batch', { canceled: Column.boolean })
const readIsElsewhere = rowDecoder('batch', { elsewhere: Column.boolean })
const readReview = rowDecoder('review', {
  transfers: Column.integer,
  totals: Column.json<BatchReview['totals']>(),
  digest: Column.text,
})
const readRefusal = rowDecoder('batch', { refusal: Column.nullable(Column.text) })
const readRow = rowDecoder('batch', {
  id: Column.text,
  accountId: Column.nullable(Column.text),
  key: Column.nullable(Column.text),
  metadata: Column.optional(Column.json<Metadata>()),
  paused: Column.boolean,
  createdAt: Column.text,
  closedAt: Column.nullable(Column.text),
  completedAt: Column.nullable(Column.text),
})
const readCounts = rowDecoder('batch', {
  pending: Column.integer,
  processing: Column.integer,
  failed: Column.integer,
  canceled: Column.integer,
  complete: Column.integer,
  unended: Column.integer,
  resubmitted: Column.integer,
})

function readBatch(row: Row): Batch {
  const batch = readRow(row)
  const { pending, processing, failed, canceled, complete, unended, resubmitted } = readCounts(row)
  const total = pending + processing + failed + canceled + complete
  const counts: BatchCounts = { total, pending, processing, failed, canceled, complete, unended, resubmitted }
  const state = batch.completedAt !== null ? 'completed' : batch.closedAt === null ? 'open' : 'closed'
  return { ...batch, state, counts }
}
