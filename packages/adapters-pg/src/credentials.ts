import { Id } from '@outlay/core'
import type { Driver } from './driver.ts'
import { statements } from './statement.ts'

const texts = {
  due_probes: `select w.id from (
      select r.account_id from {{schema}}.refused_account r
      where r.probe_at <= clock_timestamp()
        and not exists (select 1 from {{schema}}.account f where f.account_id = r.account_id and f.paused)
      order by r.probe_at limit 1000
    ) r cross join lateral (
      select t.id from {{schema}}.transfer t
      where t.account_id = r.account_id and t.stage = 'queued' and t.reason = 'unauthenticated' order by t.id limit 1
    ) w`,
  lock_restored: `select t.id from {{schema}}.transfer t
    where t.stage = 'queued' and t.reason = 'unauthenticated'
      and not exists (select 1 from {{schema}}.refused_account r where r.account_id = t.account_id)
    order by t.id limit $1 for update skip locked`,
  // From one account to the next, since those that wait may have very many.
  any_restored: `with recursive waiting as (
      (select t.account_id from {{schema}}.transfer t where t.reason = 'unauthenticated' order by t.account_id limit 1)
      union all
      select (select t.account_id from {{schema}}.transfer t
        where t.reason = 'unauthenticated' and t.account_id > w.account_id order by t.account_id limit 1)
      from waiting w where w.account_id is not null
    )
    select 1 from waiting w where not exists (select 1 from {{schema}}.refused_account r where r.account_id = w.account_id)
      and exists (
        select 1 from {{schema}}.transfer t
        where t.account_id = w.account_id and t.stage = 'queued' and t.reason = 'unauthenticated') limit 1`,
  clear_reason: `update {{schema}}.transfer t set reason = null where t.id = any ($1::text[])`,
  wake_waiting: `update {{queue_table}} j set start_after = clock_timestamp()
    where j.name = '{{queue}}' and j.id = any ($1::uuid[]) and j.state < 'active' and j.start_after > clock_timestamp()
    returning j.id`,
  // Every claim looks closer while there is a row, so none stays for an account that nobody uses any more.
  forget_unused: `delete from {{schema}}.refused_account r
    where r.probe_at < clock_timestamp() - interval '7 days' and not exists (
      select 1 from {{schema}}.transfer t where t.account_id = r.account_id and t.reason = 'unauthenticated')
      and not exists (select 1 from {{schema}}.account f where f.account_id = r.account_id and f.paused)`,
  notify: `select pg_notify('{{channel}}', '')::text`,
} as const

/** The store of refused credentials: which of the transfers that wait for them go out. */
export type CredentialStore = ReturnType<typeof createCredentialStore>

/** Transfers that are released in one transaction. */
const pageSize = 5_000

/** Makes the store of refused credentials on a driver. */
export function createCredentialStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, texts)
  const wake = async (tx: Tx, ids: readonly string[]): Promise<void> => {
    const woken = await driver.execute(tx, sql.wake_waiting, [ids.map(Id.toUuid)])
    if (woken.length > 0) await driver.execute(tx, sql.notify, [])
  }
  return {
    /** Wakes one waiting transfer of each account that is due for a probe; the claim lets one per account through. */
    async wakeProbes(): Promise<void> {
      const ids = (await driver.query(sql.due_probes, [])).map((row) => row['id'] as string)
      if (ids.length > 0) await driver.transaction((tx) => wake(tx, ids))
    },
    /** Forgets refusals that no transfer waits for and that nobody has probed for a week; the next claim finds out anew. */
    async forgetUnused(): Promise<void> {
      await driver.query(sql.forget_unused, [])
    },
    /** Lets transfers go on whose account has good credentials again. True when there may be more. */
    async releaseRestored(): Promise<boolean> {
      if ((await driver.query(sql.any_restored, [])).length === 0) return false
      return driver.transaction(async (tx) => {
        const ids = (await driver.execute(tx, sql.lock_restored, [pageSize])).map((row) => row['id'] as string)
        await driver.execute(tx, sql.clear_reason, [ids])
        await wake(tx, ids)
        return ids.length === pageSize
      })
    },
  }
}
