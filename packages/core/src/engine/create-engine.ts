import { type Catalog, defaultCatalog } from '../catalog.ts'
import { Counterparty } from '../counterparty.ts'
import type { Backend } from '../ports/backend.ts'
import type { Gateway, SubmitResult } from '../ports/gateway.ts'
import type { Runtime } from '../ports/runtime.ts'
import type { NewTransfer } from '../ports/stored-transfer.ts'
import type { Telemetry } from '../ports/telemetry.ts'
import type { WebhookVerifier } from '../ports/webhooks.ts'
import type { ObserveRules, Subscription, Workers, WorkHandlers } from '../ports/work.ts'
import { alignedLookMs, followDelayMs, watchDelayMs } from '../retry.ts'
import { checkAccountLimits } from './account-limits.ts'
import { describeFound } from './adoption.ts'
import { archive } from './archiving.ts'
import { cancelTransfer, findEnded, findOrder } from './commands.ts'
import type { Engine, EnqueueRequest, Transfers } from './engine.ts'
import { checkAccountId, checkReused, prepareTransfer, prepareTransfers, readSince } from './enqueueing.ts'
import { decideEnvironment, markEnvironment } from './environment.ts'
import { decideChange, followTransfers, readPage } from './following.ts'
import { decidePace } from './pacing.ts'
import { reconcile } from './reconciling.ts'
import { decideRegistration, registerCounterparty } from './registration.ts'
import { createPermit, createPlaceCommands, putBack } from './stopping.ts'
import { decideExpired, decideSubmission } from './submission.ts'
import { reportGauges, traceDecision, traceEnqueue, traceHandlers, traceWebhook } from './telemetry.ts'
import { takeWebhook } from './webhooks.ts'

/** What an engine is made of. */
export interface EngineOptions<Tx> {
  readonly backend: Backend<Tx>
  readonly gateway: Gateway
  /** Verifies webhooks, for {@link Engine.webhook}. Default: none, statuses come by polling alone. */
  readonly webhooks?: WebhookVerifier | undefined
  /** Value types and transfer types; default the ones that ship. */
  readonly catalog?: Catalog | undefined
  /** Clock, randomness and logger; default the backend's. */
  readonly runtime?: Partial<Runtime> | undefined
  /** Traces and metrics, such as `openTelemetry()` of `@outlay/opentelemetry`. Default: none, at no cost. */
  readonly telemetry?: Telemetry | undefined
  /** The pace of looks at submitted transfers and watched accounts. Default: a quarter of the rail's expected time, then slower. */
  readonly follow?: {
    /** Longest pause between two looks, in milliseconds; useful where time runs faster, as in a sandbox. */
    readonly maxDelayMs?: number | undefined
  }
}

/**
 * Makes an engine. It does nothing by itself until {@link Engine.start}: a process that only enqueues need not start it.
 *
 * @example
 * const engine = createEngine({ backend: postgres({ driver: drizzleDriver(db) }), gateway: httpGateway({ … }) })
 * await db.transaction(async (tx) => { await engine.transfers.enqueue(tx, { … }) })
 */
export function createEngine<Tx>(options: EngineOptions<Tx>): Engine<Tx> {
  const { backend, gateway } = options
  const runtime: Runtime = { ...backend.runtime, ...options.runtime }
  const rules = rulesOf(options, runtime)
  const subscriptions = new Map<string, Subscription<Tx>>()
  let workers: Promise<Workers> | undefined
  let endGauges: (() => void) | undefined

  const subscribe: Engine<Tx>['subscribe'] = (name, types, handler, { batchSize = 1 } = {}) => {
    if (workers !== undefined) throw new Error(`Subscribe "${name}" before start(): a running engine takes no more.`)
    if (subscriptions.has(name)) throw new Error(`There is a subscription "${name}" already; names are unique.`)
    subscriptions.set(name, { name, types, handler, batchSize })
  }
  const stop = async () => {
    const running = workers
    workers = undefined
    endGauges?.()
    endGauges = undefined
    await (await running)?.stop()
    await gateway.close?.()
  }
  return {
    transfers: createTransfers(options, runtime, rules),
    accounts: {
      fundsArrived: (tx, accountId) => backend.fundsArrived(tx, accountId),
      pause: (tx, accountId) => backend.pause(tx, accountId),
      resume: (tx, accountId) => backend.resume(tx, accountId),
      credentialsMended: (tx, accountId) => backend.credentialsMended(tx, accountId),
      async watch(tx, accountId, { since } = {}) {
        checkAccountId(accountId)
        return backend.watch(tx, accountId, readSince(since, runtime.clock.now()))
      },
      unwatch: (tx, accountId) => backend.unwatch(tx, accountId),
      configure: async (tx, accountId, change) =>
        backend.configureAccount(tx, accountId, checkAccountLimits(accountId, change)),
      get: (accountId) => backend.getAccount(accountId),
    },
    subscribe,
    async webhook(webhook, { accountId }) {
      const { webhooks, telemetry } = options
      if (webhooks === undefined) throw new Error('Give createEngine() `webhooks` to take webhooks.')
      const take = () => takeWebhook(backend, webhooks, webhook, accountId, rules)
      return telemetry === undefined ? take() : traceWebhook(telemetry, webhook, accountId, take)
    },
    migrate: () => backend.migrate(),
    migrationSql: () => backend.migrationSql(),
    backlog: () => backend.backlog(),
    ...createPlaceCommands(backend.operations),
    reconcile: (reconciling) => reconcile(backend.operations, gateway, rules, runtime.clock.now(), reconciling),
    archive: (archiving) => archive(backend, archiving),
    async start({ signal, ...work } = {}) {
      if (workers !== undefined) throw new Error('The engine is running already; stop() it first.')
      if (signal?.aborted === true) return
      workers = startWorkers(options, runtime, rules, [...subscriptions.values()], work)
      await workers.catch((error) => {
        workers = undefined
        throw error
      })
      if (options.telemetry !== undefined && workers !== undefined) endGauges = reportGauges(options.telemetry, backend)
      signal?.addEventListener('abort', () => void stop(), { once: true })
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

function rulesOf<Tx>({ telemetry }: EngineOptions<Tx>, runtime: Runtime): ObserveRules {
  return {
    decide: telemetry === undefined ? decideChange : traceDecision(telemetry, runtime.clock, decideChange),
    describe: (observation) => describeFound(observation, runtime),
  }
}

function createTransfers<Tx>(options: EngineOptions<Tx>, runtime: Runtime, rules: ObserveRules): Transfers<Tx> {
  const { backend, gateway, catalog = defaultCatalog, telemetry } = options
  const prepare = (request: EnqueueRequest, prefix: string) => {
    const prepared = prepareTransfer(request, catalog, runtime, prefix)
    const transfer = markEnvironment(prepared, gateway.environment, catalog, prefix)
    if (transfer.counterparty === undefined || gateway.registerAddress !== undefined) return transfer
    throw new Error('The gateway of this engine registers no addresses; give the destination by its addressId.')
  }
  const write = (tx: Tx, transfers: readonly NewTransfer[]) =>
    telemetry === undefined
      ? backend.enqueue(tx, transfers)
      : traceEnqueue(telemetry, transfers, (traceparent) => backend.enqueue(tx, transfers, traceparent))
  const enqueue: Transfers<Tx>['enqueue'] = async (tx, request) => {
    const transfer = prepare(request, '')
    const [enqueued] = await write(tx, [transfer])
    if (enqueued === undefined) throw new Error('The backend answered without the transfer that it was given.')
    checkReused(transfer, enqueued)
    return enqueued
  }
  return {
    enqueue,
    async enqueueMany(tx, requests) {
      return write(tx, await prepareTransfers(requests, runtime, prepare))
    },
    get: (transferId) => backend.get(transferId),
    getByKey: (accountId, idempotencyKey) => backend.getByKey(accountId, idempotencyKey),
    cancel: (tx, transferId) => cancelTransfer(backend, tx, transferId),
    async resubmit(tx, transferId, { idempotencyKey } = {}) {
      const order = await findOrder(backend, tx, await findEnded(backend, tx, transferId))
      return enqueue(tx, { ...order, idempotencyKey })
    },
    release: (tx, transferId) => backend.release(tx, transferId),
    observe: (tx, accountId, observations) => backend.observe(tx, accountId, observations, rules),
  }
}

async function startWorkers<Tx>(
  options: EngineOptions<Tx>,
  runtime: Runtime,
  rules: ObserveRules,
  subscriptions: readonly Subscription<Tx>[],
  work: Parameters<Backend<Tx>['work']>[1],
): Promise<Workers> {
  const { backend, gateway, catalog = defaultCatalog } = options
  const { clock, random, logger } = runtime
  const longestMs = options.follow?.maxDelayMs ?? Number.POSITIVE_INFINITY
  const lookMs = (accountId: string, transferType: string, looks: number) => {
    const expectedMs = catalog.transferType(transferType)?.expectedMs ?? 60_000
    const delayMs = Math.min(followDelayMs({ expectedMs, looks }), longestMs)
    return alignedLookMs({ nowMs: clock.now().getTime(), delayMs, accountId })
  }
  const handlers: WorkHandlers<Tx> = {
    async submit(claim, signal, mayBegin) {
      const { transferId, accountId, idempotencyKey, attempt } = claim
      const expired = decideExpired(claim, clock.now())
      if (expired !== undefined) return expired
      const misplaced = decideEnvironment(claim, gateway.environment)
      if (misplaced !== undefined) return misplaced
      const permit = createPermit(mayBegin)
      if (!permit.mayBegin()) return putBack(claim)
      const sending = { signal, mayBegin: permit.mayBegin }
      const firstLookMs = lookMs(accountId, claim.request.destination.transferType, 0)
      const context = () => ({ now: clock.now(), fraction: random.fraction(), firstLookMs })
      const request = Counterparty.registered(claim.request)
      if (request === undefined) {
        const registered = await registerCounterparty(gateway, logger, claim, sending)
        if (permit.isRefused() && registered.outcome === 'throttled') return putBack(claim)
        return decideRegistration(claim, registered, context())
      }
      const submission = { transferId, accountId, idempotencyKey, request, attempt }
      const result = await gateway.submit(submission, sending).catch((error: unknown): SubmitResult => {
        const detail = error instanceof Error ? error.message : String(error)
        // Its kind alone: what it says may quote the request, and stands in the attempts log.
        const kind = error instanceof Error ? error.name : typeof error
        logger.error({ transferId, attempt, error: kind }, 'The gateway threw; the outcome is taken as unknown.')
        return { outcome: 'unknown', detail }
      })
      if (permit.isRefused() && result.outcome === 'throttled') return putBack(claim)
      return decideSubmission(claim, result, context())
    },
    follow: (accountId, transfers, signal) => followTransfers(gateway, logger, accountId, transfers, signal),
    readPage: (accountId, cursor, signal) => readPage(gateway, accountId, cursor, signal),
    nextLookMs: ({ accountId, transferType, looks }) => lookMs(accountId, transferType, looks),
    nextWatchMs: (idle) => Math.min(watchDelayMs({ idle }), longestMs),
    rules,
    environment: gateway.environment,
    decidePace: (current, news, now) => decidePace(current, news, now, random.fraction()),
    subscriptions,
    logger,
  }
  await backend.check()
  const { telemetry } = options
  return backend.work(telemetry === undefined ? handlers : traceHandlers(telemetry, clock, handlers), work)
}
