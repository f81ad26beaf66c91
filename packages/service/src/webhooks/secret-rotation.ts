import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, run, statement } from '../database/statement.ts'
import { readWebhook, type WebhookRow, webhookColumns, webhookSecretPlace } from './registrations.ts'
import { newWebhookSecret } from './signature.ts'

/** How long the replaced secret still signs, in milliseconds. */
export const secretOverlapMs = 24 * 3_600_000

/** A webhook with its new secret. */
export interface RotatedWebhook extends WebhookRow {
  readonly secret: string
  /** Until when the previous secret signs deliveries too, ISO 8601. */
  readonly previous_secret_until: string
}

/**
 * Replaces the secret of a webhook in the caller's transaction. Only this answer contains the new one. For
 * {@link secretOverlapMs}, both secrets sign every delivery, including retries, so the receiver can switch at any time without
 * loss. At most two secrets sign: a second rotation in that time ends the oldest at once.
 * `undefined` when the account has no such webhook.
 */
export async function rotateWebhookSecret(
  tx: Tx,
  context: ServiceContext,
  accountId: string,
  webhookId: string,
): Promise<RotatedWebhook | undefined> {
  const now = context.clock.now()
  const until = new Date(now.getTime() + secretOverlapMs)
  const secret = newWebhookSecret(context.random)
  const sealed = context.secrets.seal(secret, webhookSecretPlace(webhookId))
  const [webhook] = await run(tx, context, rotate, [accountId, webhookId, sealed, until, now])
  return webhook && { ...webhook, secret, previous_secret_until: until.toISOString() }
}

/** Deletes secrets that expired before `now`. Returns how many. */
export async function prunePreviousSecrets(
  executor: Executor | Tx,
  context: ServiceContext,
  now: Date,
): Promise<number> {
  return (await run(executor, context, forget, [now])).length
}

const rotate = statement(
  'webhook_registration_rotate',
  `update {{schema}}.webhook_registration
      set previous_secret = secret, previous_secret_until = $4, secret = $3, updated_at = $5
    where account_id = $1 and id = $2 and kind = 'webhook'
   returning ${webhookColumns}`,
  readWebhook,
)

const forget = statement(
  'webhook_registration_forget_previous',
  `update {{schema}}.webhook_registration
      set previous_secret = null, previous_secret_until = null
    where previous_secret_until <= $1
   returning true as forgotten`,
)
