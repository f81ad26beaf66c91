import { checkFlag, checkNames, checkNumbers, type NumberRange, timerRange } from '@outlay/core/adapter'
import type { ServiceOptions } from './service.ts'

const names = [
  'pool',
  'schema',
  'rails',
  'bankLinking',
  'encryptionKey',
  'catalog',
  'clock',
  'logger',
  'telemetry',
  'kybReview',
  'allowPrivateWebhooks',
  'rateLimit',
  'engine',
  'webhooks',
  'retention',
]

/** Maximum number of days that a clock can be set back by. */
const days: NumberRange = { min: 0, max: 100_000 }

const rateRanges = { perSecond: { min: 0.000_001 }, burst: { min: 1 } }

const retentionRanges = { idempotencyKeyDays: days, webhookEventDays: days, bankLinkExchangeDays: days }

const webhookRanges = {
  concurrency: { min: 1, max: 10_000, integer: true },
  pollIntervalMs: timerRange,
  timeoutMs: timerRange,
}

/**
 * Checks the names, flags and numbers that a service is configured with; those of the engine's workers are checked when it starts.
 * @throws Error with a sentence that names the option
 */
export function checkServiceOptions(options: ServiceOptions): void {
  checkNames(options, names)
  const { rateLimit, webhooks, retention, allowPrivateWebhooks } = options
  if (allowPrivateWebhooks !== undefined) checkFlag(allowPrivateWebhooks, 'allowPrivateWebhooks')
  checkNames(rateLimit, Object.keys(rateRanges), 'rateLimit')
  checkNames(webhooks, ['clock', ...Object.keys(webhookRanges)], 'webhooks')
  checkNames(retention, Object.keys(retentionRanges), 'retention')
  checkNumbers({ ...rateLimit }, rateRanges, 'rateLimit.')
  checkNumbers({ ...webhooks }, webhookRanges, 'webhooks.')
  checkNumbers({ ...retention }, retentionRanges, 'retention.')
}
