import type { Clock } from '@outlay/core'
import { type Agent, request } from 'undici/index.js'
import type { ServiceContext } from '../context.ts'
import { asWorker } from '../database/tenant.ts'
import { traceDelivery } from '../telemetry.ts'
import type { ClaimedDelivery } from './delivery-claim.ts'
import type { DeliveryOutcome } from './delivery-store.ts'
import { disableWebhook, webhookSecretPlace } from './registrations.ts'
import { signDelivery } from './signature.ts'

/** Dependencies of delivery attempts. */
export interface Courier {
  readonly context: ServiceContext
  /** Time of the outside world. */
  readonly clock: Clock
  readonly agent: Agent
  /** Time limit for an endpoint's answer, in milliseconds. */
  readonly timeoutMs: number
  readonly disabler: Disabler
}

/** Disables webhooks whose endpoints are gone. */
export interface Disabler {
  /** Begins to disable a webhook; nobody waits for that, since it may take long. */
  disable(registrationId: string): void
  /** Webhooks that are being disabled: nothing more is sent to them. */
  underWay(): readonly string[]
  /** Resolves when none is being disabled. */
  ended(): Promise<void>
}

const seconds = 1_000
const minutes = 60 * seconds
const hours = 60 * minutes

/** Delays before the first and each further attempt, in milliseconds, as Standard Webhooks recommends. */
export const deliverySchedule: readonly number[] = [
  0,
  5 * seconds,
  5 * minutes,
  30 * minutes,
  2 * hours,
  5 * hours,
  10 * hours,
  14 * hours,
  20 * hours,
  24 * hours,
]

/** From the first attempt of a delivery to its last, in milliseconds. */
export const longestRetryMs: number = deliverySchedule.reduce((sum, pauseMs) => sum + pauseMs, 0)

/** The status with which an endpoint asks never to be sent anything again. */
export const goneStatus = 410

const longestRetryAfterMs = 24 * hours

/** Sends one delivery and returns its result. 2xx is success, 410 disables the webhook. Never rejects. */
export async function attemptDelivery(courier: Courier, delivery: ClaimedDelivery): Promise<DeliveryOutcome> {
  const { id, attempt } = delivery
  if (!delivery.active)
    return {
      id,
      attempt,
      status: 'canceled',
      nextAttemptAt: null,
      lastStatus: null,
      lastError: 'The webhook is disabled.',
    }
  try {
    const { telemetry } = courier.context
    const { status, retryAfterMs } = await traceDelivery(telemetry, delivery, (trace) => send(courier, delivery, trace))
    if (status >= 200 && status < 300)
      return { id, attempt, status: 'delivered', nextAttemptAt: null, lastStatus: status, lastError: null }
    if (status === goneStatus) courier.disabler.disable(delivery.registrationId)
    return retryOf(courier, delivery, { status, error: `The endpoint answered ${status}.`, retryAfterMs })
  } catch (error) {
    return retryOf(courier, delivery, { status: null, error: nameOf(error), retryAfterMs: 0 })
  }
}

async function send(
  courier: Courier,
  delivery: ClaimedDelivery,
  traceparent: string | undefined,
): Promise<{ readonly status: number; readonly retryAfterMs: number }> {
  const now = courier.clock.now()
  const response = await request(delivery.url, {
    method: 'POST',
    dispatcher: courier.agent,
    signal: AbortSignal.timeout(courier.timeoutMs),
    headers: {
      'content-type': 'application/json',
      'user-agent': 'outlay-webhooks',
      ...proofOf(courier, delivery, now),
      ...(traceparent === undefined ? {} : { traceparent }),
    },
    body: delivery.body,
  })
  // Only the status matters: a long or slow body is cut off, even if that closes the connection.
  await response.body.dump({ limit: 16_384 }).catch(() => undefined)
  return { status: response.statusCode, retryAfterMs: retryAfterOf(response.headers['retry-after'], now) }
}

/** The headers that prove a delivery genuine; a notice has no secret, so it has only its id. */
function proofOf(courier: Courier, delivery: ClaimedDelivery, now: Date): Readonly<Record<string, string>> {
  const { eventId, body, secret: sealed } = delivery
  if (sealed === null) return { 'webhook-id': eventId }
  const secret = courier.context.secrets.open(sealed, webhookSecretPlace(delivery.registrationId))
  const previous = previousSecretOf(courier, delivery)
  const timestampSeconds = Math.floor(now.getTime() / 1000)
  return signDelivery(secret, { eventId, timestampSeconds, body }, previous)
}

/** The replaced secret, while it still signs. The clock of the service set its expiry. */
function previousSecretOf({ context }: Courier, delivery: ClaimedDelivery): string | undefined {
  const { previousSecret, previousSecretUntil, registrationId } = delivery
  if (previousSecret === null || previousSecretUntil === null) return undefined
  if (previousSecretUntil.getTime() <= context.clock.now().getTime()) return undefined
  return context.secrets.open(previousSecret, webhookSecretPlace(registrationId))
}

function retryOf(
  courier: Courier,
  { id, attempt }: ClaimedDelivery,
  outcome: { readonly status: number | null; readonly error: string; readonly retryAfterMs: number },
): DeliveryOutcome {
  const result = { id, attempt, lastStatus: outcome.status, lastError: outcome.error }
  const pauseMs = deliverySchedule[attempt]
  if (pauseMs === undefined || outcome.status === goneStatus)
    return { ...result, status: 'failed', nextAttemptAt: null }
  const jittered = pauseMs * (1 + courier.context.random.fraction() / 10)
  const at = courier.clock.now().getTime() + Math.max(jittered, outcome.retryAfterMs)
  return { ...result, status: 'pending', nextAttemptAt: new Date(at).toISOString() }
}

/**
 * Disables webhooks one after another. Each cancels what waits for it, which takes long for a long backlog: at once they would take every
 * connection, and a delivery that waited for its webhook would use the share of its client meanwhile.
 */
export function createDisabler(context: ServiceContext, onEnded: () => void): Disabler {
  const underWay = new Map<string, Promise<void>>()
  let last: Promise<void> = Promise.resolve()
  const perform = async (before: Promise<void>, registrationId: string) => {
    await before
    try {
      await disableWebhook(asWorker(context), context, registrationId, 'The endpoint answered 410.')
    } catch (error) {
      context.logger.warn({ error: nameOf(error) }, 'A webhook whose endpoint is gone cannot be disabled now.')
    }
    underWay.delete(registrationId)
    onEnded()
  }
  return {
    disable(registrationId) {
      if (underWay.has(registrationId)) return
      last = perform(last, registrationId)
      underWay.set(registrationId, last)
    },
    underWay: () => [...underWay.keys()],
    ended: () => last,
  }
}

function retryAfterOf(header: string | string[] | undefined, now: Date): number {
  if (typeof header !== 'string') return 0
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * seconds : Date.parse(header) - now.getTime()
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), longestRetryAfterMs)
}

/** The reportable part of a failed connection: its kind, never its text. */
export function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'Error'
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? `${error.name} ${code}` : error.name
}
