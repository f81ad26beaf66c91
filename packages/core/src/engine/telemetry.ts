import { Counterparty } from '../counterparty.ts'
import { OutlayError } from '../error.ts'
import { readGatewayAccount } from '../gateway-account.ts'
import type { Claim, Settlement } from '../ports/claim.ts'
import type { TransferEvent } from '../ports/handlers.ts'
import type { NewTransfer } from '../ports/new-transfer.ts'
import type { ChangingTransfer, DecideChange } from '../ports/observations.ts'
import type { Clock } from '../ports/runtime.ts'
import type { Screening } from '../ports/screening.ts'
import type { EnqueuedTransfer } from '../ports/stored-transfer.ts'
import type { Subscription } from '../ports/subscriptions.ts'
import type { Telemetry, TelemetryAttributes } from '../ports/telemetry.ts'
import type { IncomingWebhook } from '../ports/webhooks.ts'
import type { WorkHandlers } from '../ports/work.ts'
import type { AnswerOutcome } from '../retry.ts'
import { instruments } from './instruments.ts'
import type { WebhookAnswer } from './webhooks.ts'

/** Most transfers that the span of one poll is linked to. */
const maxLinks = 100

/** Outcomes of an attempt that are errors; the others resolve with time. */
const failures: ReadonlySet<string> = new Set(['unknown', 'unauthorized', 'rejected', 'key_mismatch'])

/** Attributes of every span of the engine, by the conventions for messaging. */
const messaging = (operation: string, type: 'send' | 'process', destination: string): TelemetryAttributes => ({
  'messaging.system': 'outlay',
  'messaging.operation.name': operation,
  'messaging.operation.type': type,
  'messaging.destination.name': destination,
})

/** The attributes of an account at a gateway. */
function placeOf(account: string): TelemetryAttributes {
  const { gateway, accountId } = readGatewayAccount(account)
  return { 'outlay.account.id': accountId, 'outlay.gateway': gateway }
}

/** Writes transfers inside a span, whose context they store. */
export function traceEnqueue(
  telemetry: Telemetry,
  transfers: readonly NewTransfer[],
  write: (traceparent: string | undefined) => Promise<readonly EnqueuedTransfer[]>,
): Promise<readonly EnqueuedTransfer[]> {
  const [only] = transfers
  const accounts = new Set(transfers.map((transfer) => transfer.accountId))
  const gateways = new Set(transfers.map((transfer) => transfer.gateway))
  const attributes = {
    ...messaging('enqueue', 'send', 'transfers'),
    'outlay.account.id': accounts.size === 1 ? only?.accountId : undefined,
    'outlay.gateway': gateways.size === 1 ? only?.gateway : undefined,
    ...(transfers.length === 1
      ? { 'outlay.transfer.id': only?.id, 'outlay.rail': only?.request.destination.transferType }
      : { 'messaging.batch.message_count': transfers.length }),
  }
  return telemetry.span('outlay enqueue', { kind: 'producer', attributes }, async (span) => {
    const enqueued = await write(span.traceparent)
    if (transfers.length === 1 && enqueued[0]?.reused === true) {
      span.set({ 'outlay.transfer.id': enqueued[0].id, 'outlay.transfer.reused': true })
    }
    return enqueued
  })
}

/** The same handlers, with a span around each piece of work and measurements of the results. */
export function traceHandlers<Tx>(telemetry: Telemetry, clock: Clock, handlers: WorkHandlers<Tx>): WorkHandlers<Tx> {
  return {
    ...handlers,
    traced: true,
    async submit(claim, signal, mayBegin, recordLate) {
      const settlement = await traceAttempt(telemetry, claim, () =>
        handlers.submit(claim, signal, mayBegin, recordLate),
      )
      if (settlement.stage === 'settled' && claim.createdAt !== undefined) {
        const { transferType } = claim.request.destination
        recordSettled(telemetry, clock, { createdAt: claim.createdAt, transferType }, settlement.status)
      }
      return settlement
    },
    poll(account, transfers, signal) {
      const links = transfers.flatMap(({ traceparent }) => traceparent ?? []).slice(0, maxLinks)
      const attributes = { ...placeOf(account), 'outlay.poll.transfers': transfers.length }
      return telemetry.span('outlay poll', { kind: 'internal', parent: null, links, attributes }, async (span) => {
        const readings = await handlers.poll(account, transfers, signal)
        span.set({ 'outlay.poll.observed': readings.observations.length })
        return readings
      })
    },
    readPage(account, cursor, signal) {
      const attributes = placeOf(account)
      return telemetry.span('outlay read list', { kind: 'internal', parent: null, attributes }, async (span) => {
        const page = await handlers.readPage(account, cursor, signal)
        span.set({ 'outlay.poll.observed': page?.observations.length })
        return page
      })
    },
    screening: handlers.screening && traceScreening(telemetry, handlers.screening),
    subscriptions: handlers.subscriptions.map((subscription) => traceSubscription(telemetry, subscription)),
  }
}

/**
 * The same decision, with a measurement when it settles a transfer. A transaction that is rolled back and repeated counts
 * twice.
 */
export function traceDecision(telemetry: Telemetry, clock: Clock, decide: DecideChange): DecideChange {
  return (current, observation) => {
    const change = decide(current, observation)
    const { stage, origin } = current
    if (change?.stage === 'settled' && stage !== 'settled' && origin !== undefined) {
      recordSettled(telemetry, clock, origin, change.status)
    }
    return change
  }
}

function recordSettled(
  telemetry: Telemetry,
  clock: Clock,
  { createdAt, transferType }: NonNullable<ChangingTransfer['origin']>,
  status: string,
): void {
  const seconds = Math.max(0, clock.now().getTime() - Date.parse(createdAt)) / 1000
  telemetry.record(instruments.settleDuration, seconds, { 'outlay.rail': transferType, 'outlay.status': status })
}

/** An attempt registers the counterparty of a transfer, or submits the transfer itself. */
function traceAttempt(telemetry: Telemetry, claim: Claim, attempt: () => Promise<Settlement>): Promise<Settlement> {
  const step = Counterparty.registered(claim.request) === undefined ? 'register' : 'submit'
  const { outcomes, duration } = instruments[step]
  const rail = claim.request.destination.transferType
  const attributes = {
    ...messaging(step, 'process', 'transfers'),
    'outlay.account.id': claim.accountId,
    'outlay.gateway': claim.gateway,
    'outlay.transfer.id': claim.transferId,
    'outlay.attempt': claim.attempt,
    'outlay.rail': rail,
  }
  const options = { kind: 'consumer', parent: claim.traceparent ?? null, attributes } as const
  return telemetry.span(`outlay ${step}`, options, async (span) => {
    const settlement = await attempt()
    const { outcome } = settlement.answer
    span.set({ 'outlay.outcome': outcome, 'outlay.stage': settlement.stage })
    if (failures.has(outcome)) span.fail(outcome)
    const measured = { 'outlay.rail': rail, 'outlay.outcome': outcome }
    telemetry.count(outcomes, 1, measured)
    span.measure(duration, measured)
    return settlement
  })
}

/** A call without an answer is an error; the transfer is held by it. */
function traceScreening(telemetry: Telemetry, screening: Screening): Screening {
  return {
    ...screening,
    screen(transfer, signal) {
      const { accountId, gateway, id } = transfer
      const attributes = { 'outlay.account.id': accountId, 'outlay.gateway': gateway, 'outlay.transfer.id': id }
      return telemetry.span('outlay screen', { kind: 'client', parent: null, attributes }, async (span) => {
        const screened = await screening.screen(transfer, signal)
        const measured = { 'outlay.outcome': screened.answer?.result ?? 'no_answer' }
        span.set(measured)
        if (screened.answer === undefined) span.fail('no_answer')
        telemetry.count(instruments.screen.outcomes, 1, measured)
        span.measure(instruments.screen.duration, measured)
        return screened
      })
    },
  }
}

function traceSubscription<Tx>(telemetry: Telemetry, subscription: Subscription<Tx>): Subscription<Tx> {
  const { name, handler } = subscription
  return {
    ...subscription,
    handler: (events, tx, context) => traceHandler(telemetry, name, events, () => handler(events, tx, context)),
  }
}

/** Attributes and context of the span in which a handler gets these events: the trace of the transfer, or links to those of several. */
function spanOf(subscription: string, events: readonly TransferEvent[]) {
  const [only] = events
  const attributes = {
    ...messaging('handle', 'process', 'events'),
    'messaging.consumer.group.name': subscription,
  }
  if (events.length !== 1 || only === undefined) {
    const links = events.flatMap(({ traceparent }) => traceparent ?? []).slice(0, maxLinks)
    return { parent: null, links, attributes: { ...attributes, 'messaging.batch.message_count': events.length } }
  }
  return {
    parent: only.traceparent ?? null,
    attributes: {
      ...attributes,
      'messaging.message.id': only.id,
      'outlay.account.id': only.accountId,
      'outlay.gateway': only.transfer.gateway,
      'outlay.transfer.id': only.transferId,
      'outlay.event.type': only.type,
    },
  }
}

function traceHandler(
  telemetry: Telemetry,
  subscription: string,
  events: readonly TransferEvent[],
  handle: () => Promise<void>,
): Promise<void> {
  const options = { kind: 'consumer', ...spanOf(subscription, events) } as const
  return telemetry.span(`outlay handle ${subscription}`, options, async (span) => {
    const measured = { 'outlay.subscription': subscription }
    try {
      await handle()
      span.measure(instruments.handleDuration, measured)
    } catch (error) {
      const failed = { ...measured, 'error.type': errorTypeOf(error) }
      span.measure(instruments.handleDuration, failed)
      telemetry.count(instruments.handlerFailures, 1, failed)
      throw error
    }
  })
}

/** Receives a webhook inside a span, linked to the span of its sender. */
export function traceWebhook(
  telemetry: Telemetry,
  { headers }: IncomingWebhook,
  account: string,
  receive: () => Promise<WebhookAnswer>,
): Promise<WebhookAnswer> {
  const sender = typeof headers.get === 'function' ? headers.get('traceparent') : readMember(headers, 'traceparent')
  const attributes = placeOf(account)
  const links = typeof sender === 'string' ? [sender] : []
  return telemetry.span('outlay webhook', { kind: 'consumer', links, attributes }, async (span) => {
    const answer = await receive()
    span.set({ 'outlay.webhook.changed': answer.changed })
    if (answer.code !== null) span.fail(answer.code)
    return answer
  })
}

function readMember(headers: object, name: string): unknown {
  return (headers as Readonly<Record<string, unknown>>)[name]
}

/** Every outcome that an answer to an attempt may have. */
const outcomes = {
  accepted: true,
  insufficient_balance: true,
  key_mismatch: true,
  rejected: true,
  unauthorized: true,
  throttled: true,
  unknown: true,
} as const satisfies Readonly<Record<AnswerOutcome, true>>

/**
 * Adds nothing to each counter, for every value of its attributes that is known. A counter that begins with its first failure has not grown by it,
 * so nothing would alarm.
 */
export function beginCounters(
  telemetry: Telemetry,
  rails: readonly { readonly name: string }[],
  subscriptions: Iterable<{ readonly name: string }>,
): void {
  for (const { name: rail } of rails)
    for (const outcome of Object.keys(outcomes))
      for (const step of [instruments.submit, instruments.register])
        telemetry.count(step.outcomes, 0, { 'outlay.rail': rail, 'outlay.outcome': outcome })
  for (const { name } of subscriptions) telemetry.count(instruments.handlerFailures, 0, { 'outlay.subscription': name })
}

/** A code or a class of the error; never its message, which may quote anything. */
function errorTypeOf(error: unknown): string {
  if (OutlayError.is(error)) return error.code
  return error instanceof Error ? error.name : typeof error
}
