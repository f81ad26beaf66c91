import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import type { Backend, Logger, WorkOptions } from '@outlay/core'
import { OutlayError } from '@outlay/core'
import { checkFlag, checkNames, type Workers, type WorkHandlers } from '@outlay/core/adapter'
import { createWatchedAccountStore, type WatchedAccountStore } from './adoption/watched-accounts.ts'
import { startWatcher } from './adoption/watcher.ts'
import { type ArchiveStore, createArchiveStore } from './archive/archive.ts'
import { startArchiver } from './archive/archiver.ts'
import { type BatchStore, createBatchStore } from './batches/batches.ts'
import { startBatchFolder } from './batches/folder.ts'
import { type ClockJumpStore, createClockJumpStore } from './clock/clock-jumps.ts'
import { startClockWatch } from './clock/clock-watch.ts'
import { createAuditStore } from './control/audit.ts'
import { createHoldStore } from './control/holds.ts'
import { createLimitSweepStore, type LimitSweepStore } from './control/limit-sweeps.ts'
import { createLimitStore } from './control/limits.ts'
import { createPolicyStore } from './control/policies.ts'
import type { Driver, SqlSession } from './database/driver.ts'
import { unlessLocked } from './database/lock-timeout.ts'
import { systemRuntime } from './database/runtime.ts'
import { type AttemptStore, createAttemptStore } from './dispatch/attempts.ts'
import { startDispatcher } from './dispatch/dispatcher.ts'
import { createGatewayStore, type GatewayStore } from './dispatch/gateways.ts'
import { createSubmissionStore, type SubmissionStore } from './dispatch/submissions.ts'
import { createEnqueue } from './enqueue/enqueue.ts'
import { createBacklog } from './inspection/backlog.ts'
import { createDelays } from './inspection/delays.ts'
import { type CredentialStore, createCredentialStore } from './limits/credentials.ts'
import { startThrottler } from './limits/throttler.ts'
import { createThrottleStore, type ThrottleStore } from './limits/throttles.ts'
import { type Guard, startGuard } from './operations/guard.ts'
import { type CheckIdentity, createIdentityCheck, createOperations } from './operations/operations.ts'
import { createListReadingStore, type ListReadingStore } from './polling/list-readings.ts'
import { startPoller } from './polling/poller.ts'
import { createPollStore, type PollStore } from './polling/polls.ts'
import {
  checkQueue,
  checkSameQueue,
  isQueueInstalled,
  isQueueReady,
  queueCreateSql,
  queueInstallSql,
  queueTrimSql,
} from './queue/queue-schema.ts'
import { startQueueSupervision } from './queue/queue-supervision.ts'
import { startReturnReader } from './returns/return-reader.ts'
import { createReturnReadingStore, type ReturnReadingStore } from './returns/return-readings.ts'
import { resolveNames } from './schema/database-names.ts'
import {
  applyMigrations,
  asLocalDdl,
  engineMigrations,
  type Migration,
  migrationScript,
  retryWhileLocked,
  unknownNumbered,
  withMigrationLock,
} from './schema/migrate.ts'
import { checkWorkerRole, explainRole } from './schema/worker-role.ts'
import { countHandlerLoops } from './subscriptions/handler-loops.ts'
import { startSubscriber } from './subscriptions/subscriber.ts'
import { createSubscriptionStore, type SubscriptionStore } from './subscriptions/subscriptions.ts'
import { startSweeper } from './sweeps/sweeper.ts'
import { startUnknownSweeper } from './sweeps/unknown-sweeper.ts'
import { createCommandStore } from './transfers/commands.ts'
import { type CounterpartyStore, createCounterpartyStore } from './transfers/counterparties.ts'
import { createFind } from './transfers/finding.ts'
import { createResubmissionStore } from './transfers/resubmissions.ts'
import { createTransferStore, type TransferStore } from './transfers/transfers.ts'
import { warnOfIsolation } from './workers/isolation.ts'
import { createLoopList, type LoopList } from './workers/loop-list.ts'
import { startWakeup } from './workers/wakeup.ts'

/** Where the engine keeps its tables. */
export interface PostgresOptions<Tx> {
  readonly driver: Driver<Tx>
  /** Schema of the engine's tables. Default `outlay`. */
  readonly schema?: string | undefined
  /** Schema of the queue's tables, used by the engine alone. Default the engine's with `_queue` behind it. */
  readonly queueSchema?: string | undefined
  /**
   * Announces what hosts write with NOTIFY, so that workers begin at once. Switch it off where transactions end with PREPARE
   * TRANSACTION, which Postgres refuses after a NOTIFY: workers then find the work by polling. Default true.
   */
  readonly notify?: boolean | undefined
  /**
   * Name of the deployment that the database belongs to, such as `production-eu`. The first start records it; from then on an
   * engine with another name or none sends nothing, so that a copy of the database, or of the process, cannot pay. Default: no
   * name, and a copy of the server's files cannot be distinguished from the server.
   */
  readonly deployment?: string | undefined
  /** Where the engine logs. Default: warnings and errors go to the console (standard error), and nothing else is logged. */
  readonly logger?: Logger | undefined
}

const optionNames = ['driver', 'schema', 'queueSchema', 'notify', 'deployment', 'logger']

/**
 * A backend on Postgres: the transactional outbox and its workers.
 *
 * @example
 * const backend = postgres({ driver: pgDriver(pool), schema: 'outlay' })
 */
export function postgres<Tx>(options: PostgresOptions<Tx>): Backend<Tx> {
  checkNames(options, optionNames)
  const { driver, notify = true } = options
  checkFlag(notify, 'notify')
  checkDeployment(options.deployment)
  const { schema, queueSchema, channel, tokens } = resolveNames(options)
  const runtime = systemRuntime(options.logger)
  const transfers = createTransferStore(driver, tokens, { notifies: notify, logger: runtime.logger })
  const stores = {
    transfers,
    archive: createArchiveStore(driver, tokens),
    batches: createBatchStore(driver, tokens, notify),
    attempts: createAttemptStore(driver, tokens),
    gateways: createGatewayStore(driver, tokens),
    polls: createPollStore(driver, tokens),
    counterparties: createCounterpartyStore(driver, tokens),
    readings: createListReadingStore(driver, tokens),
    watched: createWatchedAccountStore(driver, tokens),
    returnReadings: createReturnReadingStore(driver, tokens),
    clockJumps: createClockJumpStore(driver, tokens),
    credentials: createCredentialStore(driver, tokens),
    throttles: createThrottleStore(driver, tokens),
    submissions: createSubmissionStore(driver, tokens),
    limits: createLimitSweepStore(driver, tokens),
    subscriptions: createSubscriptionStore(driver, tokens),
  }
  const plan = () => ({ schema, tokens, migrations: engineMigrations })
  const checkIdentity = createIdentityCheck(driver, tokens)
  return {
    runtime,
    operations: createOperations(driver, tokens, transfers),
    migrate: (onStep) => migrate(driver, queueSchema, { ...plan(), onStep }),
    migrationSql: () => writeMigrations(queueSchema, plan()),
    check: () => check(driver, schema, queueSchema, plan().migrations),
    enqueue: createEnqueue(driver, tokens, notify),
    get: transfers.get,
    getByKey: transfers.getByKey,
    find: createFind(driver, tokens),
    counterparty: stores.counterparties.find,
    observe: async (tx, account, observations, rules) =>
      (await transfers.apply(tx, account, observations, rules, 'wait')).changed,
    receive: (account, observation, rules) =>
      unlessLocked(driver, async (tx) => (await transfers.apply(tx, account, [observation], rules, 'fail')).changed),
    watch: stores.watched.watch,
    unwatch: stores.watched.unwatch,
    fundsArrived: transfers.fundsArrived,
    release: transfers.release,
    ...createCommands(driver, tokens, notify),
    ...stores.batches.port,
    getAccount: stores.throttles.getAccount,
    backlog: createBacklog(driver, tokens),
    ...createDelays(driver, tokens),
    archive: stores.archive.archive,
    recordClient: stores.submissions.recordClient,
    unsubscribe: (tx, name, types, discard) => stores.subscriptions.remove(tx, name, types, discard),
    work: (handlers, work) => {
      const logger = handlers.logger ?? runtime.logger
      const { deployment } = options
      const at = { driver, schema, queueSchema, channel }
      const loops = createLoopList()
      return startWork({ ...at, logger, checkIdentity, deployment, ...stores, handlers, work, loops })
    },
  }
}

const createCommands = <Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>, notify: boolean) => ({
  ...createCommandStore(driver, tokens, notify),
  ...createResubmissionStore(driver, tokens),
  ...createHoldStore(driver, tokens, notify),
  ...createPolicyStore(driver, tokens),
  ...createLimitStore(driver, tokens),
  ...createAuditStore(driver, tokens),
})

async function migrate<Tx>(driver: Driver<Tx>, queueSchema: string, plan: Parameters<typeof applyMigrations>[1]) {
  await driver.session(async (session) => {
    await checkSameQueue((text, values) => session.query(text, [...values]), plan.schema, queueSchema)
    if (!(await isQueueReady(session, queueSchema))) await migrateQueue(session, queueSchema, plan)
    await applyMigrations(session, plan)
  })
}

const writeMigrations = (queueSchema: string, plan: Parameters<typeof migrationScript>[0]): string => {
  const queue = [queueInstallSql(queueSchema), queueCreateSql(queueSchema), queueTrimSql(queueSchema)]
  return asLocalDdl(['set standard_conforming_strings = on;', ...queue, migrationScript(plan)].join('\n'))
}

async function migrateQueue(
  session: SqlSession,
  queueSchema: string,
  { onStep }: Parameters<typeof applyMigrations>[1],
): Promise<void> {
  await withMigrationLock(session, queueSchema, async () => {
    if (!(await isQueueInstalled(session, queueSchema))) {
      onStep?.(`the queue in "${queueSchema}"`)
      await session.query(queueInstallSql(queueSchema))
    }
    await session.query(queueCreateSql(queueSchema))
    await retryWhileLocked(session, `The queue in "${queueSchema}"`, (lockTimeoutMs) =>
      session.query(`begin; set local lock_timeout = ${lockTimeoutMs}; ${queueTrimSql(queueSchema)} commit`),
    )
  })
}

/** Suffix of a migration's name with which the code of earlier releases cannot work. */
const closing = '_closes_earlier'

const check = <Tx>(driver: Driver<Tx>, schema: string, queueSchema: string, migrations: readonly Migration[]) =>
  explainRole(driver, schema, () => checkSchema(driver, schema, queueSchema, migrations))

async function checkSchema<Tx>(
  driver: Driver<Tx>,
  schema: string,
  queueSchema: string,
  migrations: readonly Migration[],
): Promise<void> {
  const { rows: found } = await driver.run('select to_regclass($1) as found', [`"${schema}".migration`])
  const applied = new Set<unknown>()
  if (found[0]?.['found'] !== null) {
    for (const row of (await driver.run(`select name from "${schema}".migration`)).rows) applied.add(row['name'])
  }
  const closed = unknownNumbered(applied, migrations).find((name) => name.endsWith(closing))
  if (closed !== undefined) {
    throw new OutlayError(
      'schema_too_new',
      `The schema "${schema}" has ${closed}, with which this release cannot work; start the release that brought it, or a later one.`,
    )
  }
  const missing = migrations.map((one) => one.name).filter((name) => !applied.has(name))
  if (missing.length > 0) {
    throw new OutlayError(
      'not_migrated',
      `The schema "${schema}" lacks ${missing.join(', ')}; run "outlay migrate" or engine.migrate(), or engine.migrationSql() with your own migration tool, then start again.`,
    )
  }
  await checkSameQueue((text, values) => driver.run(text, values), schema, queueSchema)
  await checkQueue(driver, queueSchema)
}

interface Parts<Tx> {
  readonly driver: Driver<Tx>
  readonly schema: string
  readonly queueSchema: string
  readonly channel: string
  readonly logger: Logger
  readonly checkIdentity: CheckIdentity
  readonly deployment: string | undefined
  readonly transfers: TransferStore<Tx>
  readonly archive: ArchiveStore
  readonly batches: BatchStore<Tx>
  readonly attempts: AttemptStore
  readonly polls: PollStore
  readonly limits: LimitSweepStore
  readonly gateways: GatewayStore
  readonly counterparties: CounterpartyStore<Tx>
  readonly readings: ListReadingStore
  readonly watched: WatchedAccountStore<Tx>
  readonly returnReadings: ReturnReadingStore
  readonly clockJumps: ClockJumpStore
  readonly credentials: CredentialStore
  readonly throttles: ThrottleStore
  readonly submissions: SubmissionStore
  readonly subscriptions: SubscriptionStore<Tx>
  readonly handlers: WorkHandlers<Tx>
  readonly work: WorkOptions
  readonly loops: LoopList
}

/** The first start stores the name; an empty one would be no name. */
function checkDeployment(deployment: unknown): void {
  if (deployment === undefined || (typeof deployment === 'string' && /^[^\p{Cc}\p{Cs}]{1,255}$/u.test(deployment)))
    return
  throw new Error('The deployment is a name of 1 to 255 characters without control characters, or left out.')
}

/** What workers need before the first of them starts. When a step fails, nothing is left running. */
async function prepareWork<Tx>(parts: Parts<Tx>) {
  const { driver, logger, handlers } = parts
  await checkWorkerRole(driver, parts.schema)
  const offError = driver.onError((error) =>
    logger.warn({ error: error.message }, 'An idle connection failed; the pool opens another.'),
  )
  let guard: Guard | undefined
  try {
    // First: an engine that is refused here writes nothing.
    guard = await startGuard({ ...parts, environment: handlers.environment, gateways: handlers.gateways })
    await warnOfIsolation(driver, logger)
    for (const { name, types } of handlers.subscriptions) await parts.subscriptions.register(name, types)
    const supervision = await startQueueSupervision(driver, parts.queueSchema, logger)
    return { offError, guard, supervision }
  } catch (error) {
    offError()
    await guard?.stop()
    throw error
  }
}

async function startWork<Tx>(parts: Parts<Tx>): Promise<Workers> {
  const { driver, logger, handlers, work } = parts
  const { pollIntervalMs = 200, concurrency = 100, stopTimeoutMs = 10_000, slowAfterMs = 5_000 } = work
  const archiveAfterMs = readArchiveAfterMs(work)
  const { offError, guard, supervision } = await prepareWork(parts)
  const subscribers = startSubscribers(parts, pollIntervalMs, slowAfterMs)
  const wakeSubscribers = () => {
    for (const subscriber of subscribers) subscriber.wake()
  }
  const worker = `${hostname()}:${process.pid}:${randomBytes(4).toString('hex')}`
  const throttler = startThrottler({ ...parts, onReleased: () => dispatcher.wake() })
  const limits = { concurrency, pollIntervalMs, slowAfterMs }
  const dispatcher = startDispatcher({ ...parts, ...limits, throttler, guard, worker, onSettled: wakeSubscribers })
  const poller = startPoller({ ...parts, throttler, slowAfterMs, onObserved: wakeSubscribers })
  const watcher = startWatcher({ ...parts, slowAfterMs, onObserved: wakeSubscribers })
  const returnReader = startReturnReader({ ...parts, throttler, slowAfterMs, onObserved: wakeSubscribers })
  const sweeper = startSweeper({ ...parts, guard })
  const unknown = startUnknownSweeper({ ...parts, unknownLimitMs: handlers.unknownLimitMs, onBlocked: wakeSubscribers })
  const clockWatch = startClockWatch(parts)
  const folder = startBatchFolder({ ...parts, onCompleted: wakeSubscribers })
  const archiver =
    archiveAfterMs === undefined
      ? undefined
      : startArchiver({ archive: parts.archive, olderThanMs: archiveAfterMs, logger, loops: parts.loops })
  const onWake = (isOutboxAlone: boolean) => {
    dispatcher.wake()
    if (isOutboxAlone) return
    guard.wake()
    throttler.wake()
    wakeSubscribers()
  }
  const wakeup = work.listen === false ? undefined : startWakeup({ driver, channel: parts.channel, logger, onWake })
  const end = async () => {
    const stoppedAt = performance.now()
    await Promise.all([
      wakeup?.stop(),
      archiver?.stop(),
      sweeper.stop(),
      unknown.stop(),
      clockWatch.stop(),
      folder.stop(),
      poller.stop(),
      watcher.stop(),
      returnReader?.stop(),
      dispatcher.stop(stopTimeoutMs),
    ])
    await guard.stop()
    await throttler.stop()
    const leftMs = Math.max(0, stopTimeoutMs - (performance.now() - stoppedAt))
    await Promise.all(subscribers.map((subscriber) => subscriber.stop(leftMs)))
    await supervision.stop()
    offError()
    return true
  }
  return {
    loops: parts.loops.read,
    async stop() {
      // When the network drops everything, queries never end. Each of them may be cut off, as by a crash.
      const isEnded = await Promise.race([end(), setTimeout(stopTimeoutMs + hungMs, false, { ref: false })])
      if (!isEnded) logger.warn({}, 'Postgres does not answer, so the engine stops without its final writes.')
    },
  }
}

function startSubscribers<Tx>(parts: Parts<Tx>, pollIntervalMs: number, slowAfterMs: number) {
  const { driver, subscriptions, handlers, logger, work } = parts
  const concurrency = countHandlerLoops({
    maxConnections: driver.maxConnections,
    subscriptions: handlers.subscriptions.length,
    wanted: work.subscriptionConcurrency ?? 4,
    logger,
  })
  return handlers.subscriptions.map((subscription) =>
    startSubscriber({
      store: subscriptions,
      subscription,
      logger,
      concurrency,
      pollIntervalMs,
      slowAfterMs,
      traced: handlers.traced,
      loops: parts.loops,
    }),
  )
}

/** How long statements under way may run beyond the time that requests have, when the engine stops, in milliseconds. */
const hungMs = 10_000

function readArchiveAfterMs({ retention }: WorkOptions): number | undefined {
  const days = retention?.archiveAfterDays
  if (days === undefined || (Number.isFinite(days) && days >= 0)) return days === undefined ? days : days * 86_400_000
  throw new Error(`archiveAfterDays is a number from 0 on; got ${days}.`)
}
