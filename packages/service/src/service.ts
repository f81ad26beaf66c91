import { type Driver, pgDriver, postgres } from '@outlay/adapters-pg'
import { type Catalog, type Clock, createEngine, defaultCatalog, type Engine, type Logger } from '@outlay/core'
import { foreignRuntime, foreignTelemetry } from '@outlay/core/adapter'
import type { Pool } from 'pg'
import { type Onboarding, startOnboarding } from './accounts/onboarding.ts'
import { accountsRoutes } from './accounts/routes.ts'
import { addressesRoutes } from './addresses/routes.ts'
import { createApp, type MountedRoute } from './app.ts'
import { applyDeposit } from './automations/deposits.ts'
import { type AutomationOpening, applyOpened, startAutomationOpening } from './automations/opening.ts'
import { automationsRoutes } from './automations/routes.ts'
import { balancesRoutes } from './balances/routes.ts'
import { createBankLinking } from './bank-links/linking.ts'
import { bankLinkRoutes } from './bank-links/routes.ts'
import { bankLinkSimulationsRoutes } from './bank-links/simulation-routes.ts'
import { oauthRoutes } from './clients/oauth-routes.ts'
import { inTransaction, type ServiceContext, type Tx } from './context.ts'
import { migrateService } from './database/migrations.ts'
import { reportUnboundRole } from './database/row-security.ts'
import { financialInstitutionsRoutes } from './financial-institutions/routes.ts'
import { healthRoutes } from './health/routes.ts'
import { migrateHousekeeping, startHousekeeping } from './housekeeping.ts'
import type { Connection } from './http/connection.ts'
import type { RouteModule } from './http/request.ts'
import { checkKeys } from './key-check.ts'
import { docsRoutes } from './openapi/docs-routes.ts'
import type { Quotes } from './quotes/port.ts'
import { quotesRoutes } from './quotes/routes.ts'
import { createSimulatedDesk } from './quotes/simulated.ts'
import { countOpenExceptions } from './rail-exceptions/rail-exceptions.ts'
import { createPolledTransfers } from './rail-facts/polled-transfers.ts'
import { railsGateway } from './rails/gateway.ts'
import { startRails, stopRails } from './rails/life.ts'
import type { Rails } from './rails/port.ts'
import { createRailReads } from './rails/rail-reads.ts'
import { createRailShares } from './rails/rail-shares.ts'
import { createSimulatedCustody } from './rails/simulated/custody.ts'
import { createSimulatedRails, type SimulatedRails, simulationOf } from './rails/simulated/simulated-rails.ts'
import { createSecrets, type Secrets } from './secrets.ts'
import { createServiceLife, type ServiceLife, type ServiceRun } from './service-life.ts'
import { checkServiceOptions, type ServiceOptions } from './service-options.ts'
import { simulationsRoutes } from './simulations/routes.ts'
import { type Part, stopInStages } from './stopping.ts'
import { gaugeRailExceptions } from './telemetry.ts'
import { tokensRoutes } from './tokens/routes.ts'
import { subscribeToBlocked } from './transfers/blocked.ts'
import { applyFacts } from './transfers/facts.ts'
import { instructionReader } from './transfers/instructions.ts'
import { subscribeToEngine } from './transfers/progress.ts'
import { transfersRoutes } from './transfers/routes.ts'
import { startWebhookDelivery, type WebhookDelivery } from './webhooks/delivery-worker.ts'
import { webhooksRoutes } from './webhooks/routes.ts'

/** The service, to be mounted in a server. */
export interface Service {
  /**
   * Answers one request. Mount it in any server, which also gives the connection if it can: wrong credentials are throttled by its
   * address. Without {@link Service.start}, it works and transfers wait.
   */
  readonly fetch: (request: Request, connection?: Connection) => Promise<Response>
  /** The mounted routes. */
  readonly routes: readonly MountedRoute[]
  /** Migrates the tables of the service and its engine to this release. */
  migrate(): Promise<void>
  /**
   * Starts the rails, the engine and the delivery of webhooks in this process, once an earlier stop has ended. Never migrates. When it
   * fails, everything that it has started is stopped. The first start on a database stores digests of `encryptionKey`; every other one
   * compares them.
   * @throws OutlayError `aborted` when the service is stopped before it has started; what refuses to start. Error while it is started, and
   * when `encryptionKey` is not that of the database.
   */
  start(): Promise<void>
  /**
   * Stops the engine, then the rails, then the delivery of webhooks, and waits for work in progress: 30 seconds for each part, in addition
   * to what its own options say. A part that waits longer, such as for a lock, is logged and left. The pool stays open, because the
   * caller owns it. A start that is under way is waited for in the same way, and then undone. Every call resolves when all of that has
   * ended, whoever has made the first one.
   */
  stop(): Promise<void>
  /** For functions on the service's own data, such as `registerClient`. */
  readonly context: ServiceContext
}

const shell: readonly RouteModule[] = [
  healthRoutes,
  oauthRoutes,
  accountsRoutes,
  addressesRoutes,
  transfersRoutes,
  tokensRoutes,
  balancesRoutes,
  automationsRoutes,
  webhooksRoutes,
  financialInstitutionsRoutes,
  docsRoutes,
]

/**
 * Makes the service: accounts, addresses, balances and transfers on Postgres, itself a host application of the engine.
 *
 * @example
 * const service = createService({ pool, rails: 'simulated', encryptionKey })
 * await service.migrate()
 * await service.start()
 * serve({ fetch: service.fetch, port: 3000, hostname: '127.0.0.1' })
 */
export function createService(options: ServiceOptions): Service {
  checkServiceOptions(options)
  let life: ServiceLife | undefined
  const { context, engine, rails } = createContext(options, () => life?.isRunning() ?? false)
  keepPool(options.pool, context.logger)
  const app = createApp(context, routesOf(context, rails, options))
  subscribeToEngine(context)
  subscribeToBlocked(context)
  life = createServiceLife(context, () => createRun(context, engine, options))
  return {
    context,
    fetch: app.fetch,
    routes: app.routes,
    async migrate() {
      await migrateService(context)
      await engine.migrate()
      await migrateHousekeeping(context)
    },
    start: life.start,
    stop: life.stop,
  }
}

/** Pools whose lost connections are logged. */
const kept = new WeakSet<Pool>()

/** Logs connections that a pool loses while they are idle: without a listener, that ends the process, also one that was never started. */
function keepPool(pool: Pool, logger: Logger): void {
  if (kept.has(pool)) return
  kept.add(pool)
  pool.on('error', (error) => logger.warn({ error: error.name }, 'An idle connection was lost.'))
}

/** What one start opens, and how it is closed. */
function createRun(context: ServiceContext, engine: Engine<Tx>, options: ServiceOptions): ServiceRun {
  const parts: Parts = {}
  const closeWith = (...others: Parameters<typeof stagesOf>) => stopInStages(context, stagesOf(...others))
  const take = (): Parts => {
    const taken = { ...parts }
    Object.assign(parts, stopped)
    return taken
  }
  return {
    steps: [
      async () => {
        await reportUnboundRole(context, options.rails === 'simulated')
        await checkKeys(context)
      },
      () =>
        startRails(context, applyFacts(context), {
          opened: (fact) => applyOpened(context, fact),
          deposited: (fact) => applyDeposit(context, fact),
        }),
      () => engine.start(options.engine),
      () => startParts(context, options, parts),
    ],
    close: () => closeWith(context, engine, options, take()),
    // The engine ends a start that was stopped by itself, and another run may have the rails.
    closeLate: () => closeWith(context, undefined, options, take()),
  }
}

/** What runs beside the rails and the engine, as far as it has started. */
interface Parts {
  delivery?: WebhookDelivery | undefined
  opening?: AutomationOpening | undefined
  onboarding?: Onboarding | undefined
  housekeeping?: { stop(): Promise<void> } | undefined
  endGauges?: (() => void) | undefined
}

const stopped = {
  delivery: undefined,
  opening: undefined,
  onboarding: undefined,
  housekeeping: undefined,
  endGauges: undefined,
} satisfies Parts

async function startParts(context: ServiceContext, options: ServiceOptions, parts: Parts): Promise<void> {
  parts.opening = startAutomationOpening(context)
  parts.onboarding = startOnboarding(context)
  parts.delivery = startWebhookDelivery(context, options.webhooks)
  parts.housekeeping = await startHousekeeping(context, options.retention)
  parts.endGauges = context.telemetry && gaugeRailExceptions(context.telemetry, () => countOpenExceptions(context))
}

/** In the order in which they stop: what submits and orders stops before the rails that it needs. */
function stagesOf(
  context: ServiceContext,
  engine: Engine<Tx> | undefined,
  options: ServiceOptions,
  { housekeeping, opening, onboarding, delivery, endGauges }: Parts,
): readonly (readonly (Part | undefined)[])[] {
  return [
    [
      named('gauges', endGauges && { stop: async () => endGauges() }),
      named('housekeeping', housekeeping),
      named('automations', opening),
      named('accounts', onboarding),
      named('engine', engine, options.engine?.stopTimeoutMs),
    ],
    [named('rails', engine && { stop: () => stopRails(context) }, context.railTimeoutMs)],
    [named('webhooks', delivery, options.webhooks?.timeoutMs)],
  ]
}

const named = (name: string, part: { stop(): Promise<void> } | undefined, waitMs?: number): Part | undefined =>
  part && { name, waitMs, stop: () => part.stop() }

function routesOf(
  context: ServiceContext,
  rails: Rails | SimulatedRails,
  { bankLinking, mayMoveClock }: ServiceOptions,
): readonly RouteModule[] {
  const simulation = simulationOf(rails)
  const routes = simulation === undefined ? [...shell] : [...shell, simulationsRoutes(simulation, mayMoveClock)]
  if (context.quotes !== undefined) routes.push(quotesRoutes(context.quotes))
  const options = bankLinking ?? (simulation === undefined ? undefined : { provider: 'simulated' as const })
  if (options === undefined) return routes
  const links = createBankLinking(
    { ...options, pathAliases: context.bankLinkAliases },
    context,
    simulation ?? context.clock,
  )
  routes.push(bankLinkRoutes(links.linking))
  if (links.simulation !== undefined) routes.push(bankLinkSimulationsRoutes(links.simulation))
  return routes
}

function createContext(
  options: ServiceOptions,
  isRunning: () => boolean,
): {
  readonly context: ServiceContext
  readonly engine: Engine<Tx>
  readonly rails: Rails | SimulatedRails
} {
  const { pool, schema = 'outlay_service', dialect } = options
  const catalog = catalogOf(options)
  // The service handles the engine's events as the system, in the engine's own transaction.
  const driver: Driver<Tx> = { ...pgDriver(pool), transaction: (work) => inTransaction({ pool }, work) }
  const backend = postgres({ driver, schema: `${schema}_engine`, logger: options.logger })
  const { random, logger, clock } = foreignRuntime(backend.runtime, options.clock && { clock: options.clock })
  const telemetry = options.telemetry && foreignTelemetry(options.telemetry)
  const secrets = secretsOf(options.encryptionKey, random)
  const rails = options.rails === 'simulated' ? createSimulatedRails({ pool, schema, clock, logger }) : options.rails
  const polled = createPolledTransfers({ pool, schema, clock, random, catalog, logger, telemetry })
  const instructions = instructionReader({ pool, schema, secrets, logger })
  const [shares, reads] = [createRailShares(options.engine), createRailReads(options.engine)]
  const gateway = railsGateway(rails, instructions, polled, shares, reads)
  const engine = createEngine({ backend, gateway, catalog, runtime: { clock, logger }, telemetry })
  const context: ServiceContext = {
    pool,
    schema,
    clock,
    random,
    catalog,
    engine,
    rails,
    secrets,
    custody: options.custody ?? (options.rails === 'simulated' ? createSimulatedCustody(catalog) : undefined),
    quotes: quotesOf(options, rails, clock),
    logger,
    telemetry,
    isRunning,
    reviewer: options.reviewer,
    completesAccounts: options.rails === 'simulated',
    amountPolicy: options.amountPolicy,
    receivablePolicy: options.receivablePolicy,
    rateLimit: options.rateLimit,
    trustedProxies: options.trustedProxies,
    publicUrl: options.publicUrl,
    transferExpiryHours: options.transferExpiryHours,
    allowPrivateWebhooks: options.allowPrivateWebhooks,
    webhookPorts: options.webhookPorts,
    dialect,
    bankLinkAliases: aliasesOf(options),
  }
  return { context, engine, rails }
}

/** The simulated desk lives in the time of the simulated rails. */
function quotesOf({ quotes }: ServiceOptions, rails: Rails | SimulatedRails, clock: Clock): Quotes | undefined {
  if (quotes !== undefined) return { provider: quotes, now: () => clock.now() }
  const simulation = simulationOf(rails)
  if (simulation === undefined) return undefined
  return { provider: createSimulatedDesk(simulation), now: () => simulation.now() }
}

/** In the public dialect, a token moves between chains. */
function catalogOf({ catalog = defaultCatalog, dialect }: ServiceOptions): Catalog {
  return dialect === 'public' ? { ...catalog, movesBetweenChains: true } : catalog
}

/** Path segments of bank linking beside the main one. Programs of the public contract expect the name of a provider. */
function aliasesOf({ bankLinking, dialect }: ServiceOptions): readonly string[] {
  const { pathSegment = 'banklink', pathAliases = dialect === 'public' ? ['plaid'] : [] } = bankLinking ?? {}
  return pathAliases.filter((alias) => alias !== pathSegment)
}

function secretsOf(given: ServiceOptions['encryptionKey'], random: ServiceContext['random']): Secrets {
  if (given instanceof Uint8Array) {
    return createSecrets({ keys: [{ id: 'k1', key: given }], macKey: given, random })
  }
  return createSecrets({ ...given, random })
}
