import { type Driver, pgDriver, postgres } from '@outlay/adapters-pg'
import {
  type Catalog,
  type Clock,
  createEngine,
  defaultCatalog,
  type Engine,
  type Logger,
  type Telemetry,
  type WorkOptions,
} from '@outlay/core'
import type { Pool } from 'pg'
import { accountsRoutes } from './accounts/routes.ts'
import { addressesRoutes } from './addresses/routes.ts'
import { createApp, type MountedRoute } from './app.ts'
import { takeDeposit } from './automations/deposits.ts'
import { type AutomationOpening, startAutomationOpening, takeOpened } from './automations/opening.ts'
import { automationsRoutes } from './automations/routes.ts'
import { balancesRoutes } from './balances/routes.ts'
import { type BankLinkingOptions, createBankLinking } from './bank-links/linking.ts'
import { bankLinkRoutes } from './bank-links/routes.ts'
import { bankLinkSimulationsRoutes } from './bank-links/simulation-routes.ts'
import { oauthRoutes } from './clients/oauth-routes.ts'
import { inTransaction, type KybReview, type ServiceContext, type Tx } from './context.ts'
import { migrateService } from './database/migrations.ts'
import { reportUnboundRole } from './database/row-security.ts'
import { financialInstitutionsRoutes } from './financial-institutions/routes.ts'
import { healthRoutes } from './health/routes.ts'
import { migrateHousekeeping, type Retention, startHousekeeping } from './housekeeping.ts'
import type { RouteModule } from './http/request.ts'
import { docsRoutes } from './openapi/docs-routes.ts'
import { railsGateway } from './rails/gateway.ts'
import type { Rails } from './rails/port.ts'
import { createSimulatedRails, type SimulatedRails } from './rails/simulated/simulated-rails.ts'
import { createSecrets, type Secrets, type WrappingKey } from './secrets.ts'
import { checkServiceOptions } from './service-options.ts'
import { simulationsRoutes } from './simulations/routes.ts'
import { takeFacts } from './transfers/facts.ts'
import { instructionReader } from './transfers/instructions.ts'
import { followEngine } from './transfers/progress.ts'
import { transfersRoutes } from './transfers/routes.ts'
import { startWebhookDelivery, type WebhookDelivery, type WebhookDeliveryOptions } from './webhooks/delivery-worker.ts'
import { webhooksRoutes } from './webhooks/routes.ts'

/** Keys for what is encrypted at rest. */
export interface EncryptionKeys {
  /** The first one seals, all of them open. */
  readonly keys: readonly [WrappingKey, ...WrappingKey[]]
  /** At least 32 octets for digests of lookups; it must stay the same for ever. */
  readonly macKey: Uint8Array
}

/** What a service is made of. */
export interface ServiceOptions {
  /** Connections to the service's database. Its size bounds what one process does at once; 20 is plenty on two cores. */
  readonly pool: Pool
  /** Schema of the service's tables: lower-case letters, digits, underscores. Default `outlay_service`. */
  readonly schema?: string | undefined
  /** The ways that money moves; `simulated` moves none, on a virtual clock, and adds `/simulations`. */
  readonly rails: Rails | 'simulated'
  /** How banks are linked. Default: simulated with simulated rails, not at all with others. */
  readonly bankLinking?: BankLinkingOptions | undefined
  /** 32 octets, or keys to rotate. */
  readonly encryptionKey: Uint8Array | EncryptionKeys
  /** Value types and transfer types. Default: those that ship. */
  readonly catalog?: Catalog | undefined
  /** Default: the system's clock. */
  readonly clock?: Clock | undefined
  /** Default: says nothing. */
  readonly logger?: Logger | undefined
  /** Traces and metrics, such as `openTelemetry()` of `@outlay/opentelemetry`. Default: none. */
  readonly telemetry?: Telemetry | undefined
  /** Default: every account is complete at once. */
  readonly kybReview?: KybReview | undefined
  /** Lets webhooks go to private addresses and over plain HTTP. Default false. */
  readonly allowPrivateWebhooks?: boolean | undefined
  /** Per client. Default 2,000 a second, burst 2,000. */
  readonly rateLimit?: ServiceContext['rateLimit']
  /** How the engine's workers of this process behave. */
  readonly engine?: WorkOptions | undefined
  /** How webhooks are delivered. */
  readonly webhooks?: WebhookDeliveryOptions | undefined
  /** How long idempotency keys and events are kept. Default 30 days each. */
  readonly retention?: Retention | undefined
}

/** The service, ready to be mounted. */
export interface Service {
  /** Answers one request; mount it in any server. Works without {@link Service.start}: transfers then wait. */
  readonly fetch: (request: Request) => Promise<Response>
  /** What is mounted. */
  readonly routes: readonly MountedRoute[]
  /** Brings the service's and its engine's tables to this release. */
  migrate(): Promise<void>
  /** Starts the engine, the rails and the delivery of webhooks in this process. Never migrates. */
  start(): Promise<void>
  /** Lets what is in flight end. The pool stays open: it is the caller's. Safe to call twice. */
  stop(): Promise<void>
  /** For the functions that work on the service's own data, such as `registerClient`. */
  readonly context: ServiceContext
}

const shell: readonly RouteModule[] = [
  healthRoutes,
  oauthRoutes,
  accountsRoutes,
  addressesRoutes,
  transfersRoutes,
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
  let running = false
  const { context, engine, rails } = createContext(options, () => running)
  const app = createApp(context, routesOf(context, rails, options.bankLinking))
  followEngine(context)
  let delivery: WebhookDelivery | undefined
  let opening: AutomationOpening | undefined
  let housekeeping: { stop(): Promise<void> } | undefined
  const onPoolError = (error: Error) => context.logger.warn({ error: error.name }, 'An idle connection was lost.')
  const stop = async () => {
    running = false
    await housekeeping?.stop()
    housekeeping = undefined
    await opening?.stop()
    opening = undefined
    await rails.stop()
    await engine.stop()
    await delivery?.stop()
    delivery = undefined
    options.pool.off('error', onPoolError)
  }
  return {
    context,
    fetch: app.fetch,
    routes: app.routes,
    async migrate() {
      await migrateService(context)
      await engine.migrate()
      await migrateHousekeeping(context)
    },
    async start() {
      options.pool.on('error', onPoolError)
      await reportUnboundRole(context, options.rails === 'simulated')
      await engine.start(options.engine)
      await rails.start(takeFacts(context), {
        opened: (fact) => takeOpened(context, fact),
        deposited: (fact) => takeDeposit(context, fact),
      })
      opening = startAutomationOpening(context)
      delivery = startWebhookDelivery(context, options.webhooks)
      housekeeping = await startHousekeeping(context, options.retention)
      running = true
    },
    stop,
  }
}

function routesOf(
  context: ServiceContext,
  rails: Rails | SimulatedRails,
  bankLinking: BankLinkingOptions | undefined,
): readonly RouteModule[] {
  const simulation = 'simulation' in rails ? rails.simulation : undefined
  const routes = simulation === undefined ? [...shell] : [...shell, simulationsRoutes(simulation)]
  const options = bankLinking ?? (simulation === undefined ? undefined : { provider: 'simulated' as const })
  if (options === undefined) return routes
  const links = createBankLinking(options, context, simulation ?? context.clock)
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
  const { pool, schema = 'outlay_service', catalog = defaultCatalog } = options
  // What the engine tells and what follows from it is written as the system, in the engine's own transaction.
  const driver: Driver<Tx> = { ...pgDriver(pool), transaction: (work) => inTransaction({ pool }, work) }
  const backend = postgres({ driver, schema: `${schema}_engine`, logger: options.logger })
  const { random, logger } = backend.runtime
  const clock = options.clock ?? backend.runtime.clock
  const secrets = secretsOf(options.encryptionKey, random)
  const rails = options.rails === 'simulated' ? createSimulatedRails({ pool, schema, clock, logger }) : options.rails
  const gateway = railsGateway(rails, instructionReader({ pool, schema, secrets }))
  const engine = createEngine({ backend, gateway, catalog, runtime: { clock }, telemetry: options.telemetry })
  const context: ServiceContext = {
    pool,
    schema,
    clock,
    random,
    catalog,
    engine,
    rails,
    secrets,
    logger,
    telemetry: options.telemetry,
    isRunning,
    kybReview: options.kybReview,
    rateLimit: options.rateLimit,
    allowPrivateWebhooks: options.allowPrivateWebhooks,
  }
  return { context, engine, rails }
}

function secretsOf(given: ServiceOptions['encryptionKey'], random: ServiceContext['random']): Secrets {
  if (given instanceof Uint8Array) {
    return createSecrets({ keys: [{ id: 'k1', key: given }], macKey: given, random })
  }
  return createSecrets({ ...given, random })
}
