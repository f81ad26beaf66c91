import { OutlayError } from '@outlay/core'
import type { Dialect } from '../dialect.ts'
import {
  decodePage,
  encodePageQuery,
  iteratePages,
  type Page,
  type PageRequest,
  type Rows,
  toRows,
} from '../pagination.ts'
import { path } from '../request.ts'
import { isRecord, readOptionalText, type WithRaw } from '../wire/json.ts'
import {
  decodeEventTypes,
  decodeResent,
  decodeWebhookDelivery,
  decodeWebhookSubscription,
  type WebhookDelivery,
  type WebhookSubscription,
} from '../wire/webhook-subscription.ts'
import {
  type CallOptions,
  type CreateOptions,
  create,
  type IterateOptions,
  type ResourceContext,
  readLoosely,
} from './resource.ts'

/** A URL that receives events. */
export interface WebhookRequest {
  /** http or https. */
  readonly url: string
  /** Event types, `noun.*` or `*`. Default: all of them. */
  readonly eventTypes?: readonly string[] | undefined
}

/** Changes to a subscription. */
export interface WebhookChange extends Partial<WebhookRequest> {
  /** `disabled` by the specification, `archived` by the public contract. */
  readonly status?: 'active' | 'disabled' | 'archived' | undefined
}

/** Filters of deliveries. They match exactly and are combined with AND. */
export interface WebhookDeliveryFilters extends PageRequest {
  readonly subscriptionId?: string | undefined
  readonly eventId?: string | undefined
  readonly status?: 'pending' | 'delivered' | 'failed' | 'canceled' | undefined
}

/** The result of a registration. */
export interface CreatedWebhook {
  readonly id: string
  /** The key that was sent: the caller's, or the generated one. */
  readonly idempotencyKey: string
  /** For `verifyWebhook`. The service returns it only in this answer; `undefined` when it does not return it. */
  readonly secret: string | undefined
  /** The record; `undefined` when the answer is incomplete. */
  readonly subscription: WithRaw<WebhookSubscription> | undefined
}

/** The result of the rotation of a secret. */
export interface RotatedWebhook extends CreatedWebhook {
  /** Until when the previous secret signs too, as the service wrote it; `undefined` when it does not say. */
  readonly previousSecretUntil: string | undefined
}

/** Subscriptions of an account to events, and the log of deliveries. */
export interface WebhooksResource {
  /**
   * Registers a URL for events.
   *
   * @throws OutlayError `invalid_request` for a URL that is not http or https, before anything is sent; then the refusals
   * of the service
   */
  create(accountId: string, request: WebhookRequest, options?: CreateOptions): Promise<CreatedWebhook>
  /** One subscription; `undefined` when the account has none with this id. */
  get(
    accountId: string,
    subscriptionId: string,
    options?: CallOptions,
  ): Promise<WithRaw<WebhookSubscription> | undefined>
  /** The subscriptions of an account. */
  list(accountId: string, options?: CallOptions): Promise<Rows<WithRaw<WebhookSubscription>>>
  /** Changes a subscription. Returns the new record, or `undefined` when the service does not return it. */
  update(
    accountId: string,
    subscriptionId: string,
    change: WebhookChange,
    options?: CallOptions,
  ): Promise<WithRaw<WebhookSubscription> | undefined>
  /**
   * Replaces the secret of a subscription. Until `previousSecretUntil`, both secrets sign deliveries, so `verifyWebhook` accepts
   * either. Give it the new secret before then.
   */
  rotate(accountId: string, subscriptionId: string, options?: CreateOptions): Promise<RotatedWebhook>
  /** Removes a subscription. Succeeds when it does not exist, so a retry does no harm. */
  remove(accountId: string, subscriptionId: string, options?: CallOptions): Promise<void>
  /** Event types to subscribe to. */
  listEventTypes(accountId: string, options?: CallOptions): Promise<readonly string[]>
  /** One page of the log of deliveries. By the public contract each attempt is a row of its own. */
  listDeliveries(
    accountId: string,
    filters?: WebhookDeliveryFilters,
    options?: CallOptions,
  ): Promise<Page<WithRaw<WebhookDelivery>>>
  /** The whole log of deliveries. The next page is read when the previous one is consumed. */
  iterateDeliveries(
    accountId: string,
    filters?: WebhookDeliveryFilters,
    options?: IterateOptions,
  ): AsyncIterable<WithRaw<WebhookDelivery>>
  /** Sends an event again, with the same id. Returns how many webhooks receive it, or `undefined` when the service does not say. */
  resend(accountId: string, eventId: string, options?: CallOptions): Promise<number | undefined>
}

/** Makes the webhooks resource of a client. */
export function createWebhooks(context: ResourceContext): WebhooksResource {
  const { requester, forwardCursor, dialect } = context
  const read = (accountId: string, where: string, options: CallOptions) =>
    requester.perform({ accountId, method: 'GET', path: where }, options.signal)
  const subscriptionPath = (accountId: string, id: string) => path`/accounts/${accountId}/webhooks/subscriptions/${id}`
  const onePath = (accountId: string, id: string) =>
    dialect === 'public' ? path`/accounts/${accountId}/webhooks/${id}` : subscriptionPath(accountId, id)
  const listDeliveries: WebhooksResource['listDeliveries'] = async (accountId, filters = {}, options = {}) => {
    const query = encodePageQuery(encodeFilters(filters), filters, forwardCursor)
    const body = await read(accountId, path`/accounts/${accountId}/webhooks/deliveries` + query, options)
    return decodePage(body, 'deliveries', decodeWebhookDelivery)
  }
  return {
    async create(accountId, request, options = {}) {
      const { url, eventTypes = dialect === 'public' ? ['*'] : undefined } = request
      const body = encodeWebhook({ url, eventTypes }, dialect)
      const input = { accountId, path: path`/accounts/${accountId}/webhooks`, body }
      const { full, ...created } = await create(context, input, options, decodeCreated)
      return { ...created, secret: full?.secret, subscription: full?.subscription }
    },
    async get(accountId, id, options = {}) {
      const call = { accountId, method: 'GET', path: onePath(accountId, id) } as const
      const body = await requester.find(call, options.signal)
      return body === undefined ? undefined : decodeWebhookSubscription(body)
    },
    async list(accountId, options = {}) {
      const body = await read(accountId, path`/accounts/${accountId}/webhooks`, options)
      return toRows(decodePage(body, ['webhooks', 'subscriptions'], decodeWebhookSubscription))
    },
    async update(accountId, id, change, options = {}) {
      const body = JSON.stringify({ ...encodeWebhook(change, dialect), status: checkStatus(change.status, dialect) })
      const call = { accountId, method: 'PATCH', path: subscriptionPath(accountId, id), body } as const
      return readLoosely(await requester.perform(call, options.signal), decodeWebhookSubscription)
    },
    async rotate(accountId, id, options = {}) {
      const input = { accountId, path: `${subscriptionPath(accountId, id)}/rotate`, body: {} }
      const { full, ...rotated } = await create(context, input, options, decodeRotated)
      const { secret, subscription, previousSecretUntil } = full ?? {}
      return { ...rotated, secret, subscription, previousSecretUntil }
    },
    async remove(accountId, id, options = {}) {
      await requester.find({ accountId, method: 'DELETE', path: subscriptionPath(accountId, id) }, options.signal)
    },
    async listEventTypes(accountId, options = {}) {
      return decodeEventTypes(await read(accountId, path`/accounts/${accountId}/webhooks/event_types`, options))
    },
    listDeliveries,
    iterateDeliveries: (accountId, filters = {}, options = {}) =>
      iteratePages(
        (after) => listDeliveries(accountId, { ...filters, after }, options),
        filters.after,
        options.onUnreadable,
      ),
    async resend(accountId, eventId, options = {}) {
      const where = path`/accounts/${accountId}/webhooks/events/${eventId}/resend`
      return decodeResent(await requester.perform({ accountId, method: 'POST', path: where }, options.signal))
    },
  }
}

const encodeFilters = ({ subscriptionId, eventId, status }: WebhookDeliveryFilters) => ({
  subscription_id: subscriptionId,
  event_id: eventId,
  status,
})

const encodeWebhook = ({ url, eventTypes }: WebhookChange, dialect: Dialect) => {
  if (url !== undefined && !(URL.canParse(url) && /^https?:$/.test(new URL(url).protocol))) {
    throw new OutlayError('invalid_request', 'url: must be an http or https URL', { field: 'url' })
  }
  return { url, [dialect === 'public' ? 'events' : 'event_types']: eventTypes }
}

const checkStatus = (status: WebhookChange['status'], dialect: Dialect) => {
  const [other, instead] = dialect === 'public' ? ['disabled', 'archived'] : ['archived', 'disabled']
  if (status !== other) return status
  const message = `status: the ${dialect} contract has no ${other} webhooks; use ${instead}`
  throw new OutlayError('invalid_request', message, { field: 'status' })
}

const decodeCreated = (body: unknown) => ({
  secret: isRecord(body) ? (readOptionalText(body, 'secret') ?? readOptionalText(body, 'shared_secret')) : undefined,
  subscription: readLoosely(body, decodeWebhookSubscription),
})

const decodeRotated = (body: unknown) => ({
  ...decodeCreated(body),
  previousSecretUntil: isRecord(body) ? readOptionalText(body, 'previous_secret_until') : undefined,
})
