import { setTimeout } from 'node:timers/promises'
import { pgDriver, postgres, type Shards } from '@outlay/adapters-pg'
import { type Gateway, OutlayError, type TransferEvent } from '@outlay/core'
import { httpGateway, httpWebhooks, outlayKeyLifetimeMs } from '@outlay/http-client'
import { seededRandom } from '@outlay/testing'
import type { Pool, PoolClient } from 'pg'
import { earlierSubscriptions, subscriptions } from '../environment/subscriptions.ts'
import { noteEarly } from '../invariants/attempts.ts'
import type { PlannedStart } from '../plan/plan.ts'
import { superviseQueue } from '../queue.ts'
import { type HostEngine, openEngine } from './host-engine.ts'
import { misconductedGateway, misconductedScreener, senselessCredentials } from './misconduct.ts'
import { createFaultSchedule, type Decide, type FaultSchedule, mortalDriver } from './mortal-driver.ts'
import { type Polls, watchPolls } from './polls.ts'
import type { RunContext } from './run-context.ts'
import { aboutOf, inTurns } from './turns.ts'
import { type GatewayName, pairOf } from './two-gateways.ts'
import { connectWorker, type WorkerNode } from './worker-connections.ts'

/** A worker: an engine with connections of its own, which can be cut and killed. */
export interface Worker {
  readonly engine: HostEngine
  /** The same where it is of several databases. */
  readonly system: Shards<PoolClient> | undefined
  readonly faultSchedule: FaultSchedule
  readonly release: 'earlier' | 'later'
  readonly nodes: readonly WorkerNode[]
  readonly polls: Polls
  /** Does at once what the engine's supervision of its queue does every few seconds. */
  supervise(): Promise<void>
  /** Runs a transaction on the database of an account; for null, of what is of no account. */
  transaction<T>(accountId: string | null, work: (tx: PoolClient) => Promise<T>): Promise<T>
  /** Holds the next answer of the service until it is released, while the worker lives on. */
  stall(): void
  /** Releases every held answer, and holds no more. */
  letGo(): void
  stop(): Promise<void>
}

/**
 * How long foreign code may take, in milliseconds: well below what a tenant that is well may have to wait. It is slow long before
 * that, as it is by default.
 */
const bounds = {
  calls: { submitMs: 3_000, readMs: 2_000, lookupMs: 1_000, screenMs: 300 },
  handlerMs: 2_000,
  slowAfterMs: 500,
}

/** How long the loops of a dead worker get to end, in milliseconds. */
const deadWorkerStopMs = 1_000

/** How a worker is started. */
export interface WorkerOptions extends Partial<PlannedStart> {
  /** What it is called in the order of a run. */
  readonly name?: string
  /** False for a host that only enqueues. */
  readonly works?: boolean
  /** Default 100. */
  readonly pollIntervalMs?: number
  /** True for one that nothing befalls. */
  readonly isSteady?: boolean
}

/** Opens a worker and starts it. */
export async function startWorker(around: RunContext, options: WorkerOptions = {}): Promise<Worker> {
  const { environment, bug } = around
  const connections = connectWorker(environment, options)
  const turns = inTurns(around, options.name ?? 'nobody')
  const faultSchedule = createFaultSchedule(() => connections.cut(), turns.decide)
  const polls = watchPolls((what) => around.reads.set(what, (around.reads.get(what) ?? 0) + 1))
  const openDriver = ({ name, pool }: WorkerNode) => {
    const mortal = mortalDriver(pgDriver(pool), faultSchedule, polls.statement(turns.statement))
    return [name, bug?.driver?.(mortal, { host: environment.host, pool }) ?? mortal] as const
  }
  const [first, ...others] = connections.nodes
  const drivers = [openDriver(first), ...others.map(openDriver)] as const
  const { random } = postgres({ driver: drivers[0][1] }).runtime
  const stalling = createStall(turns.decide)
  const parts = { faultSchedule, stalling, turns, polls }
  const gateway = openWorkersGateway(around, options, parts)
  const { fraction } = seededRandom(around.seed)
  const skewMs = (options.skewSeconds ?? 0) * 1_000
  const plant = (one: Gateway): Gateway => bug?.gateway?.(one) ?? one
  const usedGateway = plant(gateway)
  const payeeOf = (accountId: string) => around.tenants.find((one) => one.accountId === accountId)?.payeeId
  const gateways = around.twoGateways
    ? pairOf(usedGateway, plant(openWorkersGateway(around, {}, parts, 'second')), payeeOf)
    : {}
  const opened = openEngine(
    bug,
    { drivers, directory: connections.directory },
    {
      gateway: usedGateway,
      ...gateways,
      webhooks: bug?.webhooks?.() ?? openWebhooks(around),
      runtime: {
        clock: { now: () => new Date(Date.now() + skewMs) },
        random: { ...random, fraction: () => fraction() * 0.2 },
        ...bug?.runtime,
      },
      timeouts: bounds.calls,
      // A worker of the earlier release has none, and sends nothing of what is screened.
      screen:
        around.isScreening && options.release !== 'earlier'
          ? misconductedScreener(around.misconduct, around.verdicts, around.passed)
          : undefined,
    },
  )
  const { engine, system, transaction } = opened
  const { release = 'later' } = options
  subscribe(engine, around, first.pool, release, turns)
  const end = async () => {
    stalling.letGo()
    // A dead worker has nothing to end, and no database to write to what it still knows.
    if (faultSchedule.isDead) await Promise.race([opened.stop(), setTimeout(deadWorkerStopMs)])
    else await opened.stop()
    await connections.giveBack()
  }
  let ending: Promise<void> | undefined
  // Who stops it twice must not give back what another worker has by then.
  const close = () => (ending ??= end())
  try {
    if (options.works !== false) await engine.start({ ...workOf(options), ...bug?.work })
  } catch (error) {
    await close()
    throw error
  }
  const supervise = async () => {
    await Promise.all(drivers.map(([, driver]) => superviseQueue(driver)))
  }
  const { nodes } = connections
  return { engine, system, faultSchedule, release, nodes, polls, supervise, transaction, ...stalling, stop: close }
}

const workOf = ({ concurrency = 8, pollIntervalMs = 100 }: WorkerOptions) => ({
  ...{ concurrency, pollIntervalMs, subscriptionConcurrency: 2, stopTimeoutMs: 500, slowAfterMs: bounds.slowAfterMs },
})

/** What a gateway of a worker goes by. */
interface Around {
  readonly faultSchedule: FaultSchedule
  readonly stalling: ReturnType<typeof createStall>
  readonly turns: ReturnType<typeof inTurns>
  readonly polls: Polls
}

/** The gateway of a worker, in foreign code that may misbehave. */
function openWorkersGateway(
  around: RunContext,
  { sharesGateway = false }: WorkerOptions,
  { faultSchedule, stalling, turns, polls }: Around,
  which: GatewayName = 'default',
): Gateway {
  const { misconduct, sent } = around
  const gateway = mortalGateway(
    sharesGateway ? around.commonGateway() : openGateway(around, which),
    faultSchedule,
    stalling,
  )
  const inTurn = turns.gateway(gateway)
  const noting: Gateway = {
    ...inTurn,
    submit: async (submission, options) => {
      sent.add(`${submission.transferId} ${submission.attempt}`)
      if (around.isScheduling) await noteEarly(around, submission.transferId)
      return inTurn.submit(submission, options)
    },
  }
  return misconductedGateway(polls.gateway(noting), misconduct)
}

/** Makes the way to the service, with the credentials that the vault of the host has at each moment. */
export function openGateway(
  { environment, tenants, misconduct, bug }: Pick<RunContext, 'environment' | 'tenants' | 'misconduct' | 'bug'>,
  which: GatewayName = 'default',
): Gateway {
  return httpGateway({
    keyLifetimeMs: outlayKeyLifetimeMs,
    baseUrl: environment.proxy.url,
    credentials: (accountId) => {
      const found = tenants.find((tenant) => tenant.accountId === accountId)
      if (found === undefined) throw new OutlayError('unauthenticated', `${accountId} is nobody's.`)
      const { isLockedOut } = found
      const credentials = (which === 'second' ? found.secondCredentials : undefined) ?? found.credentials
      const known = isLockedOut ? { ...credentials, clientSecret: 'no-longer-right' } : credentials
      return misconduct.intercept(accountId, 'vault', async () => known, senselessCredentials)
    },
    timeouts: { headersMs: 2_000, bodyMs: 2_000, credentialsMs: bug?.credentialsMs ?? 1_000 },
  })
}

const openWebhooks = ({ tenants }: RunContext) =>
  httpWebhooks({ secrets: (accountId) => tenants.find((tenant) => tenant.accountId === accountId)?.webhookSecret })

function mortalGateway(
  gateway: Gateway,
  faultSchedule: FaultSchedule,
  stalling: ReturnType<typeof createStall>,
): Gateway {
  return {
    ...gateway,
    async submit(submission, options) {
      const subject = submission.transferId
      await faultSchedule.reach('submit', 'before', subject)
      const result = await gateway.submit(submission, options)
      await faultSchedule.reach('submit', 'after', subject)
      await stalling.pass(subject)
      return result
    },
  }
}

function createStall(decide: Decide) {
  let armed = false
  const held: (() => void)[] = []
  return {
    stall: () => {
      armed = true
    },
    letGo: () => {
      // What was planned and has not come about must not hold an answer that nobody waits for any more.
      armed = false
      for (const open of held.splice(0)) open()
    },
    async pass(subject: unknown): Promise<void> {
      if (!armed || !decide('submit', 'stall', subject, () => true)) return
      armed = false
      await new Promise<void>((resolve) => held.push(resolve))
    },
  }
}

function subscribe(
  engine: HostEngine,
  around: RunContext,
  pool: Pool,
  release: 'earlier' | 'later',
  turns: ReturnType<typeof inTurns>,
): void {
  const { bug, misconduct, mistakes } = around
  for (const { name, types } of release === 'later' ? subscriptions : earlierSubscriptions) {
    const handle = async (event: TransferEvent, tx: PoolClient) => {
      // Of several databases each would count for itself.
      around.effects += 1
      const insert = `insert into effect (position, subscription, event_id, type, transfer_id, sequence, account_id, status, retriable, remote_id)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
      const { status, failure, remoteId } = event.transfer
      const values = [
        ...[around.effects, name, event.id, event.type, event.transferId, event.sequence, event.accountId],
        ...[status, failure?.retriable === true, remoteId],
      ]
      const through = bug?.handlerWritesOutside === true ? pool : tx
      await through.query(insert, values)
      const fails = `${name} fails at ${event.type} of ${aboutOf(around, event.transferId)}`
      if (around.handlersToFail <= 0 || !around.order.befalls(fails, () => true)) return
      around.handlersToFail -= 1
      if (bug?.handlerFailureIsSwallowed === true) {
        await tx.query('delete from effect where event_id = $1 and subscription = $2', [event.id, name])
        return
      }
      throw new Error('The handler fails.')
    }
    const receive = (event: TransferEvent, tx: PoolClient) => {
      if (!types.includes(event.type)) {
        const detail = `${name} was given ${event.type}, which its handler did not ask for`
        mistakes.push({ invariant: 'events_reach_their_handler', detail })
      }
      const inTurn = () => turns.handler(name, event, () => handle(event, tx))
      return misconduct.intercept(event.accountId, 'handler', inTurn, [10n])
    }
    engine.subscribe(name, types, receive, { timeoutMs: bounds.handlerMs })
  }
}
