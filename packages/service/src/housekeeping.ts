import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ConstructorOptions, PgBoss } from 'pg-boss'
import { pruneExchanges } from './bank-links/exchanges.ts'
import { pruneTokens } from './clients/tokens.ts'
import type { ServiceContext } from './context.ts'
import { sqlStateOf } from './database/conflict.ts'
import { run, statement } from './database/statement.ts'
import { asWorker } from './database/tenant.ts'
import { pruneKeys } from './idempotency/keys.ts'
import { pruneQuotes } from './quotes/quotes.ts'
import { expireTransfers } from './transfers/expiry.ts'
import { pruneEndpoints } from './webhooks/delivery-endpoints.ts'
import { pruneEvents } from './webhooks/delivery-store.ts'
import { prunePreviousSecrets } from './webhooks/secret-rotation.ts'

/** Retention times, in days. */
export interface Retention {
  /**
   * Idempotency keys with their responses. Default 30. At least 21, since hosts trust a key for `keyLifetimeMs`, up to 20 days: a repeat
   * under a key that is gone is paid twice.
   */
  readonly idempotencyKeyDays?: number | undefined
  /** Webhook events without pending deliveries. Default 30. */
  readonly webhookEventDays?: number | undefined
  /** Results of the public tokens of bank linking. Default 30. */
  readonly bankLinkExchangeDays?: number | undefined
  /** Quotes that no transfer has used, from their expiry on. Default 30. */
  readonly unusedQuoteDays?: number | undefined
}

const queue = 'housekeeping'
const dayMs = 24 * 3_600_000

/** How long a failing endpoint to which nothing is sent any more is remembered. Deliveries are retried for less. */
const endpointDays = 7

/**
 * Deletes expired keys, tokens, events, unused quotes, exchanges of public tokens and replaced webhook secrets, and cancels transfers that are pending
 * for too long. One of these that fails stops none of the others; no statement waits for a lock longer than a second. A clock of this
 * process that is ahead of the database's makes nothing older.
 * @throws the first of their errors, when all are done.
 */
export async function keepHouse(given: ServiceContext, retention: Retention = {}): Promise<void> {
  const context = await withoutHaste(given)
  const daysAgo = (days = 0) => new Date(context.clock.now().getTime() - days * dayMs)
  const worker = asWorker(context)
  const parts: Readonly<Record<string, () => Promise<unknown>>> = {
    transfers: () => expireTransfers(context),
    tokens: () => pruneTokens(worker, context, daysAgo()),
    keys: () => pruneKeys(worker, context, daysAgo(retention.idempotencyKeyDays ?? 30)),
    events: () => pruneEvents(worker, context, daysAgo(retention.webhookEventDays ?? 30)),
    endpoints: () => pruneEndpoints(worker, context, new Date(Date.now() - endpointDays * dayMs)),
    exchanges: () => pruneExchanges(worker, context, daysAgo(retention.bankLinkExchangeDays ?? 30)),
    quotes: () => pruneQuotes(worker, context, daysAgo(retention.unusedQuoteDays ?? 30)),
    secrets: () => prunePreviousSecrets(worker, context, daysAgo()),
  }
  const errors: unknown[] = []
  for (const [part, work] of Object.entries(parts)) {
    try {
      await work()
    } catch (error) {
      errors.push(error)
      const name = sqlStateOf(error) ?? (error instanceof Error ? error.name : typeof error)
      context.logger.warn({ part, error: name }, 'A part of the housekeeping failed; it is done the next time.')
    }
  }
  if (errors.length > 0) throw errors[0]
}

const serverTime = statement('server_time', 'select clock_timestamp() as now', rowDecoder('time', { now: Column.date }))

/** The context with the time of its clock, less what the clock of this machine is ahead of the server's. */
async function withoutHaste(context: ServiceContext): Promise<ServiceContext> {
  const asked = Date.now()
  const [server] = await run(asWorker(context), context, serverTime)
  const ahead = Math.max(0, asked - (server?.now.getTime() ?? asked))
  const clock = { now: () => new Date(context.clock.now().getTime() - ahead) }
  // Not a copy: parts of a context are made where they are first used.
  return Object.create(context, { clock: { value: clock } }) as ServiceContext
}

/** How often another process may create the same objects at the same time. */
const mostRaces = 5

/** Duplicate names in the catalog, and two that wait for each other. */
const raceCodes = ['23505', '42P06', '42P07', '42710', '40P01']

/** Migrates the housekeeping queue, in the schema `<schema>_jobs`, to this release. Safe to run from several processes at once. */
export async function migrateHousekeeping(context: ServiceContext): Promise<void> {
  for (let races = 0; ; races += 1) {
    const boss = await createBoss(context, { migrate: true, supervise: false, schedule: false })
    try {
      return void (await boss.start())
    } catch (error) {
      if (races >= mostRaces || !raceCodes.includes(sqlStateOf(error) ?? '')) throw error
    } finally {
      await boss.stop({ graceful: false })
    }
  }
}

/**
 * Runs {@link keepHouse} once an hour, in one of the processes. Never migrates.
 * @throws Error before {@link migrateHousekeeping} has run.
 */
export async function startHousekeeping(
  context: ServiceContext,
  retention: Retention = {},
): Promise<{ stop(): Promise<void> }> {
  const boss = await createBoss(context, { migrate: false })
  try {
    await boss.start()
    await boss.createQueue(queue, {
      policy: 'singleton',
      retryLimit: 2,
      expireInSeconds: 1_800,
      deleteAfterSeconds: 86_400,
    })
    await boss.schedule(queue, '17 * * * *')
    await boss.work(queue, { pollingIntervalSeconds: 30 }, () => keepHouse(context, retention))
  } catch (error) {
    // It has timers, which would go on.
    await boss.stop({ graceful: false }).catch(() => undefined)
    throw error
  }
  return { stop: () => boss.stop({ graceful: true, timeout: 5_000 }) }
}

/** pg-boss is loaded here, since an unsupported Node could not read it, and would say so instead of what it lacks. */
async function createBoss(context: ServiceContext, options: ConstructorOptions): Promise<PgBoss> {
  const { PgBoss } = await import('pg-boss')
  const { logger, pool } = context
  const boss = new PgBoss({
    ...options,
    schema: `${context.schema}_jobs`,
    db: { executeSql: async (text, values) => await pool.query(text, values === undefined ? undefined : [...values]) },
  })
  boss.on('error', (error: unknown) => {
    logger.warn({ error: error instanceof Error ? error.name : 'Error' }, 'The housekeeping queue has a problem.')
  })
  return boss
}
