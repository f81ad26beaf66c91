import { type OperatorNote, OutlayError } from '@outlay/core'
import {
  type AccountReconciliation,
  Column,
  type Operations,
  readGatewayAccount,
  rowDecoder,
  type Standing,
} from '@outlay/core/adapter'
import { createAuditStore } from '../control/audit.ts'
import type { Driver } from '../database/driver.ts'
import { unlessLocked } from '../database/lock-timeout.ts'
import { readIds } from '../database/read-rows.ts'
import { statements, storableJson } from '../database/statement.ts'
import { writeFound } from '../transfers/found-transfers.ts'
import { ensureJobsText, wakeJobsText } from '../transfers/jobs.ts'
import { readTransfer, transferColumns } from '../transfers/transfer-row.ts'
import type { TransferStore } from '../transfers/transfers.ts'

/** True where workers have ever had another gateway. What waits for one that none ever had was never sent. */
const hasOthers = `exists (select 1 from {{schema}}.attended_gateway g where g.name <> 'default')`

const texts = {
  // From one account to the next by the index of keys: there may be very many transfers of each.
  reconcile_accounts: `with recursive account as (
      (select t.account_id from {{schema}}.transfer t order by t.account_id limit 1)
      union all
      select (select t.account_id from {{schema}}.transfer t where t.account_id > a.account_id order by t.account_id limit 1)
      from account a where a.account_id is not null
    )
    select a.account_id from account a where a.account_id is not null and (not ${hasOthers} or exists (
      select 1 from {{schema}}.transfer t where t.account_id = a.account_id and t.gateway = 'default'))
    union select {{schema}}.gateway_account(t.gateway, t.account_id) from {{schema}}.transfer t where ${hasOthers} and t.gateway <> 'default'
    union select w.account_id from {{schema}}.watched_account w order by 1`,
  // A restore may have forgotten that workers had the gateway of what waits.
  reconcile_gateways: `select g.name from {{schema}}.attended_gateway g
    union select t.gateway from {{schema}}.transfer t where t.remote_id is null and t.status = 'pending' and t.stage <> 'settled' order by 1`,
  // An account may have very many that ended, so the functions are asked about few.
  unconfirmed: `select ${transferColumns},
      (extract(epoch from clock_timestamp() - {{schema}}.first_request_at(t)) * 1000)::float8 as first_request_age_ms,
      coalesce(t.expires_at <= clock_timestamp(), false) as is_expired, t.stage = 'settled' as is_ended
    from {{schema}}.transfer t
    where t.account_id = {{schema}}.account_of($1) and t.gateway = {{schema}}.gateway_of($1) and t.remote_id is null
      and (t.status = 'pending' and t.stage in ('held', 'queued', 'submitting', 'awaiting_funds', 'blocked')
        or t.updated_at >= (select h.fenced_since from {{schema}}.known_database h) and {{schema}}.ended_unseen(t)
        or t.id in (select a.transfer_id from {{schema}}.attempt a where a.unmatched) and {{schema}}.ended_in_doubt(t))
    order by t.id`,
  confirmed_since: `select t.id, t.remote_id from {{schema}}.transfer t
    where t.account_id = {{schema}}.account_of($1) and t.gateway = {{schema}}.gateway_of($1) and t.remote_id is not null and t.created_at >= $2::timestamptz order by t.id`,
  // The log of a row may have the id of an adopted one, and says whose it is.
  known_remote_ids: `select distinct on (k.remote_id) k.remote_id, k.standing from (
      select t.remote_id, case when t.idempotency_key like 'adopted %' then 'adopted' else 'enqueued' end as standing
      from {{schema}}.transfer t where t.account_id = {{schema}}.account_of($1) and t.gateway = {{schema}}.gateway_of($1) and t.remote_id = any ($2::text[])
      union all
      select r.remote_id, 'logged' from unnest($2::text[]) as r (remote_id) cross join lateral {{schema}}.logged_owners($1, r.remote_id) t
      -- One that waits may yet get it.
      where t.remote_id is not null or t.status <> 'pending'
    ) k order by k.remote_id, array_position(array['enqueued', 'logged', 'adopted'], k.standing)`,
  is_watched: 'select 1 as found from {{schema}}.watched_account w where w.account_id = $1',
  apply_reconciliation: 'select apply_reconciliation as id from {{schema}}.apply_reconciliation($1::jsonb, $2)',
  log_ended: 'select log_ended as id from {{schema}}.log_ended($1::jsonb, $2)',
  resend: 'select resend as id from {{schema}}.resend($1::jsonb, $2)',
  wake_jobs: wakeJobsText,
  ensure_jobs: ensureJobsText,
  adopt_lost: 'select id, account_id, remote_id, problem from {{schema}}.adopt_lost($1, $2::jsonb)',
  record_unmatched_transfers: 'select {{schema}}.record_unmatched_transfers($1, $2::jsonb)::text',
  record_restore: 'select {{schema}}.record_restore()::text',
  // Nobody lifts it, or puts up another one, until what is compared behind it is written.
  hold_fence: 'select 1 as found from {{schema}}.known_database h where h.fence_id = $1::uuid for share',
  // Another reconciliation may have lifted the fence, and a person may have put up the next one, behind which nothing was compared.
  end_reconciliation: `with held as (
      select h.only_row, jsonb_build_object('since', {{schema}}.iso(h.fenced_since), 'reason', h.fence_reason, 'actor', h.fenced_by) as fence
      from {{schema}}.known_database h where h.fence_id = $5::uuid for no key update
    ), opened as (
      update {{schema}}.known_database h set fenced_since = null, fence_reason = null, fenced_by = null, fence_id = null
      from held d where $3 and h.only_row = d.only_row
    )
    insert into {{schema}}.reconciliation as r (since, actor, lifted, differences)
    select $1::timestamptz, $2, $3 and exists (select from held), $4::jsonb
    returning exists (select from held) as is_same_fence, {{schema}}.record_audit('database.reconcile', $2, $6, null,
      jsonb_build_object('fence', (select d.fence from held d)),
      jsonb_build_object('since', {{schema}}.iso(r.since), 'lifted', r.lifted, 'differences', jsonb_array_length(r.differences),
        'open', (select count(*) from jsonb_array_elements(r.differences) x where x ->> 'open' = 'true')))::text as audit`,
  notify: `select pg_notify('{{channel}}', '')::text`,
} as const

type ReconciliationStore<Tx> = Pick<
  Operations<Tx>,
  | 'recordRestore'
  | 'accounts'
  | 'gateways'
  | 'unconfirmed'
  | 'confirmedSince'
  | 'known'
  | 'isWatched'
  | 'reconcile'
  | 'endReconciliation'
>

/** Makes the store of what a reconciliation reads and writes, on a driver. */
export function createReconciliationStore<Tx>(
  driver: Driver<Tx>,
  tokens: Readonly<Record<string, string>>,
  transfers: TransferStore<Tx>,
): ReconciliationStore<Tx> {
  const sql = statements(tokens, texts)
  const recordWritten = createWrittenRecord(driver, tokens)
  return {
    async recordRestore() {
      await driver.query(sql.record_restore, [])
    },
    async accounts() {
      return (await driver.query(sql.reconcile_accounts, [])).map((row) => readAccount(row).accountId)
    },
    async gateways() {
      return (await driver.query(sql.reconcile_gateways, [])).map((row) => readGateway(row).name)
    },
    async unconfirmed(accountId) {
      return (await driver.query(sql.unconfirmed, [accountId])).map((row) => ({
        ...readTransfer(row),
        ...readAges(row),
      }))
    },
    async confirmedSince(accountId, since) {
      return (await driver.query(sql.confirmed_since, [accountId, since])).map(readConfirmed)
    },
    async known(accountId, remoteIds) {
      const rows = await driver.query(sql.known_remote_ids, [accountId, remoteIds])
      return new Map(rows.map(readKnown).map(({ remoteId, standing }) => [remoteId, standing]))
    },
    async isWatched(accountId) {
      return (await driver.query(sql.is_watched, [accountId])).length > 0
    },
    async reconcile(fenceId, change, rules, note) {
      const { accountId, transfers: changes, again, ended, lost, undecided, observations } = change
      const actor = note.actor ?? null
      return unlessLocked(driver, async (tx) => {
        if ((await driver.execute(tx, sql.hold_fence, [fenceId])).length === 0)
          throw new OutlayError('conflict', anotherFence)
        const written = changes.map(({ id, attempt, remoteId, evidence }) => ({
          ...{ id, attempt, evidence },
          remote_id: remoteId,
        }))
        await driver.execute(tx, sql.apply_reconciliation, [storableJson(written), actor])
        const resent = await driver.execute(tx, sql.resend, [storableJson(again), actor])
        const ids = readIds(resent)
        await driver.execute(tx, sql.wake_jobs, [ids])
        await driver.execute(tx, sql.ensure_jobs, [ids])
        const logged = ended.map(({ id, remoteId, evidence }) => ({ id, evidence, remote_id: remoteId }))
        // After the others, which have locked the rows: none of them ends any more.
        const doubtful = await driver.execute(tx, sql.log_ended, [storableJson(logged), actor])
        await driver.execute(tx, sql.adopt_lost, [accountId, storableJson(lost.map(writeFound))])
        await driver.execute(tx, sql.record_unmatched_transfers, [accountId, storableJson(undecided.map(writeFound))])
        await transfers.apply(tx, accountId, observations, rules, 'wait')
        await recordWritten(tx, note, change, { resent: ids.length, doubtful: doubtful.length })
        await driver.execute(tx, sql.notify, [])
        return readIds(doubtful)
      })
    },
    async endReconciliation({ since, note: { actor, reason }, lift, differences, fenceId }) {
      const given = [since, actor ?? null, lift, storableJson(differences), fenceId, reason ?? null]
      const rows = await driver.query(sql.end_reconciliation, given)
      await driver.query(sql.notify, [])
      if (!rows.map(readEnd).some(({ isSameFence }) => isSameFence)) throw new OutlayError('conflict', anotherFence)
    },
  }
}

/** Writes down what a reconciliation wrote of an account, unless that is nothing. */
function createWrittenRecord<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const audit = createAuditStore(driver, tokens)
  return async (
    tx: Tx,
    { actor, reason }: OperatorNote,
    { accountId, transfers, lost, undecided }: AccountReconciliation,
    done: { readonly resent: number; readonly doubtful: number },
  ): Promise<void> => {
    const identified = transfers.filter(({ remoteId }) => remoteId !== null).length
    const blocked = transfers.length - identified
    const counts = { identified, blocked, ...done, adopted: lost.length, undecided: undecided.length }
    if (Object.values(counts).every((count) => count === 0)) return
    await audit.recordAudit(tx, {
      ...{ command: 'database.reconcile', actor: actor ?? null, reason: reason ?? null },
      ...{ transferId: null, before: null, after: { ...readGatewayAccount(accountId), ...counts } },
    })
  }
}

const anotherFence =
  'The fence was lifted or put up again while this was comparing, so it ended there. If outlay doctor still says fenced, reconcile again.'

const readAccount = rowDecoder('account', { accountId: Column.text })
const readGateway = rowDecoder('gateway', { name: Column.text })
const readAges = rowDecoder('transfer', {
  firstRequestAgeMs: Column.number,
  isExpired: Column.boolean,
  isEnded: Column.boolean,
})
const readEnd = rowDecoder('reconciliation', { isSameFence: Column.boolean })
const readConfirmed = rowDecoder('transfer', { id: Column.text, remoteId: Column.text })
const readKnown = rowDecoder('transfer', { remoteId: Column.text, standing: Column.word<Standing>() })
