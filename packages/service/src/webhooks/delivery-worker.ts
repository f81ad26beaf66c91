import type { Clock } from '@outlay/core'
import type { ServiceContext } from '../context.ts'
import { asSystem, asWorker } from '../database/tenant.ts'
import {
  attemptDelivery,
  type Courier,
  createDisabler,
  goneStatus,
  longestRetryMs,
  nameOf,
} from './delivery-attempt.ts'
import { type ClaimedDelivery, claimDeliveries } from './delivery-claim.ts'
import { type EndpointReport, reportEndpoints } from './delivery-endpoints.ts'
import { createShares, type Shares } from './delivery-shares.ts'
import { type DeliveryOutcome, settleDeliveries } from './delivery-store.ts'
import { createOutgoingAgent, outgoingPolicyOf } from './outgoing-url.ts'

/** Options of webhook delivery. Every member has a default. */
export interface WebhookDeliveryOptions {
  /**
   * Clock for signatures and for the schedule. Default: the system's clock, because receivers compare signatures with their own,
   * even if the service has a clock of its own.
   */
  readonly clock?: Clock | undefined
  /** Deliveries in flight at once. Default 128. */
  readonly concurrency?: number | undefined
  /** Interval between two claims when nothing is due, in milliseconds. Default 250. */
  readonly pollIntervalMs?: number | undefined
  /** Time limit for an endpoint's answer, in milliseconds. Default 15,000. */
  readonly timeoutMs?: number | undefined
}

/** The running delivery of webhooks. */
export interface WebhookDelivery {
  /** Resolves when every delivery that was due at the call has been attempted and its result is written. */
  drain(): Promise<void>
  /** Stops claiming and waits for deliveries in flight. Safe to call twice. */
  stop(): Promise<void>
}

const claimSize = 32

/** How long the count of failures waits for a lock, in milliseconds: results and claims wait for it. */
const endpointLockMs = 250

/** A delivery that takes longer is slow, in milliseconds: others need not wait for it. */
const slowAfterMs = 2_000

/** Most slow deliveries in flight, as a multiple of the others. */
const mostSlow = 3

/** Starts to deliver webhooks in this process. Several processes share the work. */
export function startWebhookDelivery(context: ServiceContext, options: WebhookDeliveryOptions = {}): WebhookDelivery {
  const timeoutMs = options.timeoutMs ?? 15_000
  const agent = createOutgoingAgent(outgoingPolicyOf(context), timeoutMs)
  const clock = options.clock ?? { now: () => new Date() }
  const disabler = createDisabler(context, () => {
    round.nothingDue = false
    round.wake()
  })
  const round: Round = {
    courier: { context, clock, agent, timeoutMs, disabler },
    concurrency: options.concurrency ?? 128,
    pollIntervalMs: options.pollIntervalMs ?? 250,
    endpoints: createShares(() => batchOf(round)),
    clients: createShares(() => Math.ceil(round.concurrency / 2)),
    underWay: 0,
    slow: 0,
    claims: 0,
    after: '',
    nothingDue: false,
    settled: [],
    reports: [],
    locked: [],
    drains: [],
    ended: false,
    wake: () => undefined,
  }
  const running = runRound(round)
  let stopping: Promise<void> | undefined
  return {
    drain: () =>
      new Promise((resolve) => {
        if (round.ended) return resolve()
        round.drains.push({ since: round.claims, resolve })
        round.nothingDue = false
        round.wake()
      }),
    stop() {
      round.ended = true
      round.wake()
      stopping ??= running.then(() => disabler.ended()).then(() => agent.close())
      return stopping
    },
  }
}

interface Round {
  readonly courier: Courier
  readonly concurrency: number
  readonly pollIntervalMs: number
  /**
   * Use of the capacity by the endpoints of each owner: one that hangs fills a share of it, not all, however many webhooks name it. Anybody may name any
   * URL, and must not take the share of whose it is.
   */
  readonly endpoints: Shares
  /** Nor do all endpoints of one client together. */
  readonly clients: Shares
  /** Deliveries in flight, slow ones included. */
  underWay: number
  /** Slow deliveries, which no longer count against the capacity. */
  slow: number
  claims: number
  /** Where the next claim continues among the registrations; empty when the last one visited all that it had to. */
  after: string
  /** True after a claim that was not full, until there is a reason to claim again. */
  nothingDue: boolean
  settled: DeliveryOutcome[]
  /** What the attempts since the last writing say about their endpoints. */
  reports: EndpointReport[]
  /** Results whose deliveries another transaction had locked at the last writing. */
  locked: DeliveryOutcome[]
  drains: { readonly since: number; readonly resolve: () => void }[]
  ended: boolean
  /** Ends the current pause. */
  wake: () => void
}

async function runRound(round: Round): Promise<void> {
  const { logger } = round.courier.context
  while (!round.ended || round.underWay > 0 || round.settled.length > 0 || round.locked.length > 0) {
    try {
      await flush(round)
      await claim(round)
      const ready = round.settled.length > 0 || (mayClaim(round) && !round.ended)
      if (!ready && !(round.ended && round.underWay === 0 && round.locked.length === 0)) await pause(round, 1)
    } catch (error) {
      logger.warn({ error: nameOf(error) }, 'Webhook deliveries cannot be read or written now.')
      // Deliveries whose result is not written are sent again when their lease ends.
      if (round.ended && round.underWay === 0) break
      await pause(round, 4)
    }
  }
  for (const drain of round.drains.splice(0)) drain.resolve()
}

function batchOf(round: Round): number {
  return Math.min(claimSize, round.concurrency)
}

function mayClaim(round: Round): boolean {
  return !round.nothingDue && capacityOf(round) >= batchOf(round) / 2
}

const capacityOf = ({ concurrency, underWay, slow }: Round): number => concurrency - (underWay - slow)

/** Claims a batch when there is capacity, and sends it. */
async function claim(round: Round): Promise<void> {
  if (round.ended || !mayClaim(round)) return
  const { context, clock, timeoutMs, disabler } = round.courier
  const limit = Math.min(batchOf(round), capacityOf(round))
  const now = clock.now()
  const leaseUntil = new Date(now.getTime() + 2 * timeoutMs + 30_000)
  const began = round.claims
  round.claims += 1
  round.nothingDue = true
  const { deliveries, taken, after } = await claimDeliveries(asSystem(context), context, {
    now,
    leaseUntil,
    limit,
    probeUntil: new Date(now.getTime() + timeoutMs + 1_000),
    heldSince: new Date(context.clock.now().getTime() - longestRetryMs),
    exceptRegistrations: disabler.underWay(),
    exceptEndpoints: round.endpoints.full(),
    exceptClients: round.clients.full(),
    after: round.after,
  })
  round.after = after
  if (taken === limit || after !== '' || round.drains.some((drain) => drain.since > began)) round.nothingDue = false
  for (const delivery of deliveries) void carry(round, delivery)
  const isQuiet = round.underWay === 0 && disabler.underWay().length === 0
  if (taken === 0 && isQuiet && round.settled.length + round.locked.length === 0) endDrains(round, began)
}

async function carry(round: Round, delivery: ClaimedDelivery): Promise<void> {
  const { owner, clientId } = delivery
  const endpoint = `${owner} ${delivery.endpoint}`
  round.underWay += 1
  round.endpoints.change(endpoint, 1)
  round.clients.change(clientId ?? '', 1)
  const slowTimer = giveUpShare(round)
  const settlement = await attemptDelivery(round.courier, delivery)
  slowTimer.end()
  round.settled.push(settlement)
  if (settlement.status !== 'canceled' && settlement.lastStatus !== goneStatus)
    round.reports.push({ ...delivery, succeeded: settlement.status === 'delivered' })
  round.underWay -= 1
  const isFree = round.endpoints.change(endpoint, -1)
  if (round.clients.change(clientId ?? '', -1) || isFree) round.nothingDue = false
  // The last one claims again, so that a drain ends.
  if (round.underWay === 0) round.nothingDue = false
  round.wake()
}

/** Stops counting a delivery against the capacity once it is slow, up to a limit of such deliveries. */
function giveUpShare(round: Round): { end(): void } {
  let isSlow = false
  const timer = setTimeout(() => {
    if (round.slow >= mostSlow * round.concurrency) return
    isSlow = true
    round.slow += 1
    round.wake()
  }, slowAfterMs)
  return {
    end() {
      clearTimeout(timer)
      if (isSlow) round.slow -= 1
    },
  }
}

/** Writes the results since the last time, in one statement, with those that were locked then. */
async function flush(round: Round): Promise<void> {
  const { context, clock } = round.courier
  // Before the results: the next claim reads what is held now. Results must not wait for what is only known for later.
  await reportEndpoints(asWorker(context, endpointLockMs), context, round.reports.splice(0), clock.now()).catch(
    (error) =>
      context.logger.warn({ error: nameOf(error) }, 'Failures of endpoints of webhooks cannot be counted now.'),
  )
  const settlements = [...round.settled, ...round.locked]
  if (settlements.length === 0) return
  round.settled = []
  round.locked = []
  try {
    const locked = await settleDeliveries(asSystem(context), context, settlements)
    round.locked = settlements.filter(({ id }) => locked.has(id))
  } catch (error) {
    round.settled.unshift(...settlements)
    throw error
  }
}

function endDrains(round: Round, began: number): void {
  const ready = round.drains.filter((drain) => drain.since <= began)
  round.drains = round.drains.filter((drain) => drain.since > began)
  for (const drain of ready) drain.resolve()
}

async function pause(round: Round, intervals: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => {
      round.nothingDue = false
      resolve()
    }, intervals * round.pollIntervalMs)
    round.wake = () => {
      clearTimeout(timer)
      resolve()
    }
  })
}
