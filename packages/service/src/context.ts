import type { Catalog, Clock, Engine, Logger, Random, Telemetry } from '@outlay/core'
import type { Pool, PoolClient } from 'pg'
import type { AccountReviewer } from './accounts/reviewer.ts'
import type { WalletCustody } from './addresses/custody.ts'
import { keepUntilCommit } from './database/after-commit.ts'
import { connectWithin } from './database/connect.ts'
import { type PipelineWorks, runPipeline } from './database/pipeline.ts'
import { type SharedPool, shareWaitMs, withinShare } from './database/pool-share.ts'
import { beginAs, type ClientReads, readSettingsOf, readWaitOf, settingOf, workerSettings } from './database/tenant.ts'
import { beginWith, type TransactionSetting } from './database/transaction-settings.ts'
import type { Quotes } from './quotes/port.ts'
import type { AmountPolicy } from './rail-facts/fact-kind.ts'
import type { Rails } from './rails/port.ts'
import type { Dialect } from './schema/dialect.ts'
import type { Secrets } from './secrets.ts'

/** A transaction of the service: one connection between `begin` and `commit`. */
export type Tx = PoolClient

/**
 * How many hours a transfer may stay pending, by the canonical name of its rail; null for ever. The rail of an onramp is that of its
 * source, and of any other transfer that of its destination. A rail that is not named keeps its default: 336 for `wire`, otherwise null.
 */
export type TransferExpiry = Readonly<Record<string, number | null>>

/** Dependencies that every part of the service shares. */
export interface ServiceContext {
  /** Statements that run on it directly see no tenant's rows. Use `asClient` and `asSystem`. */
  readonly pool: Pool
  /** The Postgres schema that holds the service's tables. */
  readonly schema: string
  readonly clock: Clock
  readonly random: Random
  readonly catalog: Catalog
  readonly engine: Engine<Tx>
  readonly rails: Rails
  readonly secrets: Secrets
  /** Keeps the keys of custodial wallets. Without it, accounts have none. */
  readonly custody?: WalletCustody | undefined
  /** Gives rates between value types that are not worth the same. Without it, there are no quotes. */
  readonly quotes?: Quotes | undefined
  readonly logger: Logger
  /** Traces and metrics. Absent without telemetry. */
  readonly telemetry?: Telemetry | undefined
  /** True while the engine's workers of this process run. Absent without workers. */
  readonly isRunning?: (() => boolean) | undefined
  /** Uses named prepared statements; switch it off behind a pooler that does not track them. Default true. */
  readonly prepared?: boolean | undefined
  /** Reviews new accounts. Without it, they wait for `setAccountStatus`. */
  readonly reviewer?: AccountReviewer | undefined
  /** How long the reviewer may take for one answer, in milliseconds. Default 30,000. */
  readonly reviewTimeoutMs?: number | undefined
  /** True where new accounts are complete at once if nobody reviews them: with simulated rails. Default false. */
  readonly completesAccounts?: boolean | undefined
  /** What becomes of incoming money of another amount than its transfer asks for. Default `hold`. */
  readonly amountPolicy?: AmountPolicy | undefined
  /** Whether an account that owes returned money may send before it has paid. Default `block`. */
  readonly receivablePolicy?: 'block' | 'allow' | undefined
  /** Requests per second and burst that one client may send. Default 2,000 and 2,000. */
  readonly rateLimit?: { readonly perSecond: number; readonly burst: number } | undefined
  /** Base URL of the API for clients. Default: the address that a connection came to. */
  readonly publicUrl?: string | undefined
  /** How many proxies in front of the process add the client's address to `X-Forwarded-For`. Default 0: the address of the connection. */
  readonly trustedProxies?: number | undefined
  /** How long an answer of the database about its state serves `/ready`, in milliseconds. Default 1,000. */
  readonly readinessCacheMs?: number | undefined
  /** How long the database may take to answer `/ready`, in milliseconds. Default 2,000. */
  readonly readinessTimeoutMs?: number | undefined
  /** How long a request waits for another one with its idempotency key, in milliseconds. Default 10,000. */
  readonly idempotencyWaitMs?: number | undefined
  /** How long one statement may take that reads for a client, in milliseconds. Default 10,000. */
  readonly readTimeoutMs?: number | undefined
  /** How long a create waits for one answer of the rails, in milliseconds. Default 10,000. */
  readonly railTimeoutMs?: number | undefined
  /** How long a create waits for a quote, in milliseconds. Default 10,000. */
  readonly quoteTimeoutMs?: number | undefined
  /** How long a transfer may stay pending, by its rail. */
  readonly transferExpiryHours?: TransferExpiry | undefined
  /** How long a stop of the service waits for each of its parts, in milliseconds. Default 30,000. */
  readonly stopLimitMs?: number | undefined
  /** How long an authenticated token stays in memory before it is read again, in milliseconds. Default 3,000. */
  readonly tokenCacheMs?: number | undefined
  /** Allows webhooks to private and loopback addresses and over plain HTTP, for local development. Default false. */
  readonly allowPrivateWebhooks?: boolean | undefined
  /** Ports that webhooks may go to. Default 443 and 8443. */
  readonly webhookPorts?: readonly number[] | undefined
  /** What decides where the two contracts contradict each other. Default `specification`. */
  readonly dialect?: Dialect | undefined
  /** Path segments of bank linking beside the main one. Default: none. */
  readonly bankLinkAliases?: readonly string[] | undefined
}

/**
 * Runs `work` as the system, on the rows of all tenants, between `begin` and `commit`. A rejection rolls back. For workers and
 * for manual operations of a deployer, such as registering a client.
 */
export function inTransaction<T>(context: Pick<ServiceContext, 'pool'>, work: (tx: Tx) => Promise<T>): Promise<T> {
  return transact(context.pool, beginAs('system'), work)
}

/**
 * The same for work of the service itself on rows of several tenants: no statement waits longer for a lock than `lockTimeoutMs`, as {@link asWorker}
 * says. One that does fails with the SQLSTATE 55P03.
 */
export function inWorkerTransaction<T>(
  context: Pick<ServiceContext, 'pool'>,
  work: (tx: Tx) => Promise<T>,
  lockTimeoutMs?: number,
): Promise<T> {
  return transact(context.pool, beginWith(workerSettings(lockTimeoutMs)), work)
}

/**
 * Runs `work` on the rows of one client's accounts only, between `begin` and `commit`; any rejection rolls back. It waits for the share of its
 * client in the pool, ten seconds at most. `lockTimeoutMs` limits each wait for a lock; it is that long unless it says otherwise, since work that waits
 * has a place of the share.
 * @throws OutlayError `service_unavailable` when it gets no place.
 */
export function inClientTransaction<T>(
  context: SharedPool,
  clientId: string,
  work: (tx: Tx) => Promise<T>,
  lockTimeoutMs?: number,
): Promise<T> {
  const { pool } = context
  const begin = beginWith(settingsOf(clientId, lockTimeoutMs))
  return withinShare(context, clientId, { limitMs: shareWaitMs }, () => transact(pool, begin, work))
}

/** The same for works of one statement each, in one round trip: see `runPipeline`. */
export function inClientPipeline<T extends readonly unknown[]>(
  context: SharedPool,
  clientId: string,
  works: PipelineWorks<T>,
  lockTimeoutMs?: number,
): Promise<T> {
  const settings = settingsOf(clientId, lockTimeoutMs)
  return withinShare(context, clientId, { limitMs: shareWaitMs }, () => runPipeline(context.pool, settings, works))
}

/** The same for works that read, within the limits of `asClient`. */
export function readInClientPipeline<T extends readonly unknown[]>(
  context: ClientReads,
  clientId: string,
  works: PipelineWorks<T>,
): Promise<T> {
  const read = () => runPipeline(context.pool, readSettingsOf(context, clientId), works)
  return withinShare(context, clientId, readWaitOf(context), read)
}

function settingsOf(clientId: string, lockTimeoutMs = shareWaitMs): readonly TransactionSetting[] {
  return [settingOf({ clientId }), ['lock_timeout', String(Math.ceil(lockTimeoutMs))]]
}

/** A broken connection never returns to the pool. */
async function transact<T>(pool: Pool, begin: string, work: (tx: Tx) => Promise<T>): Promise<T> {
  const client = await connectWithin(pool)
  let broken: Error | undefined
  const onError = (error: Error) => {
    broken = error
  }
  client.on('error', onError)
  const end = keepUntilCommit(client)
  let isCommitted = false
  try {
    await client.query(begin)
    const result = await work(client)
    const ended = await client.query('commit')
    if (ended.command !== 'COMMIT') throw new Error('A statement whose error was swallowed aborted the transaction.')
    isCommitted = true
    return result
  } catch (error) {
    await client.query('rollback').catch((failure: Error) => {
      broken = failure
    })
    throw error
  } finally {
    client.off('error', onError)
    client.release(broken)
    end(isCommitted)
  }
}
