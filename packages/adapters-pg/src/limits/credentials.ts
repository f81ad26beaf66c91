import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { withLockTimeout } from '../database/lock-timeout.ts'
import { readIds } from '../database/read-rows.ts'
import { statements } from '../database/statement.ts'

const texts = {
  // Behind the last probe first, and then from the beginning. One that a host has locked cannot be woken, nor one that has no job.
  // The limit counts accounts that have one to wake: those without one stay due, and others would wait behind them. So would they behind those
  // at a gateway that the worker lacks, which it cannot send.
  due_probes: `select w.id from (
      select r.account_id, r.probed_id from {{schema}}.unauthorized_account r
      where r.probe_at <= clock_timestamp() and {{schema}}.gateway_of(r.account_id) = any ($1::text[])
        and not exists (select 1 from {{schema}}.account f where f.account_id = {{schema}}.account_of(r.account_id) and f.paused)
        and not exists (select 1 from {{schema}}.stop s where s.scope = 'gateway' and s.name = {{schema}}.gateway_of(r.account_id))
      order by r.probe_at
    ) r cross join lateral (
      select n.id from (
        select t.id from {{schema}}.transfer t
        where t.account_id = {{schema}}.account_of(r.account_id) and t.gateway = {{schema}}.gateway_of(r.account_id) and t.stage = 'queued' and t.reason = 'unauthenticated' and t.id > coalesce(r.probed_id, '')
          and exists (select from {{schema}}.queue_jobs() q where q.job = {{schema}}.job_id(t.id) and q.is_waiting)
        order by t.id limit 1 for no key update skip locked
      ) n
      union all
      select n.id from (
        select t.id from {{schema}}.transfer t
        where t.account_id = {{schema}}.account_of(r.account_id) and t.gateway = {{schema}}.gateway_of(r.account_id) and t.stage = 'queued' and t.reason = 'unauthenticated' and t.id <= r.probed_id
          and exists (select from {{schema}}.queue_jobs() q where q.job = {{schema}}.job_id(t.id) and q.is_waiting)
        order by t.id limit 1 for no key update skip locked
      ) n
      limit 1
    ) w limit 1000`,
  lock_restored: `select t.id from {{schema}}.transfer t
    where t.stage = 'queued' and t.reason = 'unauthenticated'
      and not exists (select 1 from {{schema}}.unauthorized_account r where r.account_id = {{schema}}.gateway_account(t.gateway, t.account_id))
    order by t.id limit $1 for no key update skip locked`,
  // From one account at a gateway to the next, since those that wait may have very many.
  any_restored: `with recursive waiting as (
      (select t.account_id, t.gateway from {{schema}}.transfer t where t.reason = 'unauthenticated' order by t.account_id, t.gateway limit 1)
      union all
      select n.account_id, n.gateway from waiting w
      cross join lateral (
        select t.account_id, t.gateway from {{schema}}.transfer t
        where t.reason = 'unauthenticated' and (t.account_id, t.gateway) > (w.account_id, w.gateway)
        order by t.account_id, t.gateway limit 1
      ) n
    )
    select 1 from waiting w
    -- First, for the rows of an account that is still refused are not read then.
    where not exists (select 1 from {{schema}}.unauthorized_account r where r.account_id = {{schema}}.gateway_account(w.gateway, w.account_id))
      and exists (
        select 1 from {{schema}}.transfer t
        where t.account_id = w.account_id and t.gateway = w.gateway and t.stage = 'queued' and t.reason = 'unauthenticated') limit 1`,
  clear_reason: `update {{schema}}.transfer t set reason = null where t.id = any ($1::text[])`,
  wake_waiting: `select {{schema}}.queue_wake_unlocked(array_agg({{schema}}.job_id(t.id)), array_agg(t.not_before)) as count
    from {{schema}}.transfer t where t.id = any ($1::text[])`,
  // Every claim does more work while there is a row, so none stays for an account that is no longer used.
  forget_unused: `with unused as (
      select r.account_id from {{schema}}.unauthorized_account r
      where r.probe_at < clock_timestamp() - interval '7 days' and not exists (
        select 1 from {{schema}}.transfer t where t.account_id = {{schema}}.account_of(r.account_id) and t.gateway = {{schema}}.gateway_of(r.account_id) and t.reason = 'unauthenticated')
        and not exists (select 1 from {{schema}}.account f where f.account_id = {{schema}}.account_of(r.account_id) and f.paused)
      for update skip locked
    ), ended as (
      select o.transfer_id from {{schema}}.unauthorized_transfer o join {{schema}}.transfer t on t.id = o.transfer_id
      where t.stage in ('submitted', 'settled') for update of o skip locked
    ), forgotten as (
      delete from {{schema}}.unauthorized_transfer o using ended e where o.transfer_id = e.transfer_id
    )
    delete from {{schema}}.unauthorized_account r using unused u where r.account_id = u.account_id`,
  notify: `select pg_notify('{{channel}}', '')::text`,
} as const

/** The store of refused credentials: which of the transfers that wait for them are sent. */
export type CredentialStore = ReturnType<typeof createCredentialStore>

/** Transfers that are released in one transaction. */
const pageSize = 5_000

/** Makes the store of refused credentials on a driver. */
export function createCredentialStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, texts)
  const wake = async (tx: Tx, ids: readonly string[]): Promise<void> => {
    const [row = {}] = await driver.execute(tx, sql.wake_waiting, [ids])
    if (readWoken(row).count > 0) await driver.execute(tx, sql.notify, [])
  }
  return {
    /** Wakes the next waiting transfer of each account that is due for a probe at these gateways; the claim lets one per account through. */
    async wakeProbes(gateways: readonly string[]): Promise<void> {
      const ids = readIds(await driver.query(sql.due_probes, [gateways]))
      if (ids.length > 0) await withLockTimeout(driver, (tx) => wake(tx, ids))
    },
    /** Forgets refusals that no transfer waits for and that were not probed for a week; the next claim probes again. */
    async forgetUnused(): Promise<void> {
      await driver.query(sql.forget_unused, [])
    },
    /** Releases transfers whose account has good credentials again. True when there may be more. */
    async releaseRestored(): Promise<boolean> {
      if ((await driver.query(sql.any_restored, [])).length === 0) return false
      return withLockTimeout(driver, async (tx) => {
        const ids = readIds(await driver.execute(tx, sql.lock_restored, [pageSize]))
        await driver.execute(tx, sql.clear_reason, [ids])
        await wake(tx, ids)
        return ids.length === pageSize
      })
    },
  }
}

const readWoken = rowDecoder('wake-up', { count: Column.integer })
