import type { Pool } from 'pg'
import { sendAlone } from './pipeline.ts'
import { type SharedPool, type ShareWait, withinShare } from './pool-share.ts'
import { currentReader } from './reader.ts'
import type { Executor } from './statement.ts'
import { beginWith, type TransactionSetting } from './transaction-settings.ts'

/** How long a statement that reads for a client may take, and wait for the share of its client, in milliseconds. */
const defaultReadTimeoutMs = 10_000

/** Whose rows a statement may access: those of one client's accounts, or those of all tenants. */
export type Tenant = { readonly clientId: string } | 'system'

/** Where a client's statements run, and how long one may take, in milliseconds. Default 10,000. */
export interface ClientReads extends SharedPool {
  readonly readTimeoutMs?: number | undefined
}

/**
 * Runs single statements that can access only the rows of one client. One round trip each. Postgres cancels one that takes longer than the
 * limit, with the SQLSTATE 57014: clients choose how much they read, and repeat what is slow. Only a share of the pool's connections works for
 * one client at once.
 */
export function asClient(context: ClientReads, clientId: string): Executor {
  const { pool } = context
  const settings = readSettingsOf(context, clientId)
  return {
    send: (query) => withinShare(context, clientId, readWaitOf(context), () => sendAlone(pool, settings, query)),
  }
}

/** How long a read waits for its client's share: until its limit, or until nobody waits for it. */
export function readWaitOf({ readTimeoutMs: limitMs = defaultReadTimeoutMs }: ClientReads): ShareWait {
  return { limitMs, reader: currentReader() }
}

/** The settings of a transaction that reads for a client. */
export function readSettingsOf(
  { readTimeoutMs = defaultReadTimeoutMs }: ClientReads,
  clientId: string,
): readonly TransactionSetting[] {
  return [settingOf({ clientId }), ['statement_timeout', String(Math.ceil(readTimeoutMs))]]
}

/** Runs single statements on the rows of all tenants: for workers, and to authenticate callers. One round trip each. */
export function asSystem(context: { readonly pool: Pool }): Executor {
  return executorOf(context.pool, [settingOf('system')])
}

/** Longest wait of the service's own work for one lock, in milliseconds. Others use it for moments only, except for a person who thinks. */
const workerLockMs = 1_000

/**
 * The same for work of the service itself, which waits at most a second for a lock: an open transaction, such as that of an operator, must not stop
 * what others wait for. A statement that does not get its lock fails with the SQLSTATE 55P03.
 */
export function asWorker(context: { readonly pool: Pool }, lockTimeoutMs?: number): Executor {
  return executorOf(context.pool, workerSettings(lockTimeoutMs))
}

/** The settings of a transaction of the service itself that waits a limited time for locks. */
export function workerSettings(lockTimeoutMs = workerLockMs): readonly TransactionSetting[] {
  return [settingOf('system'), ['lock_timeout', String(Math.ceil(lockTimeoutMs))]]
}

/** The text that begins a transaction of a tenant, in one message. */
export function beginAs(tenant: Tenant): string {
  return beginWith([settingOf(tenant)])
}

/** The text that lets a whole session act as the system, for migrations, and the one that ends it. */
export const systemSession = {
  begin: `select set_config('outlay.system', 'on', false)`,
  end: `select set_config('outlay.system', '', false)`,
} as const

/** The setting of a transaction that may access the rows of a tenant. */
export function settingOf(tenant: Tenant): TransactionSetting {
  return tenant === 'system' ? ['outlay.system', 'on'] : ['outlay.client_id', tenant.clientId]
}

function executorOf(pool: Pool, settings: readonly TransactionSetting[]): Executor {
  return { send: (query) => sendAlone(pool, settings, query) }
}
