import type { ConstructorOptions, PgBoss } from 'pg-boss'
import { pruneExchanges } from './bank-links/exchanges.ts'
import { pruneTokens } from './clients/tokens.ts'
import type { ServiceContext } from './context.ts'
import { asSystem } from './database/tenant.ts'
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
 * for too long.
 */
export async function keepHouse(context: ServiceContext, retention: Retention = {}): Promise<void> {
  const daysAgo = (days: number) => new Date(context.clock.now().getTime() - days * dayMs)
  await pruneTokens(asSystem(context), context, daysAgo(0))
  await pruneKeys(asSystem(context), context, daysAgo(retention.idempotencyKeyDays ?? 30))
  await pruneEvents(asSystem(context), context, daysAgo(retention.webhookEventDays ?? 30))
  await pruneEndpoints(asSystem(context), context, new Date(Date.now() - endpointDays * dayMs))
  await pruneExchanges(asSystem(context), context, daysAgo(retention.bankLinkExchangeDays ?? 30))
  await pruneQuotes(asSystem(context), context, daysAgo(retention.unusedQuoteDays ?? 30))
  await prunePreviousSecrets(asSystem(context), context, daysAgo(0))
  await expireTransfers(context)
}

/** Migrates the housekeeping queue, in the schema `<schema>_jobs`, to this release. */
export async function migrateHousekeeping(context: ServiceContext): Promise<void> {
  const boss = await createBoss(context, { migrate: true, supervise: false, schedule: false })
  try {
    await boss.start()
  } finally {
    await boss.stop({ graceful: false })
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
