import { Id, type Issue, Limits, OutlayError, webhookEventTypes } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import { z } from 'zod'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, type Row, run, statement } from '../database/statement.ts'
import { snakeCased } from '../http/body-shape.ts'
import { textSchema } from '../schema/primitive.ts'
import { patternsFor } from './events.ts'
import { outgoingPolicyOf, parseOutgoingUrl } from './outgoing-url.ts'
import { newWebhookSecret } from './signature.ts'

/** A webhook of an account, without its secrets. */
export interface WebhookRow {
  readonly id: string
  readonly account_id: string
  readonly url: string
  readonly event_types: readonly string[]
  readonly status: 'active' | 'disabled'
  /** Why the service disabled it. */
  readonly disabled_reason: string | null
  readonly created: string
  readonly updated: string
}

const knownPatterns = new Set(webhookEventTypes.flatMap(patternsFor))
const patterns = z
  .array(textSchema.refine((pattern) => knownPatterns.has(pattern), 'must be an event type, noun.* or *'))
  .min(1)
  .max(32)

const events = patterns.optional().meta({ description: 'The same as `event_types`.' })

/** The body of `POST /accounts/{account_id}/webhooks`. */
export const newWebhookSchema = z.object({ url: textSchema, event_types: patterns.optional(), events })

/** The body of `PATCH /accounts/{account_id}/webhooks/subscriptions/{id}`. */
export const webhookChangeSchema = z.object({
  url: textSchema.optional(),
  event_types: patterns.optional(),
  events,
  status: z
    .enum(['active', 'disabled', 'archived'])
    .optional()
    .meta({ description: '`disabled` and `archived` are the same.' }),
})

/**
 * Registers a webhook in the caller's transaction. Only this answer contains its secret.
 * @throws OutlayError `invalid_request` with the member, `conflict` when the account has one with this URL or as many as it may have.
 */
export async function createWebhook(
  tx: Tx,
  context: ServiceContext,
  accountId: string,
  body: unknown,
): Promise<WebhookRow & { readonly secret: string }> {
  const { url, ...given } = parse(newWebhookSchema, body)
  const eventTypes = eventTypesOf(given) ?? ['*']
  const target = parseOutgoingUrl(url, 'url', outgoingPolicyOf(context))
  const id = Id.generate(context.clock, context.random)
  const secret = newWebhookSecret(context.random)
  const sealed = context.secrets.seal(secret, webhookSecretPlace(id))
  // Another transaction that registers one for the account commits before this one counts.
  await run(tx, context, lockAccount, [accountId])
  await refuseUsedUrl(tx, context, { accountId, url: target.href })
  const values = [id, accountId, target.href, eventTypes, sealed, context.clock.now(), Limits.webhooksPerAccount]
  const [webhook] = await run(tx, context, insertWebhook, values)
  if (webhook === undefined) throw tooManyWebhooks()
  return { ...webhook, secret }
}

/** Reads the webhooks of an account, oldest first. */
export function listWebhooks(
  executor: Executor | Tx,
  context: ServiceContext,
  accountId: string,
): Promise<readonly WebhookRow[]> {
  return run(executor, context, selectWebhooks, [accountId])
}

/** One webhook of an account; `undefined` when there is none. */
export async function findWebhook(
  executor: Executor | Tx,
  context: ServiceContext,
  accountId: string,
  webhookId: string,
): Promise<WebhookRow | undefined> {
  const [webhook] = await run(executor, context, selectWebhook, [accountId, webhookId])
  return webhook
}

/**
 * Changes URL, event types or status. Disabling a webhook cancels its pending deliveries. `undefined` when there is none.
 * @throws OutlayError `invalid_request` with the member, `conflict` when another webhook of the account has the URL.
 */
export async function changeWebhook(
  tx: Tx,
  context: ServiceContext,
  accountId: string,
  webhookId: string,
  body: unknown,
): Promise<WebhookRow | undefined> {
  const change = parse(webhookChangeSchema, body)
  const policy = outgoingPolicyOf(context)
  const url = change.url === undefined ? null : parseOutgoingUrl(change.url, 'url', policy).href
  if (url !== null) {
    await run(tx, context, lockAccount, [accountId])
    await refuseUsedUrl(tx, context, { accountId, url, exceptId: webhookId })
  }
  const status = change.status === 'archived' ? 'disabled' : (change.status ?? null)
  const values = [accountId, webhookId, url, eventTypesOf(change) ?? null, status, context.clock.now()]
  const [webhook] = await run(tx, context, updateWebhook, values)
  if (webhook?.status === 'disabled') await run(tx, context, cancelDeliveries, [webhookId])
  return webhook
}

/** What a body asks for, under either name. Both names may say the same. */
function eventTypesOf(given: {
  readonly event_types?: readonly string[] | undefined
  readonly events?: readonly string[] | undefined
}): readonly string[] | undefined {
  const { event_types: eventTypes, events } = given
  if (eventTypes === undefined || events === undefined) return eventTypes ?? events
  if (new Set([...eventTypes, ...events]).size === new Set(eventTypes).size && events.length === eventTypes.length)
    return eventTypes
  throw new OutlayError('invalid_request', 'event_types and events differ; send one of them.', { field: 'events' })
}

/** Removes a webhook with its deliveries. False when there is none. */
export async function removeWebhook(
  tx: Tx,
  context: ServiceContext,
  accountId: string,
  webhookId: string,
): Promise<boolean> {
  return (await run(tx, context, deleteWebhook, [accountId, webhookId])).length > 0
}

/**
 * Disables a webhook whose endpoint is gone, and cancels its pending deliveries. Not in a transaction: it commits after each
 * {@link cancelSize} deliveries, so that it never locks many. The worker cancels what a crash leaves. A webhook that another caller
 * disables is left to that one.
 */
export async function disableWebhook(
  executor: Executor,
  context: ServiceContext,
  webhookId: string,
  reason: string,
): Promise<void> {
  const disabled = await run(executor, context, disable, [webhookId, reason, context.clock.now()])
  if (disabled.length === 0) return
  for (let canceled = cancelSize; canceled === cancelSize; )
    canceled = (await run(executor, context, cancelSome, [webhookId, cancelSize])).length
}

/** Number of deliveries that one statement cancels for a webhook whose endpoint is gone. */
export const cancelSize = 2_000

/** Place of the sealed secret of a webhook. */
export function webhookSecretPlace(webhookId: string) {
  return { table: 'webhook_registration', column: 'secret', row: webhookId }
}

/** Reads a row of the table, without its secrets. */
export const readWebhook: (row: Row) => WebhookRow = rowDecoder('webhook', {
  id: Column.text,
  account_id: Column.text,
  url: Column.text,
  event_types: Column.texts,
  status: Column.word<WebhookRow['status']>(),
  disabled_reason: Column.nullable(Column.text),
  created: Column.from('created_at', Column.isoTime),
  updated: Column.from('updated_at', Column.isoTime),
})

/** Refuses a URL that a webhook of the account has. The caller has locked the account. */
async function refuseUsedUrl(
  tx: Tx,
  context: ServiceContext,
  {
    accountId,
    url,
    exceptId = null,
  }: { readonly accountId: string; readonly url: string; readonly exceptId?: string | null },
): Promise<void> {
  const [used] = await run(tx, context, selectByUrl, [accountId, url, exceptId])
  if (used === undefined) return
  const message = `The webhook ${used.id} has this URL. Change that one, or remove it and send the request with a new key.`
  throw new OutlayError('conflict', message, { field: 'url' })
}

function tooManyWebhooks(): OutlayError {
  const message = `The account has ${Limits.webhooksPerAccount} webhooks, which is the limit. Remove one, then send the request with a new key.`
  return new OutlayError('conflict', message)
}

function parse<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(snakeCased(body))
  if (parsed.success) return parsed.data
  const [first, ...rest] = parsed.error.issues.map(
    (issue): Issue => ({ field: issue.path.map(String).join('.'), code: 'invalid_request', message: issue.message }),
  )
  if (first === undefined) throw new Error('A refused body has no issue.')
  throw OutlayError.fromIssues([first, ...rest])
}

/** What a statement selects of the table for {@link readWebhook}. */
export const webhookColumns = `id, account_id, url, event_types, status, disabled_reason, created_at, updated_at`

const lockAccount = statement(
  'account_lock_for_webhooks',
  'select from {{schema}}.account where id = $1 for no key update',
)

const insertWebhook = statement(
  'webhook_registration_insert',
  `insert into {{schema}}.webhook_registration
     (id, account_id, url, event_types, status, secret, created_at, updated_at)
   select $1, $2, $3, $4, 'active', $5, $6, $6
    where (
      select count(*) from {{schema}}.webhook_registration where account_id = $2 and kind = 'webhook'
    ) < $7
   returning ${webhookColumns}`,
  readWebhook,
)

const selectWebhooks = statement(
  'webhook_registration_list',
  `select ${webhookColumns} from {{schema}}.webhook_registration where account_id = $1 and kind = 'webhook' order by id`,
  readWebhook,
)

const selectWebhook = statement(
  'webhook_registration_select',
  `select ${webhookColumns} from {{schema}}.webhook_registration where account_id = $1 and id = $2 and kind = 'webhook'`,
  readWebhook,
)

// Earlier releases let an account register a URL more than once, so no index forbids it.
const selectByUrl = statement(
  'webhook_registration_select_by_url',
  `select ${webhookColumns} from {{schema}}.webhook_registration
    where account_id = $1 and url = $2 and kind = 'webhook' and id is distinct from $3
    order by id limit 1`,
  readWebhook,
)

const updateWebhook = statement(
  'webhook_registration_update',
  `update {{schema}}.webhook_registration
      set url = coalesce($3, url),
          proven = proven and url = coalesce($3, url),
          event_types = coalesce($4, event_types),
          status = coalesce($5, status),
          disabled_reason = case when coalesce($5, status) = 'active' then null else disabled_reason end,
          updated_at = $6
    where account_id = $1 and id = $2 and kind = 'webhook'
   returning ${webhookColumns}`,
  readWebhook,
)

const deleteWebhook = statement(
  'webhook_registration_delete',
  `delete from {{schema}}.webhook_registration where account_id = $1 and id = $2 and kind = 'webhook' returning true as deleted`,
)

const disable = statement(
  'webhook_registration_disable',
  `update {{schema}}.webhook_registration
      set status = 'disabled', disabled_reason = $2, updated_at = $3
    where id = $1 and status = 'active'
   returning true as disabled`,
)

const cancelDeliveries = statement(
  'webhook_delivery_cancel',
  `update {{schema}}.webhook_delivery set status = 'canceled' where registration_id = $1 and status = 'pending'`,
)

const cancelSome = statement(
  'webhook_delivery_cancel_some',
  `with chosen as materialized (
     select id from {{schema}}.webhook_delivery
      where status = 'pending' and registration_id between $1 and $1
        and exists (select from {{schema}}.webhook_registration where id = $1 and status = 'disabled')
      order by registration_id, next_attempt_at, id
      limit $2
      for update skip locked
   )
   update {{schema}}.webhook_delivery d set status = 'canceled' from chosen where d.id = chosen.id returning true as canceled`,
)
