import { type Catalog, defaultCatalog } from '../catalog.ts'
import { Counterparty } from '../counterparty.ts'
import { Id } from '../id.ts'
import { checkNames } from '../option-names.ts'
import type { Backend } from '../ports/backend.ts'
import type { Gateway, SubmitResult } from '../ports/gateway.ts'
import type { NewTransfer } from '../ports/new-transfer.ts'
import type { ObserveRules } from '../ports/observations.ts'
import type { Runtime } from '../ports/runtime.ts'
import type { Subscription } from '../ports/subscriptions.ts'
import type { Telemetry } from '../ports/telemetry.ts'
import type { WebhookVerifier } from '../ports/webhooks.ts'
import type { Workers, WorkHandlers } from '../ports/work.ts'
import type { WorkOptions } from '../ports/work-options.ts'
import { alignedPollDelayMs, pollDelayMs, watchDelayMs } from '../retry.ts'
import type { Environment } from '../transfer-type.ts'
import { createAccounts } from './account-commands.ts'
import { refuseAddresses } from './address-ids.ts'
import { describeFound } from './adoption.ts'
import { archive } from './archiving.ts'
import { isText } from './checked-text.ts'
import { cancelTransfer, findEnded, findOrder, isKnowable, resubmitKey, timesAgain } from './commands.ts'
import { noticeEnded } from './ended-keys.ts'
import type { Engine, EnqueueRequest, Transfers } from './engine.ts'
import { checkAccountId, checkReused, prepareTransfer, prepareTransfers } from './enqueueing.ts'
import { decideEnvironment, environmentAgain, markEnvironment } from './environment.ts'
import { foreignGateway } from './foreign-gateway.ts'
import { foreignRuntime, foreignTelemetry } from './foreign-runtime.ts'
import { createLifecycle } from './lifecycle.ts'
import { readObservations } from './observation.ts'
import { createObstacleLog, watchGateway } from './obstacle-log.ts'
import { decideChange, pollTransfers, readPage } from './polling.ts'
import { reconcile } from './reconciling.ts'
import { decideRegistration, registerCounterparty } from './registration.ts'
import { compareTransfer, resolveTransfer } from './resolving.ts'
import { resolveReturn } from './resolving-returns.ts'
import { decideReturnReading, longestReturnWindowMs } from './return-reading.ts'
import {
  anyClient,
  checkKeyLifetime,
  decideUnsendable,
  decideUnsent,
  findSender,
  sendTransfer,
  whileKeyLives,
} from './sending.ts'
import { createPermit, createSafetyCommands, putBack } from './stopping.ts'
import { decideSubmission, unknownLimitMs } from './submission.ts'
import { makeBatchSubscription, makeSubscription, unsubscribe } from './subscribing.ts'
import { reportGauges, traceDecision, traceEnqueue, traceHandlers, traceWebhook } from './telemetry.ts'
import { decideThrottle } from './throttling.ts'
import { type EngineTimeouts, readTimeouts } from './timeouts.ts'
import { foreignVerifier, receiveWebhook } from './webhooks.ts'
import { checkPolling, checkWorkOptions } from './work-options.ts'

/** Options of an engine. */
export interface EngineOptions<Tx> {
  readonly backend: Backend<Tx>
  /** The connection to the other side. The host closes it when no engine uses it any more. */
  readonly gateway: Gateway
  /** Verifies webhooks, for {@link Engine.webhook}. Default: none; statuses come by polling alone. */
  readonly webhooks?: WebhookVerifier | undefined
  /** Value types and transfer types. Default: the ones that ship. */
  readonly catalog?: Catalog | undefined
  /** Clock, randomness and logger. Default: those of the backend. */
  readonly runtime?: Partial<Runtime> | undefined
  /** Time limits for calls into the host's and the gateway's code. */
  readonly timeouts?: EngineTimeouts | undefined
  /** Traces and metrics, such as `openTelemetry()` of `@outlay/opentelemetry`. Default: none, at no cost. */
  readonly telemetry?: Telemetry | undefined
  /** The poll interval of submitted transfers and watched accounts. Default: a quarter of the rail's expected time, then slower. */
  readonly polling?: {
    /** Longest pause between two polls, in milliseconds; useful where time runs faster, as in a sandbox. */
    readonly maxDelayMs?: number | undefined
  }
}

const optionNames = ['backend', 'gateway', 'webhooks', 'catalog', 'runtime', 'timeouts', 'telemetry', 'polling']

/**
 * Creates an engine. It does no work before {@link Engine.start}: a process that only enqueues need not start it.
 *
 * @example
 * const engine = createEngine({ backend: postgres({ driver: drizzleDriver(db) }), gateway: httpGateway({ … }) })
 * await db.transaction(async (tx) => { await engine.transfers.enqueue(tx, { … }) })
 */
export function createEngine<Tx>(given: EngineOptions<Tx>): Engine<Tx> {
  checkNames(given, optionNames)
  checkPolling(given.polling)
  checkKeyLifetime(given.gateway)
  const { backend } = given
  const runtime = foreignRuntime(backend.runtime, given.runtime)
  const options = guardForeign(given, runtime)
  const rules = rulesOf(options, runtime)
  const subscriptions = new Map<string, Subscription<Tx>>()
  const lifecycle = createLifecycle()

  const subscribe = (name: string, make: () => Subscription<Tx>) => {
    if (lifecycle.isRunning()) throw new Error(`Subscribe "${name}" before start(): a running engine accepts no more.`)
    if (subscriptions.has(name)) throw new Error(`There is a subscription "${name}" already; names are unique.`)
    subscriptions.set(name, make())
  }
  return {
    transfers: createTransfers(options, runtime, rules),
    accounts: createAccounts(backend, runtime),
    subscribe: (name, types, handler, options) =>
      subscribe(name, () => makeSubscription(name, types, handler, options)),
    subscribeMany: (name, types, handler, options) =>
      subscribe(name, () => makeBatchSubscription(name, types, handler, options)),
    unsubscribe: (tx, name, removal) => unsubscribe(backend, tx, name, removal),
    async webhook(webhook, { accountId }) {
      const { webhooks, telemetry } = options
      if (webhooks === undefined) throw new Error('Give createEngine() `webhooks` to receive webhooks.')
      checkAccountId(accountId)
      const receive = () => receiveWebhook(backend, webhooks, webhook, accountId, rules)
      return telemetry === undefined ? receive() : traceWebhook(telemetry, webhook, accountId, receive)
    },
    migrate: () => backend.migrate(),
    migrationSql: () => backend.migrationSql(),
    backlog: () => backend.backlog(),
    ...createSafetyCommands(backend.operations),
    reconcile: (reconciling) => reconcile(backend.operations, options.gateway, rules, runtime.clock.now(), reconciling),
    archive: (archiving) => archive(backend, archiving),
    async start({ signal, ...work } = {}) {
      checkWorkOptions(work)
      const { telemetry } = options
      await lifecycle.start(() => startWorkers(options, runtime, rules, [...subscriptions.values()], work), {
        signal,
        logger: runtime.logger,
        onRunning: telemetry === undefined ? undefined : () => reportGauges(telemetry, backend),
      })
    },
    stop: lifecycle.stop,
    [Symbol.asyncDispose]: lifecycle.stop,
  }
}

/** The same options, with time limits and checks around all foreign code. */
function guardForeign<Tx>(options: EngineOptions<Tx>, runtime: Runtime): EngineOptions<Tx> {
  const { gateway, webhooks, telemetry } = options
  const timeouts = readTimeouts(options.timeouts)
  return {
    ...options,
    gateway: watchGateway(foreignGateway(gateway, runtime, timeouts), createObstacleLog(runtime)),
    webhooks: webhooks === undefined ? undefined : foreignVerifier(webhooks, runtime, timeouts.lookupMs),
    telemetry: telemetry === undefined ? undefined : foreignTelemetry(telemetry),
  }
}

function rulesOf<Tx>(options: EngineOptions<Tx>, runtime: Runtime): ObserveRules {
  const { telemetry, gateway, catalog = defaultCatalog } = options
  const returnWindowMs = (transferTypes: readonly string[]) =>
    gateway.reportsReturns === true ? longestReturnWindowMs(catalog, transferTypes) : undefined
  return {
    returnWindowMs,
    decide: telemetry === undefined ? decideChange : traceDecision(telemetry, runtime.clock, decideChange),
    describe: (observation) => describeFound(observation, runtime, returnWindowMs),
  }
}

function createTransfers<Tx>(options: EngineOptions<Tx>, runtime: Runtime, rules: ObserveRules): Transfers<Tx> {
  const { backend, gateway, catalog = defaultCatalog, telemetry } = options
  const naming = { digest: runtime.digest, nextId: Id.createSequence(runtime.clock, runtime.random) }
  const prepare = (request: EnqueueRequest, prefix: string, environment = gateway.environment) => {
    const prepared = prepareTransfer(request, catalog, naming, prefix)
    const transfer = markEnvironment(prepared, environment, catalog, prefix)
    if (transfer.counterparty === undefined || gateway.registerAddress !== undefined) return transfer
    throw new Error('The gateway of this engine registers no addresses; give the destination by its addressId.')
  }
  const write = (tx: Tx, transfers: readonly NewTransfer[]) =>
    telemetry === undefined
      ? backend.enqueue(tx, transfers)
      : traceEnqueue(telemetry, transfers, (traceparent) => backend.enqueue(tx, transfers, traceparent))
  const enqueue = async (tx: Tx, request: EnqueueRequest, environment?: Environment) => {
    const transfer = prepare(request, '', environment)
    const [enqueued] = await write(tx, [transfer])
    if (enqueued === undefined) throw new Error('The backend answered without the transfer that it was given.')
    checkReused(transfer, enqueued)
    return enqueued
  }
  return {
    async enqueue(tx, request) {
      refuseAddresses(request, '')
      const enqueued = await enqueue(tx, request)
      return noticeEnded([enqueued], runtime.logger)[0] ?? enqueued
    },
    async enqueueMany(tx, requests) {
      const prepareNew = (request: EnqueueRequest, prefix: string) => {
        refuseAddresses(request, prefix)
        return prepare(request, prefix)
      }
      return noticeEnded(await write(tx, await prepareTransfers(requests, runtime, prepareNew)), runtime.logger)
    },
    get: async (transferId) => (isKnowable(transferId) ? backend.get(transferId) : undefined),
    getByKey: async (accountId, key) =>
      isText(accountId) && isText(key) ? backend.getByKey(accountId, key) : undefined,
    cancel: (tx, transferId) => cancelTransfer(backend, tx, transferId),
    resolve: (tx, transferId, resolution) => resolveTransfer(backend, tx, transferId, resolution),
    resolveReturn: (tx, transferId, resolution) => resolveReturn(backend, tx, transferId, resolution),
    compare: (transferId, remoteId, { signal = new AbortController().signal } = {}) =>
      compareTransfer({ backend, gateway }, transferId, remoteId, signal),
    async resubmit(tx, transferId, options = {}) {
      checkNames(options, ['idempotencyKey', 'notBefore', 'expiresAt'])
      const { idempotencyKey, ...times } = options
      const ended = await findEnded(backend, tx, transferId)
      const environment = environmentAgain(ended, gateway.environment)
      const order = {
        ...(await findOrder(backend, tx, ended)),
        ...timesAgain(ended, times, runtime.clock.now()),
        idempotencyKey: idempotencyKey ?? resubmitKey(ended),
      }
      return enqueue(tx, order, environment)
    },
    release: async (tx, transferId) => isKnowable(transferId) && backend.release(tx, transferId),
    async observe(tx, accountId, observations) {
      checkAccountId(accountId)
      return backend.observe(tx, accountId, readObservations(observations), rules)
    },
  }
}

async function startWorkers<Tx>(
  options: EngineOptions<Tx>,
  runtime: Runtime,
  rules: ObserveRules,
  subscriptions: readonly Subscription<Tx>[],
  work: WorkOptions,
): Promise<Workers> {
  const { backend, gateway, catalog = defaultCatalog } = options
  const { clock, random, timer, logger } = runtime
  const longestMs = options.polling?.maxDelayMs ?? Number.POSITIVE_INFINITY
  const pollMs = (accountId: string, transferType: string, polls: number) => {
    const expectedMs = catalog.transferType(transferType)?.expectedMs ?? 60_000
    const delayMs = Math.min(pollDelayMs({ expectedMs, polls }), longestMs)
    return alignedPollDelayMs({ nowMs: clock.now().getTime(), delayMs, accountId })
  }
  const send: WorkHandlers<Tx>['submit'] = async (claim, signal, mayBegin, recordLate) => {
    const permit = createPermit(mayBegin)
    if (!permit.mayBegin()) return putBack(claim)
    const sending = { signal, mayBegin: permit.mayBegin }
    const firstPollMs = pollMs(claim.accountId, claim.request.destination.transferType, 0)
    const { keyLifetimeMs } = gateway
    const { source, destination } = claim.request
    const returnWindowMs = rules.returnWindowMs([source.transferType, destination.transferType])
    const always = { firstPollMs, keyLifetimeMs, returnWindowMs }
    const context = () => ({ ...always, now: clock.now(), fraction: random.fraction() })
    const request = Counterparty.registered(claim.request)
    if (request === undefined) {
      const registered = await registerCounterparty(gateway, logger, claim, sending)
      if (permit.isRefused() && registered.outcome === 'throttled') return putBack(claim)
      return decideRegistration(claim, registered, context())
    }
    const sender = await findSender({ backend, gateway }, claim, signal)
    if ('reason' in sender) return decideUnsent(claim, sender, context())
    // It says nothing about the credentials of now.
    const decideLate = (late: SubmitResult) => ({ ...decideSubmission(claim, late, context()), credentials: null })
    const onLateAcceptance = recordLate && ((late: SubmitResult) => recordLate(decideLate(late)))
    const guarded = { ...sending, onLateAcceptance }
    const result = await sendTransfer({ gateway, logger }, claim, request, sender.client, guarded)
    // An answer is one to a request that left before the refusal.
    const { outcome, mayHaveActed, httpStatus } = result
    const isUnsent = outcome === 'throttled' && mayHaveActed !== true && httpStatus === undefined
    if (permit.isRefused() && isUnsent) return putBack(claim)
    return decideSubmission(claim, result, context())
  }
  const handlers: WorkHandlers<Tx> = {
    client: gateway.identify === undefined ? anyClient : undefined,
    unknownLimitMs: unknownLimitMs(gateway.keyLifetimeMs),
    async submit(claim, signal, mayBegin, recordLate) {
      const unsendable = decideUnsendable(claim, gateway.keyLifetimeMs) ?? decideEnvironment(claim, gateway.environment)
      if (unsendable !== undefined) return unsendable
      return whileKeyLives(timer, claim, gateway.keyLifetimeMs, (lives) =>
        send(claim, signal, () => lives() && mayBegin(), recordLate),
      )
    },
    poll: (accountId, transfers, signal) => pollTransfers(gateway, logger, accountId, transfers, signal),
    readPage: (accountId, cursor, signal) => readPage(gateway, accountId, cursor, signal),
    nextPollMs: ({ accountId, transferType, polls }) => pollMs(accountId, transferType, polls),
    nextWatchMs: (idle) => Math.min(watchDelayMs({ idle }), longestMs),
    decideReturnReading: gateway.reportsReturns === true ? decideReturnReading : undefined,
    rules,
    environment: gateway.environment,
    decideThrottle: (current, signal, now) => decideThrottle(current, signal, now, random.fraction()),
    subscriptions,
    logger,
  }
  await backend.check()
  const { telemetry } = options
  return backend.work(telemetry === undefined ? handlers : traceHandlers(telemetry, clock, handlers), work)
}
