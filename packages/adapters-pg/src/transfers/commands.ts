import { type AccountLimits, type AccountLimitsChange, type AccountPause, Id, type OperatorNote } from '@outlay/core'
import { Column, type Effect, type ReturnDecision, type ReturnObstacle, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst, readIds } from '../database/read-rows.ts'
import { type Statement, statements } from '../database/statement.ts'
import { wakeJobsText } from './jobs.ts'

const texts = {
  cancel: 'select {{schema}}.cancel($1, $2::uuid) as canceled',
  effect_of: 'select {{schema}}.effect_of(t) as effect from {{schema}}.transfer t where t.id = $1',
  resolve: 'select {{schema}}.resolve($1, $2, $3, $4, $5) as obstacle',
  resolve_return: 'select {{schema}}.resolve_return($1, $2, $3::numeric, $4, $5, $6) as obstacle',
  pause: `insert into {{schema}}.account as a (account_id, paused, paused_since, paused_by, pause_reason) values ($1, true, clock_timestamp(), $2, $3)
    on conflict (account_id) do update
    set paused = true, paused_since = excluded.paused_since, paused_by = excluded.paused_by, pause_reason = excluded.pause_reason
    where not a.paused returning a.account_id`,
  resume: `update {{schema}}.account a set paused = false, paused_since = null, paused_by = null, pause_reason = null
    where a.account_id = $1 and a.paused and ($2::text is null or {{schema}}.iso(a.paused_since) = $2) returning a.account_id`,
  find_pause: `select {{schema}}.iso(a.paused_since) as since, a.paused_by as actor, a.pause_reason as reason
    from {{schema}}.account a where a.account_id = $1 and a.paused`,
  paused_transfers: `select t.id from {{schema}}.transfer t
    where t.account_id = $1 and t.stage = 'queued' and t.reason = 'account_paused' order by t.id for no key update`,
  clear_reason: `update {{schema}}.transfer t set reason = null where t.id = any ($1::text[])`,
  wake_jobs: wakeJobsText,
  retry_credentials: `update {{schema}}.unauthorized_account r set probe_at = clock_timestamp()
    where {{schema}}.account_of(r.account_id) = $1 returning r.account_id`,
  lock_account_limits: 'select {{schema}}.lock_account_limits($1) as limits',
  configure_account: 'select {{schema}}.configure_account($1, $2::jsonb, $3)::text',
  notify: `select pg_notify('{{channel}}', '')::text`,
} as const

/** Makes the commands of operators on a driver; each writes rows in the transaction that it is given. */
export function createCommandStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>, notifies = true) {
  const sql = statements(tokens, texts)
  return {
    ...createPauses(driver, sql, notifies),
    /** Ends a transfer that certainly has no effect at the service. False when that is not certain, or when it is final. */
    async cancel(tx: Tx, transferId: string): Promise<boolean> {
      const rows = await driver.execute(tx, sql.cancel, [transferId, Id.toUuid(transferId)])
      return readFirst(readCanceled, rows)?.canceled === true
    },
    /** What is known of the transfer's effect at the service. */
    async effectOf(tx: Tx, transferId: string): Promise<Effect> {
      return readFirst(readEffect, await driver.execute(tx, sql.effect_of, [transferId]))?.effect ?? 'none'
    },
    /** Ends the doubt about a blocked transfer as a person says; a remote id of null says that nothing was paid. */
    async resolve(
      tx: Tx,
      transferId: string,
      resolution: OperatorNote & { readonly remoteId: string | null; readonly insteadOf?: string | undefined },
    ) {
      const { remoteId, reason, actor, insteadOf } = resolution
      const values = [transferId, remoteId, reason ?? null, actor ?? null, insteadOf ?? null]
      const [row = {}] = await driver.execute(tx, sql.resolve, values)
      const { obstacle } = readResolved(row)
      if (obstacle === null && notifies) await driver.execute(tx, sql.notify, [])
      const isOther = obstacle !== null && Id.is(obstacle)
      return {
        done: obstacle === null,
        isUnderWay: obstacle === 'under_way',
        isAccepted: obstacle === 'accepted',
        otherId: isOther ? obstacle : null,
      }
    },
    /** Decides about a held return as a person says; an amount of null dismisses it. */
    async resolveReturn(tx: Tx, transferId: string, decision: ReturnDecision): Promise<ReturnObstacle | null> {
      const { identity, amount, currency, reason, actor } = decision
      const values = [transferId, identity, amount, currency ?? null, reason ?? null, actor ?? null]
      const [row = {}] = await driver.execute(tx, sql.resolve_return, values)
      const { obstacle } = readReturnObstacle(row)
      if (obstacle === null && notifies) await driver.execute(tx, sql.notify, [])
      return obstacle
    },
    /** Makes the probe of an account's refused credentials due. False when they are not refused. */
    async retryCredentials(tx: Tx, accountId: string): Promise<boolean> {
      return (await driver.execute(tx, sql.retry_credentials, [accountId])).length > 0
    },
    /** The limits of an account, which nobody else changes until the transaction ends. */
    async lockAccountLimits(tx: Tx, accountId: string): Promise<AccountLimits> {
      const [row = {}] = await driver.execute(tx, sql.lock_account_limits, [accountId])
      return readLimits(row).limits
    },
    /** Changes the limits of an account. */
    async configureAccount(tx: Tx, accountId: string, change: AccountLimitsChange): Promise<void> {
      await driver.execute(tx, sql.configure_account, [accountId, JSON.stringify(change), notifies])
    },
  }
}

const readLimits = rowDecoder('limits', { limits: Column.json<AccountLimits>() })
const readEffect = rowDecoder('effect', { effect: Column.word<Effect>() })
type Sql = { readonly [K in keyof typeof texts]: Statement }

function createPauses<Tx>(driver: Driver<Tx>, sql: Sql, notifies: boolean) {
  return {
    /** Keeps an account's transfers from being claimed. False when it is paused already. */
    async pause(tx: Tx, accountId: string, { actor, reason }: OperatorNote): Promise<boolean> {
      return (await driver.execute(tx, sql.pause, [accountId, actor ?? null, reason ?? null])).length > 0
    },
    /** The pause of an account; null where it is not paused. */
    async findPause(tx: Tx, accountId: string): Promise<AccountPause | null> {
      return readFirst(readPause, await driver.execute(tx, sql.find_pause, [accountId])) ?? null
    },
    /** Resumes a paused account; with `since`, only from the pause of that time. False when there is no such pause. */
    async resume(tx: Tx, accountId: string, since: string | undefined): Promise<boolean> {
      if ((await driver.execute(tx, sql.resume, [accountId, since ?? null])).length === 0) return false
      const ids = readIds(await driver.execute(tx, sql.paused_transfers, [accountId]))
      if (ids.length > 0) {
        await driver.execute(tx, sql.clear_reason, [ids])
        await driver.execute(tx, sql.wake_jobs, [ids])
        if (notifies) await driver.execute(tx, sql.notify, [])
      }
      return true
    },
  }
}

const readPause = rowDecoder('pause', {
  since: Column.nullable(Column.text),
  actor: Column.nullable(Column.text),
  reason: Column.nullable(Column.text),
})
const readCanceled = rowDecoder('cancellation', { canceled: Column.or(Column.boolean, false) })
const readResolved = rowDecoder('resolution', { obstacle: Column.nullable(Column.text) })
const readReturnObstacle = rowDecoder('resolution', { obstacle: Column.nullable(Column.word<ReturnObstacle>()) })
