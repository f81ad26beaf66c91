import { Column, type Operations, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { unlessLocked } from '../database/lock-timeout.ts'
import { readIds } from '../database/read-rows.ts'
import { statements, storableJson } from '../database/statement.ts'
import { ensureJobsText, wakeJobsText } from '../transfers/jobs.ts'
import { readTransfer, transferColumns } from '../transfers/transfer-row.ts'
import { readAdopted, type TransferStore, writeFound } from '../transfers/transfers.ts'

const texts = {
  // From one account to the next by the index of keys: there may be very many transfers of each.
  reconcile_accounts: `with recursive account as (
      (select t.account_id from {{schema}}.transfer t order by t.account_id limit 1)
      union all
      select (select t.account_id from {{schema}}.transfer t where t.account_id > a.account_id order by t.account_id limit 1)
      from account a where a.account_id is not null
    )
    select a.account_id from account a where a.account_id is not null
    union select w.account_id from {{schema}}.watched_account w order by 1`,
  unconfirmed: `select ${transferColumns},
      (extract(epoch from clock_timestamp() - {{schema}}.first_request_at(t)) * 1000)::float8 as first_request_age_ms,
      coalesce(t.expires_at <= clock_timestamp(), false) as is_expired
    from {{schema}}.transfer t
    where t.account_id = $1 and t.remote_id is null and t.status = 'pending'
      and t.stage in ('queued', 'submitting', 'awaiting_funds', 'blocked') order by t.id`,
  confirmed_since: `select t.id, t.remote_id from {{schema}}.transfer t
    where t.account_id = $1 and t.remote_id is not null and t.created_at >= $2::timestamptz order by t.id`,
  known_remote_ids: `select t.remote_id, t.idempotency_key like 'adopted %' as is_adopted from {{schema}}.transfer t
    where t.account_id = $1 and t.remote_id = any ($2::text[])`,
  is_watched: 'select 1 as found from {{schema}}.watched_account w where w.account_id = $1',
  apply_reconciliation: 'select apply_reconciliation as id from {{schema}}.apply_reconciliation($1::jsonb, $2)',
  resend: 'select resend as id from {{schema}}.resend($1::jsonb, $2)',
  wake_jobs: wakeJobsText,
  ensure_jobs: ensureJobsText,
  adopt_lost: 'select id, account_id, remote_id, problem from {{schema}}.adopt_lost($1, $2::jsonb)',
  record_unmatched_transfers: 'select {{schema}}.record_unmatched_transfers($1, $2::jsonb)::text',
  end_reconciliation: `with written as (
      insert into {{schema}}.reconciliation (since, actor, lifted, differences) values ($1::timestamptz, $2, $3, $4::jsonb)
    )
    update {{schema}}.known_database h set fenced_since = null, fence_reason = null, fenced_by = null
    where $3 and h.fenced_since is not null returning h.database_name`,
  notify: `select pg_notify('{{channel}}', '')::text`,
} as const

type ReconciliationStore<Tx> = Pick<
  Operations<Tx>,
  'accounts' | 'unconfirmed' | 'confirmedSince' | 'known' | 'isWatched' | 'reconcile' | 'endReconciliation'
>

/** Makes the store of what a reconciliation reads and writes, on a driver. */
export function createReconciliationStore<Tx>(
  driver: Driver<Tx>,
  tokens: Readonly<Record<string, string>>,
  transfers: TransferStore<Tx>,
): ReconciliationStore<Tx> {
  const sql = statements(tokens, texts)
  return {
    async accounts() {
      return (await driver.query(sql.reconcile_accounts, [])).map((row) => readAccount(row).accountId)
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
      return new Map(rows.map(readKnown).map(({ remoteId, isAdopted }) => [remoteId, { isAdopted }]))
    },
    async isWatched(accountId) {
      return (await driver.query(sql.is_watched, [accountId])).length > 0
    },
    async reconcile({ accountId, transfers: changes, again, lost, undecided, observations }, rules, actor) {
      return unlessLocked(driver, async (tx) => {
        const written = changes.map(({ id, attempt, remoteId, evidence }) => ({
          ...{ id, attempt, evidence },
          remote_id: remoteId,
        }))
        const applied = await driver.execute(tx, sql.apply_reconciliation, [storableJson(written), actor ?? null])
        const resent = await driver.execute(tx, sql.resend, [storableJson(again), actor ?? null])
        const ids = readIds(resent)
        await driver.execute(tx, sql.wake_jobs, [ids])
        await driver.execute(tx, sql.ensure_jobs, [ids])
        const adopted = await driver.execute(tx, sql.adopt_lost, [accountId, storableJson(lost.map(writeFound))])
        await driver.execute(tx, sql.record_unmatched_transfers, [accountId, storableJson(undecided.map(writeFound))])
        const { changed } = await transfers.apply(tx, accountId, observations, rules, 'wait')
        await driver.execute(tx, sql.notify, [])
        return applied.length + ids.length + readAdopted(adopted).ids.length + changed
      })
    },
    async endReconciliation({ since, actor, lift, differences }) {
      await driver.query(sql.end_reconciliation, [since, actor ?? null, lift, storableJson(differences)])
      await driver.query(sql.notify, [])
    },
  }
}

const readAccount = rowDecoder('account', { accountId: Column.text })
const readAges = rowDecoder('transfer', {
  firstRequestAgeMs: Column.number,
  isExpired: Column.boolean,
})
const readConfirmed = rowDecoder('transfer', { id: Column.text, remoteId: Column.text })
const readKnown = rowDecoder('transfer', { remoteId: Column.text, isAdopted: Column.boolean })
