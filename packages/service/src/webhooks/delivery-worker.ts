import type { Clock } from '@outlay/core'
import type { ServiceContext } from '../context.ts'
import { asSystem } from '../database/tenant.ts'
import { attemptDelivery, type Courier, nameOf } from './delivery-attempt.ts'
import { type ClaimedDelivery, claimDeliveries, type DeliverySettlement, settleDeliveries } from './delivery-store.ts'
import { createOutgoingAgent } from './outgoing-url.ts'

/** How webhooks are delivered. Every member has a default. */
export interface WebhookDeliveryOptions {
  /**
   * Time of the outside world, for signatures and for the schedule. Default: the system's clock, since receivers compare
   * signatures with theirs whatever the service's own clock says.
   */
  readonly clock?: Clock | undefined
  /** Deliveries on their way at once. Default 128. */
  readonly concurrency?: number | undefined
  /** Pause between two looks when nothing is due, in milliseconds. Default 250. */
  readonly pollIntervalMs?: number | undefined
  /** How long an endpoint may take to answer, in milliseconds. Default 15,000. */
  readonly timeoutMs?: number | undefined
}

/** Webhook delivery at work. */
export interface WebhookDelivery {
  /** Resolves once everything that was due when it was called has been tried and its outcome is written. */
  drain(): Promise<void>
  /** Claims nothing more, and lets what is on its way end. Safe to call twice. */
  stop(): Promise<void>
}

const claimSize = 32

/** Starts to deliver webhooks in this process. Several processes share the work. */
export function startWebhookDelivery(context: ServiceContext, options: WebhookDeliveryOptions = {}): WebhookDelivery {
  const timeoutMs = options.timeoutMs ?? 15_000
  const agent = createOutgoingAgent({ allowPrivate: context.allowPrivateWebhooks ?? false }, timeoutMs)
  const clock = options.clock ?? { now: () => new Date() }
  const round: Round = {
    courier: { context, clock, agent, timeoutMs },
    concurrency: options.concurrency ?? 128,
    pollIntervalMs: options.pollIntervalMs ?? 250,
    onTheirWay: new Map(),
    full: new Set(),
    count: 0,
    claims: 0,
    nothingDue: false,
    settled: [],
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
      stopping ??= running.then(() => agent.close())
      return stopping
    },
  }
}

interface Round {
  readonly courier: Courier
  readonly concurrency: number
  readonly pollIntervalMs: number
  /** Deliveries on their way, per registration. */
  readonly onTheirWay: Map<string, number>
  /** Registrations that have enough on its way: an endpoint that hangs fills this much of the room, not all of it. */
  readonly full: Set<string>
  count: number
  claims: number
  /** True once a claim came back short, until there is a reason to look again. */
  nothingDue: boolean
  settled: DeliverySettlement[]
  drains: { readonly since: number; readonly resolve: () => void }[]
  ended: boolean
  /** Ends the current pause. */
  wake: () => void
}

async function runRound(round: Round): Promise<void> {
  const { logger } = round.courier.context
  while (!round.ended || round.count > 0 || round.settled.length > 0) {
    try {
      await flush(round)
      await claim(round)
      const ready = round.settled.length > 0 || (mayClaim(round) && !round.ended)
      if (!ready && !(round.ended && round.count === 0)) await pause(round, 1)
    } catch (error) {
      logger.warn({ error: nameOf(error) }, 'Webhook deliveries cannot be read or written now.')
      // What is unwritten goes out again when its lease ends.
      if (round.ended && round.count === 0) break
      await pause(round, 4)
    }
  }
  for (const drain of round.drains.splice(0)) drain.resolve()
}

function batchOf(round: Round): number {
  return Math.min(claimSize, round.concurrency)
}

function mayClaim(round: Round): boolean {
  return !round.nothingDue && round.concurrency - round.count >= batchOf(round) / 2
}

/** Claims a batch when there is room for one, and sends it off. */
async function claim(round: Round): Promise<void> {
  if (round.ended || !mayClaim(round)) return
  const { context, clock, timeoutMs } = round.courier
  const limit = Math.min(batchOf(round), round.concurrency - round.count)
  const now = clock.now()
  const leaseUntil = new Date(now.getTime() + 2 * timeoutMs + 30_000)
  const began = round.claims
  round.claims += 1
  round.nothingDue = true
  const claimed = await claimDeliveries(asSystem(context), context, { now, leaseUntil, limit, except: [...round.full] })
  if (claimed.length === limit || round.drains.some((drain) => drain.since > began)) round.nothingDue = false
  for (const delivery of claimed) void carry(round, delivery)
  if (claimed.length === 0 && round.count === 0 && round.settled.length === 0) endDrains(round, began)
}

async function carry(round: Round, delivery: ClaimedDelivery): Promise<void> {
  const { registrationId } = delivery
  round.count += 1
  changeLoad(round, registrationId, 1)
  const settlement = await attemptDelivery(round.courier, delivery)
  round.settled.push(settlement)
  round.count -= 1
  changeLoad(round, registrationId, -1)
  // The last one to come home looks again, so that a drain knows.
  if (round.count === 0) round.nothingDue = false
  round.wake()
}

function changeLoad(round: Round, registrationId: string, by: 1 | -1): void {
  const load = (round.onTheirWay.get(registrationId) ?? 0) + by
  if (load === 0) round.onTheirWay.delete(registrationId)
  else round.onTheirWay.set(registrationId, load)
  if (load >= batchOf(round)) round.full.add(registrationId)
  // The gap between the two marks keeps a busy registration from causing a claim per delivery.
  else if (load <= batchOf(round) / 2 && round.full.delete(registrationId)) round.nothingDue = false
}

/** Writes the outcomes that have come in since the last time, all in one statement. */
async function flush(round: Round): Promise<void> {
  const settlements = round.settled
  if (settlements.length === 0) return
  round.settled = []
  try {
    await settleDeliveries(asSystem(round.courier.context), round.courier.context, settlements)
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
