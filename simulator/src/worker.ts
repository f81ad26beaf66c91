import { setTimeout } from 'node:timers/promises'
import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine, type Engine, type Gateway, OutlayError } from '@outlay/core'
import { httpGateway, httpWebhooks, outlayKeyLifetimeMs } from '@outlay/http-client'
import { seededRandom } from '@outlay/testing'
import type { Pool, PoolClient } from 'pg'
import type { Bug } from './bugs.ts'
import type { Lane } from './lane.ts'
import { createFate, type Fate, mortalDriver } from './mortal-driver.ts'
import { subscriptions } from './subscriptions.ts'
import type { Tenant } from './tenant.ts'

/** What the workers of one run share. */
export interface Surroundings {
  readonly lane: Lane
  readonly seed: number
  readonly bug: Bug | undefined
  readonly tenants: readonly Tenant[]
  /** How many handlers fail from now on, after they wrote. */
  handlersToFail: number
}

/** A worker: an engine with connections of its own, which can be cut and killed. */
export interface Worker {
  readonly engine: Engine<PoolClient>
  readonly fate: Fate
  transaction<T>(work: (tx: PoolClient) => Promise<T>): Promise<T>
  /** Holds the next answer of the service back until it is let go, while the worker lives on. */
  stall(): void
  /** Lets every answer go that is held back, and holds no more. */
  letGo(): void
  stop(): Promise<void>
}

/** How long the loops of a dead worker get to end, in milliseconds. */
const deadWorkerStopMs = 1_000

/** How a worker is started. */
export interface WorkerOptions {
  readonly skewSeconds?: number
  /** False for a host that only enqueues. */
  readonly works?: boolean
  /** Default 100. */
  readonly pollIntervalMs?: number
  /** True for one that nothing befalls. */
  readonly isSteady?: boolean
}

/** Opens a worker and starts it. */
export async function startWorker(around: Surroundings, options: WorkerOptions = {}): Promise<Worker> {
  const { lane, bug } = around
  const cable = options.isSteady ? undefined : lane.cables.take()
  const pool = cable?.pool ?? lane.steady
  const fate = createFate(() => cable?.cut())
  const mortal = mortalDriver(pgDriver(pool), fate)
  const backend = postgres({ driver: bug?.driver?.(mortal, lane) ?? mortal })
  const stalling = createStall()
  const gateway = mortalGateway(openGateway(around), fate, stalling)
  const { fraction } = seededRandom(around.seed)
  const skewMs = (options.skewSeconds ?? 0) * 1_000
  const engine = createEngine<PoolClient>({
    backend: bug?.backend?.(backend) ?? backend,
    gateway: bug?.gateway?.(gateway) ?? gateway,
    webhooks: bug?.webhooks?.() ?? openWebhooks(around),
    runtime: {
      clock: { now: () => new Date(Date.now() + skewMs) },
      random: { ...backend.runtime.random, fraction: () => fraction() * 0.2 },
    },
  })
  subscribe(engine, around, pool)
  const close = async () => {
    stalling.letGo()
    // A dead worker has nothing to end, and no database to write to what it still knows.
    if (fate.isDead) await Promise.race([engine.stop(), setTimeout(deadWorkerStopMs)])
    else await engine.stop()
    if (cable !== undefined) await lane.cables.giveBack(cable)
  }
  try {
    if (options.works !== false) {
      await engine.start({
        concurrency: 8,
        pollIntervalMs: options.pollIntervalMs ?? 100,
        subscriptionConcurrency: 2,
        stopTimeoutMs: 500,
      })
    }
  } catch (error) {
    await close()
    throw error
  }
  return { engine, fate, transaction: (work) => mortal.transaction(work), ...stalling, stop: close }
}

function openGateway({ lane, tenants }: Surroundings): Gateway {
  return httpGateway({
    keyLifetimeMs: outlayKeyLifetimeMs,
    baseUrl: lane.proxy.url,
    credentials: (accountId) => {
      const found = tenants.find((tenant) => tenant.accountId === accountId)
      if (found === undefined) throw new OutlayError('unauthenticated', `${accountId} is nobody's.`)
      return found.isLockedOut ? { ...found.credentials, clientSecret: 'no-longer-right' } : found.credentials
    },
    timeouts: { headersMs: 2_000, bodyMs: 2_000 },
  })
}

const openWebhooks = ({ tenants }: Surroundings) =>
  httpWebhooks({ secrets: (accountId) => tenants.find((tenant) => tenant.accountId === accountId)?.webhookSecret })

function mortalGateway(gateway: Gateway, fate: Fate, stalling: ReturnType<typeof createStall>): Gateway {
  return {
    ...gateway,
    async submit(submission, options) {
      await fate.meet('submit', 'before')
      const result = await gateway.submit(submission, options)
      await fate.meet('submit', 'after')
      await stalling.pass()
      return result
    },
  }
}

function createStall() {
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
    async pass(): Promise<void> {
      if (!armed) return
      armed = false
      await new Promise<void>((resolve) => held.push(resolve))
    },
  }
}

function subscribe(engine: Engine<PoolClient>, around: Surroundings, pool: Pool): void {
  for (const { name, types } of subscriptions) {
    engine.subscribe(name, types, async (event, tx) => {
      const insert = `insert into effect (subscription, event_id, type, transfer_id, sequence, account_id, status, retriable, remote_id)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
      const { status, failure, remoteId } = event.transfer
      const values = [
        ...[name, event.id, event.type, event.transferId, event.sequence, event.accountId],
        ...[status, failure?.retriable === true, remoteId],
      ]
      const through = around.bug?.handlerWritesOutside === true ? pool : tx
      await through.query(insert, values)
      if (around.handlersToFail <= 0) return
      around.handlersToFail -= 1
      if (around.bug?.handlerFailureIsSwallowed === true) {
        await tx.query('delete from effect where event_id = $1 and subscription = $2', [event.id, name])
        return
      }
      throw new Error('The handler fails.')
    })
  }
}
