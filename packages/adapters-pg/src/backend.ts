import type { Backend, Logger } from '@outlay/core'
import { OutlayError } from '@outlay/core'
import { checkFlag, checkNames, foreignLogger } from '@outlay/core/adapter'
import { createWatchedAccountStore } from './adoption/watched-accounts.ts'
import { createArchiveStore } from './archive/archive.ts'
import { createBatchStore } from './batches/batches.ts'
import { createClockJumpStore } from './clock/clock-jumps.ts'
import { createAuditStore } from './control/audit.ts'
import { createExpiredHoldStore } from './control/expired-holds.ts'
import { createHoldStore } from './control/holds.ts'
import { createLimitSweepStore } from './control/limit-sweeps.ts'
import { createLimitStore } from './control/limits.ts'
import { createPolicyStore } from './control/policies.ts'
import { createCountStore } from './counts/counts.ts'
import type { Driver, SqlSession } from './database/driver.ts'
import { unlessLocked } from './database/lock-timeout.ts'
import { systemRuntime } from './database/runtime.ts'
import { createAttemptStore } from './dispatch/attempts.ts'
import { createGatewayStore } from './dispatch/gateways.ts'
import { createSubmissionStore } from './dispatch/submissions.ts'
import { createEnqueue } from './enqueue/enqueue.ts'
import { createStoredKeys } from './enqueue/stored-keys.ts'
import { createBacklog } from './inspection/backlog.ts'
import { createDelays } from './inspection/delays.ts'
import { createCredentialStore } from './limits/credentials.ts'
import { createThrottleStore } from './limits/throttles.ts'
import { createIdentityCheck, createOperations } from './operations/operations.ts'
import { createListReadingStore } from './polling/list-readings.ts'
import { createPollStore } from './polling/polls.ts'
import {
  checkQueue,
  checkSameQueue,
  isQueueInstalled,
  isQueueReady,
  queueCreateSql,
  queueInstallSql,
  queueTrimSql,
} from './queue/queue-schema.ts'
import { createReturnReadingStore } from './returns/return-readings.ts'
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
import { explainMigration, explainRole } from './schema/worker-role.ts'
import { createScreeningStore } from './screening/screenings.ts'
import { createSubscriptionStore } from './subscriptions/subscriptions.ts'
import { createCommandStore } from './transfers/commands.ts'
import { createCounterpartyStore } from './transfers/counterparties.ts'
import { createFind } from './transfers/finding.ts'
import { createResubmissionStore } from './transfers/resubmissions.ts'
import { createTransferStore } from './transfers/transfers.ts'
import { startWork } from './work.ts'
import { createLoopList } from './workers/loop-list.ts'

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
  checkOptions(options)
  const { driver, notify = true } = options
  const { schema, queueSchema, channel, tokens } = resolveNames(options)
  const runtime = systemRuntime(options.logger)
  const transfers = createTransferStore(driver, tokens, { notifies: notify, logger: foreignLogger(runtime.logger) })
  const stores = {
    transfers,
    archive: createArchiveStore(driver, tokens),
    batches: createBatchStore(driver, tokens, notify),
    attempts: createAttemptStore(driver, tokens),
    gateways: createGatewayStore(driver, tokens),
    polls: createPollStore(driver, tokens),
    counterparties: createCounterpartyStore(driver, tokens),
    expiredHolds: createExpiredHoldStore(driver, tokens),
    readings: createListReadingStore(driver, tokens),
    watched: createWatchedAccountStore(driver, tokens),
    returnReadings: createReturnReadingStore(driver, tokens),
    clockJumps: createClockJumpStore(driver, tokens),
    credentials: createCredentialStore(driver, tokens),
    throttles: createThrottleStore(driver, tokens),
    submissions: createSubmissionStore(driver, tokens),
    limits: createLimitSweepStore(driver, tokens),
    audit: createAuditStore(driver, tokens),
    counts: createCountStore(driver, tokens),
    screenings: createScreeningStore(driver, tokens, notify),
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
    enqueue: createEnqueue(driver, { schema, tokens }, notify),
    get: transfers.get,
    getByKey: transfers.getByKey,
    areStored: createStoredKeys(driver, tokens),
    find: createFind(driver, tokens),
    counterparty: stores.counterparties.find,
    observe: async (tx, given, rules) => (await transfers.applyMany(tx, given, rules)).changed,
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
    readCounts: stores.counts.read,
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
  ...createScreeningStore(driver, tokens, notify).port,
})

const migrate = <Tx>(driver: Driver<Tx>, queueSchema: string, plan: Parameters<typeof applyMigrations>[1]) =>
  explainMigration(driver, plan.schema, () =>
    driver.session(async (session) => {
      await checkSameQueue((text, values) => session.query(text, [...values]), plan.schema, queueSchema)
      if (!(await isQueueReady(session, queueSchema))) await migrateQueue(session, queueSchema, plan)
      await applyMigrations(session, plan)
    }),
  )

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
    const what =
      applied.size === 0
        ? `There is no engine in the schema "${schema}"`
        : `The schema "${schema}" lacks ${nameSome(missing)}`
    throw new OutlayError(
      'not_migrated',
      `${what}; run "outlay migrate" or engine.migrate(), or engine.migrationSql() with your own migration tool, then start again.`,
    )
  }
  await checkSameQueue((text, values) => driver.run(text, values), schema, queueSchema)
  await checkQueue(driver, queueSchema)
}

/** Names in a sentence. A schema of a much older release lacks hundreds of functions. */
const nameSome = (names: readonly string[]): string =>
  names.length <= 6 ? names.join(', ') : `${names.slice(0, 5).join(', ')} and ${names.length - 5} more`

function checkOptions<Tx>(options: PostgresOptions<Tx>): void {
  // First the driver: all that a pool in its place has would be an unknown option.
  checkDriver<Tx>((options as Partial<typeof options> | undefined)?.driver)
  checkNames(options, optionNames)
  const { notify = true, deployment } = options
  checkFlag(notify, 'notify')
  checkDeployment(deployment)
}

function checkDriver<Tx>(driver: Partial<Driver<Tx>> | null | undefined): void {
  if (typeof driver?.execute === 'function') return
  const message = 'must be a driver, such as pgDriver(pool) or that of your library'
  throw OutlayError.fromIssues([{ field: 'driver', code: 'invalid_request', message }])
}

/** The first start stores the name; an empty one would be no name. */
function checkDeployment(deployment: unknown): void {
  if (deployment === undefined || (typeof deployment === 'string' && /^[^\p{Cc}\p{Cs}]{1,255}$/u.test(deployment)))
    return
  throw new Error('The deployment is a name of 1 to 255 characters without control characters, or left out.')
}
