import { checkNumbers, type NumberRange, timerRange } from '@outlay/core/adapter'
import type { ServiceContext } from './context.ts'
import type { Retention } from './housekeeping.ts'
import type { WebhookDeliveryOptions } from './webhooks/delivery-worker.ts'

/** The options of a service that have numbers. */
interface NumberedOptions {
  readonly rateLimit?: ServiceContext['rateLimit']
  readonly webhooks?: WebhookDeliveryOptions | undefined
  readonly retention?: Retention | undefined
}

/** Maximum number of days that a clock can be set back by. */
const days: NumberRange = { min: 0, max: 100_000 }

const retentionRanges = { idempotencyKeyDays: days, webhookEventDays: days, bankLinkExchangeDays: days }

const webhookRanges = {
  concurrency: { min: 1, max: 10_000, integer: true },
  pollIntervalMs: timerRange,
  timeoutMs: timerRange,
}

/**
 * Checks the numbers that a service is configured with; those of the engine's workers are checked when it starts.
 * @throws Error with a sentence that names the option
 */
export function checkServiceOptions({ rateLimit, webhooks, retention }: NumberedOptions): void {
  checkNumbers({ ...rateLimit }, { perSecond: { min: 0.000_001 }, burst: { min: 1 } }, 'rateLimit.')
  checkNumbers({ ...webhooks }, webhookRanges, 'webhooks.')
  checkNumbers({ ...retention }, retentionRanges, 'retention.')
}
