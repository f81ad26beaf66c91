import { type Catalog, defaultCatalog } from '../catalog.ts'
import { OutlayError } from '../error.ts'
import { atGateway, readGatewayAccount } from '../gateway-account.ts'
import { Id } from '../id.ts'
import { checkNames } from '../option-names.ts'
import type { Backend } from '../ports/backend.ts'
import type { Gateway } from '../ports/gateway.ts'
import type { NewTransfer } from '../ports/new-transfer.ts'
import type { ObserveRules } from '../ports/observations.ts'
import type { Runtime } from '../ports/runtime.ts'
import type { Screener } from '../ports/screening.ts'
import type { Subscription } from '../ports/subscriptions.ts'
import type { Telemetry } from '../ports/telemetry.ts'
import type { WebhookVerifier } from '../ports/webhooks.ts'
import type { Workers, WorkHandlers } from '../ports/work.ts'
import type { WorkOptions } from '../ports/work-options.ts'
import { alignedPollDelayMs, pollDelayMs, watchDelayMs } from '../retry.ts'
import { createAccounts } from './account-commands.ts'
import { refuseAddresses } from './address-ids.ts'
import { describeFound } from './adoption.ts'
import { archive } from './archiving.ts'
import { createSend, type PollMs } from './attempting.ts'
import { createBatches } from './batches.ts'
import { isText } from './checked-text.ts'
import { cancelTransfer, isKnowable } from './commands.ts'
import { noticeEnded } from './ended-keys.ts'
import type { Engine, EnqueueRequest, Transfers } from './engine.ts'
import { checkAccountId, checkReused, prepareTransfer, prepareTransfers } from './enqueueing.ts'
import { decideEnvironment, environmentAgain, markEnvironment } from './environment.ts'
import { createFailingOver, type FailingOver } from './failing-over.ts'
import { findTransfers } from './finding.ts'
import { foreignGateway } from './foreign-gateway.ts'
import { foreignRuntime, foreignTelemetry } from './foreign-runtime.ts'
import { type Failover, type Gateways, type Route, readGateways, routeTransfer } from './gateways.ts'
import { reportGauges } from './gauges.ts'
import { createHolding } from './holding.ts'
import { createJudgement } from './judging.ts'
import { createLifecycle } from './lifecycle.ts'
import { createLimits } from './limits.ts'
import { createObserving } from './observing.ts'
import { createObstacleLog, watchGateway } from './obstacle-log.ts'
import { createAudit, createPolicies } from './policies.ts'
import { decideChange, pollTransfers, readPage } from './polling.ts'
import { reconcile } from './reconciling.ts'
import { releaseTransfer } from './releasing.ts'
import { compareTransfer, resolveTransfer } from './resolving.ts'
import { resolveReturn } from './resolving-returns.ts'
import { type Resubmitting, resubmit } from './resubmitting.ts'
import { decideReturnReading, longestReturnWindowMs } from './return-reading.ts'
import { answerScreening, checkScreener, createScreening, warnOfUnscreened } from './screening.ts'
import { anyClient, checkKeyLifetime, decideUnsendable, whileKeyLives } from './sending.ts'
import { readStats } from './stats.ts'
import { createSafetyCommands, putBack } from './stopping.ts'
import { lastSendMs, unknownLimitMs } from './submission.ts'
import { makeBatchSubscription, makeSubscription, unsubscribe } from './subscribing.ts'
import { beginCounters, traceDecision, traceEnqueue, traceHandlers, traceWebhook } from './telemetry.ts'
import { decideThrottle } from './throttling.ts'
import { type EngineTimeouts, readTimeouts } from './timeouts.ts'
import { foreignVerifier, readVerifiers, receiveWebhook } from './webhooks.ts'
import { checkPolling, checkWorkOptions } from './work-options.ts'

/** Options of an engine. */
export interface EngineOptions<Tx> {
  readonly backend: Backend<Tx>
  /**
   * The connection to the other side, or `gateways` for several; one of the two. Its name is `default`. The host closes it when no engine
   * uses it any more.
   */
  readonly gateway?: Gateway | undefined
  /**
   * Several connections by name: 1 to 63 of a-z, 0-9, "_", "." and "-". A name is stored with each transfer, so it stays for good.
   * Transfers that were enqueued for the only `gateway` of an engine have the name `default`.
   */
  readonly gateways?: Readonly<Record<string, Gateway>> | undefined
  /**
   * Names the gateway of each new transfer, where there are several. Pure and without a promise: it is called with every enqueue, before
   * any SQL. What it names is committed with the transfer; a second enqueue with the same key returns the first one as it is.
   */
  readonly route?: Route | undefined
  /**
   * Names the gateway that takes over a transfer which its own has refused for good, where the refusal has `keyClosed`. The successor is a
   * transfer of its own, as of {@link Transfers.resubmit}. Default: none is taken over.
   */
  readonly failover?: Failover | undefined
  /**
   * Verifies webhooks, for {@link Engine.webhook}; with several gateways one for each, by name, or one for all. Default: none; statuses
   * come by polling alone.
   */
  readonly webhooks?: WebhookVerifier | Readonly<Record<string, WebhookVerifier>> | undefined
  /**
   * Asks whether a transfer may be sent, such as a provider of sanctions screening. Workers call it for each transfer that a policy with `screen`
   * holds. Default: none; what is held for screening waits for a worker that has one.
   */
  readonly screen?: Screener | undefined
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

const optionNames = [
  ...['backend', 'gateway', 'gateways', 'route', 'failover', 'webhooks', 'screen'],
  ...['catalog', 'runtime', 'timeouts', 'telemetry', 'polling'],
]

/**
 * Creates an engine. It does no work before {@link Engine.start}: a process that only enqueues need not start it.
 *
 * @example
 * const engine = createEngine({ backend: postgres({ driver: drizzleDriver(db) }), gateway: httpGateway({ … }) })
 * await db.transaction(async (tx) => { await engine.transfers.enqueue(tx, { … }) })
 */
export function createEngine<Tx>(given: EngineOptions<Tx>): Engine<Tx> {
  checkNames(given ?? null, optionNames)
  checkPolling(given.polling)
  checkScreener(given.screen)
  for (const gateway of readGateways(given).all) checkKeyLifetime(gateway)
  const { backend } = given
  checkBackend(backend)
  const runtime = foreignRuntime(backend.runtime, given.runtime)
  const options = guardForeign(given, runtime)
  const { gateways } = options
  const rules = rulesOf(options, runtime)
  const subscriptions = new Map<string, Subscription<Tx>>()
  const lifecycle = createLifecycle()
  const { transfers, resubmitting } = createTransfers(options, runtime, rules)
  const failingOver =
    options.failover && createFailingOver({ backend, gateways, failover: options.failover, runtime, resubmitting })
  if (failingOver !== undefined) subscriptions.set(failingOver.subscription.name, failingOver.subscription)

  const subscribe = (name: string, make: () => Subscription<Tx>) => {
    if (lifecycle.isRunning()) throw new Error(`Subscribe "${name}" before start(): a running engine accepts no more.`)
    if (subscriptions.has(name)) throw new Error(`There is a subscription "${name}" already; names are unique.`)
    subscriptions.set(name, make())
  }
  return {
    transfers,
    accounts: createAccounts(backend, runtime, gateways),
    batches: createBatches(backend, Id.createSequence(runtime.clock, runtime.random), runtime),
    policies: createPolicies(backend, options.catalog ?? defaultCatalog),
    limits: createLimits(backend, options.catalog ?? defaultCatalog),
    audit: createAudit(backend, runtime),
    subscribe: (name, types, handler, options) =>
      subscribe(name, () => makeSubscription(name, types, handler, options)),
    subscribeMany: (name, types, handler, options) =>
      subscribe(name, () => makeBatchSubscription(name, types, handler, options)),
    unsubscribe: (tx, name, removal) => unsubscribe(backend, tx, name, removal),
    async webhook(webhook, { accountId, gateway: named }) {
      const { verifiers, telemetry } = options
      if (verifiers === undefined) throw new Error('Give createEngine() `webhooks`, such as httpWebhooks({ secrets }).')
      checkAccountId(accountId)
      const at = { gateway: gateways.choose(named), accountId }
      const verifier = verifiers(at.gateway)
      const receive = () => receiveWebhook(backend, verifier, webhook, at, rules)
      return telemetry === undefined ? receive() : traceWebhook(telemetry, webhook, atGateway(at), receive)
    },
    migrate: () => backend.migrate(),
    migrationSql: () => backend.migrationSql(),
    backlog: () => backend.backlog(),
    stats: (query) => readStats(backend, runtime.clock.now(), query),
    ...createSafetyCommands(backend, gateways.names, runtime.logger),
    reconcile: (reconciling) => reconcile(backend.operations, gateways, rules, runtime.clock.now(), reconciling),
    archive: (archiving) => archive(backend, archiving),
    async start({ signal, ...work } = {}) {
      checkWorkOptions(work)
      const { telemetry, catalog = defaultCatalog } = options
      // Before the first attempt, so that none of them is what a counter begins with.
      if (telemetry !== undefined) beginCounters(telemetry, catalog.transferTypes, subscriptions.values())
      const parts = { rules, failingOver, subscriptions: [...subscriptions.values()] }
      await lifecycle.start(() => startWorkers(options, runtime, parts, work), {
        signal,
        logger: runtime.logger,
        onRunning: telemetry === undefined ? undefined : () => reportGauges(telemetry, backend, runtime.clock),
      })
    },
    stop: lifecycle.stop,
    workers: lifecycle.state,
    check: () => backend.check(),
    [Symbol.asyncDispose]: lifecycle.stop,
  }
}

function checkBackend(backend: unknown): void {
  if (typeof (backend as Partial<Backend<unknown>> | null | undefined)?.work === 'function') return
  const message = 'must be a backend, such as postgres({ driver }) of @outlay/adapters-pg'
  throw OutlayError.fromIssues([{ field: 'backend', code: 'invalid_request', message }])
}

/** The same options, with time limits and checks around all foreign code. */
function guardForeign<Tx>(options: EngineOptions<Tx>, runtime: Runtime): GuardedOptions<Tx> {
  const { telemetry, gateway, gateways, ...others } = options
  const timeouts = readTimeouts(options.timeouts)
  const guard = (one: Gateway, name?: string) =>
    watchGateway(foreignGateway(one, runtime, timeouts), createObstacleLog(runtime, name))
  const named = Object.entries(gateways ?? {}).map(([name, one]) => [name, guard(one, name)] as const)
  const guarded = gateway === undefined ? { gateways: Object.fromEntries(named) } : { gateway: guard(gateway) }
  const guardVerifier = (verifier: WebhookVerifier) => foreignVerifier(verifier, runtime, timeouts.lookupMs)
  const known = readGateways({ ...others, ...guarded })
  return {
    ...others,
    gateways: known,
    verifiers: readVerifiers(options.webhooks, known.names, guardVerifier),
    telemetry: telemetry === undefined ? undefined : foreignTelemetry(telemetry),
  }
}

/** The options of an engine as its code uses them. */
interface GuardedOptions<Tx> extends Omit<EngineOptions<Tx>, 'gateway' | 'gateways'> {
  readonly gateways: Gateways
  /** The verifier of a gateway; undefined where there is none for any. */
  readonly verifiers: ((gateway: string) => WebhookVerifier) | undefined
}

function rulesOf<Tx>(options: GuardedOptions<Tx>, runtime: Runtime): ObserveRules {
  const { telemetry, gateways, catalog = defaultCatalog } = options
  const returnWindowMs: ObserveRules['returnWindowMs'] = (transferTypes, account) =>
    gateways.find(readGatewayAccount(account).gateway)?.reportsReturns === true
      ? longestReturnWindowMs(catalog, transferTypes)
      : undefined
  return {
    returnWindowMs,
    decide: telemetry === undefined ? decideChange : traceDecision(telemetry, runtime.clock, decideChange),
    describe: (observation, account) =>
      describeFound(observation, readGatewayAccount(account).gateway, runtime, (transferTypes) =>
        returnWindowMs(transferTypes, account),
      ),
  }
}

function createTransfers<Tx>(
  options: GuardedOptions<Tx>,
  runtime: Runtime,
  rules: ObserveRules,
): { readonly transfers: Transfers<Tx>; resubmitting(): Resubmitting<Tx> } {
  const { backend, gateways, route, catalog = defaultCatalog, telemetry } = options
  const naming = { digest: runtime.digest, nextId: Id.createSequence(runtime.clock, runtime.random) }
  const prepare = (request: EnqueueRequest, prefix: string, again?: Pick<NewTransfer, 'gateway' | 'environment'>) => {
    const prepared = prepareTransfer(request, catalog, naming, prefix)
    const name = again?.gateway ?? routeTransfer(gateways, route, request, prefix)
    const gateway = gateways.find(name)
    const environment = again === undefined ? gateway?.environment : again.environment
    const transfer = markEnvironment({ ...prepared, gateway: name }, environment, catalog, prefix)
    if (transfer.counterparty === undefined || gateway === undefined || gateway.registerAddress !== undefined)
      return transfer
    throw new Error('The gateway of this engine registers no addresses; give the destination by its addressId.')
  }
  const judge = createJudgement({ backend, catalog, runtime })
  const write = (tx: Tx, transfers: readonly NewTransfer[], isMany = false) => {
    const judged = (traceparent?: string) =>
      judge(tx, transfers, isMany, (held, tag, expected) => backend.enqueue(tx, held, traceparent, tag, expected))
    return telemetry === undefined ? judged() : traceEnqueue(telemetry, transfers, judged)
  }
  const enqueue = async (tx: Tx, request: EnqueueRequest) => {
    const transfer = prepare(request, '')
    const [enqueued] = await write(tx, [transfer])
    if (enqueued === undefined) throw new Error('The backend answered without the transfer that it was given.')
    checkReused(transfer, enqueued)
    return enqueued
  }
  const resubmitting = (): Resubmitting<Tx> => ({
    ...{ backend, gateways, now: runtime.clock.now(), write },
    prepare: (request, ended, gateway) =>
      prepare(request, '', { gateway, environment: environmentAgain(ended, gateways.find(gateway)?.environment) }),
  })
  const transfers: Transfers<Tx> = {
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
      return noticeEnded(await write(tx, await prepareTransfers(requests, runtime, prepareNew), true), runtime.logger)
    },
    get: async (transferId, tx) => (isKnowable(transferId) ? backend.get(transferId, tx) : undefined),
    getByKey: async (accountId, key) =>
      isText(accountId) && isText(key) ? backend.getByKey(accountId, key) : undefined,
    find: (query, tx) => findTransfers(backend, catalog, query, tx),
    ...createHolding(backend),
    answerScreening: (tx, transferId, decision) => answerScreening(backend, tx, transferId, decision),
    cancel: (tx, transferId, note) => cancelTransfer(backend, tx, transferId, note),
    resolve: (tx, transferId, resolution) => resolveTransfer(backend, tx, transferId, resolution),
    resolveReturn: (tx, transferId, resolution) => resolveReturn(backend, tx, transferId, resolution),
    compare: (transferId, remoteId, { signal = new AbortController().signal } = {}) =>
      compareTransfer({ backend, gateways }, transferId, remoteId, signal),
    resubmit: async (tx, transferId, options) => resubmit(resubmitting(), tx, transferId, options),
    release: async (tx, transferId, note) => isKnowable(transferId) && releaseTransfer(backend, tx, transferId, note),
    ...createObserving(backend, gateways, rules),
  }
  return { transfers, resubmitting }
}

/** What workers go by beside the options. */
interface WorkerParts<Tx> {
  readonly rules: ObserveRules
  /** Absent where no gateway takes over what another one has refused. */
  readonly failingOver: FailingOver<Tx> | undefined
  readonly subscriptions: readonly Subscription<Tx>[]
}

async function startWorkers<Tx>(
  options: GuardedOptions<Tx>,
  runtime: Runtime,
  { rules, failingOver, subscriptions }: WorkerParts<Tx>,
  work: WorkOptions,
): Promise<Workers> {
  const { backend, gateways, catalog = defaultCatalog } = options
  const { clock, random, timer, logger } = runtime
  const longestMs = options.polling?.maxDelayMs ?? Number.POSITIVE_INFINITY
  const pollMs: PollMs = (accountId, transferType, polls) => {
    const expectedMs = catalog.transferType(transferType)?.expectedMs ?? 60_000
    const delayMs = Math.min(pollDelayMs({ expectedMs, polls }), longestMs)
    return alignedPollDelayMs({ nowMs: clock.now().getTime(), delayMs, accountId })
  }
  const send = createSend(options, runtime, { rules, failingOver }, pollMs)
  const handlers: WorkHandlers<Tx> = {
    gateways: gateways.names,
    client: gateways.all.every(({ identify }) => identify === undefined) ? anyClient : undefined,
    unknownLimits: gateways.names.map((gateway) => {
      const keyLifetimeMs = gateways.demand(gateway).keyLifetimeMs
      return { gateway, limitMs: unknownLimitMs(keyLifetimeMs), lastSendMs: lastSendMs(keyLifetimeMs) }
    }),
    async submit(claim, signal, mayBegin, recordLate) {
      const gateway = gateways.find(claim.gateway)
      // A backend that claims what it was not asked for: nothing sends it elsewhere.
      if (gateway === undefined) return putBack(claim)
      const unsendable = decideUnsendable(claim, gateway.keyLifetimeMs) ?? decideEnvironment(claim, gateway.environment)
      if (unsendable !== undefined) return unsendable
      return whileKeyLives(timer, claim, gateway.keyLifetimeMs, (lives) =>
        send(gateway, claim, signal, () => lives() && mayBegin(), recordLate),
      )
    },
    async poll(account, transfers, signal) {
      const { gateway, accountId } = readGatewayAccount(account)
      return pollTransfers(gateways.demand(gateway), logger, accountId, transfers, signal)
    },
    async readPage(account, cursor, signal) {
      const { gateway, accountId } = readGatewayAccount(account)
      return readPage(gateways.demand(gateway), accountId, cursor, signal)
    },
    nextPollMs: ({ accountId, transferType, polls }) => pollMs(accountId, transferType, polls),
    nextWatchMs: (idle) => Math.min(watchDelayMs({ idle }), longestMs),
    decideReturnReading: gateways.all.some(({ reportsReturns }) => reportsReturns) ? decideReturnReading : undefined,
    screening: createScreening(options, runtime),
    rules,
    environment: gateways.environment,
    decideThrottle: (current, signal, now) => decideThrottle(current, signal, now, random.fraction()),
    subscriptions,
    logger,
  }
  await backend.check()
  await warnOfUnscreened(options, runtime.logger)
  const { telemetry } = options
  return backend.work(telemetry === undefined ? handlers : traceHandlers(telemetry, clock, handlers), work)
}
