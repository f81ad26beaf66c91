import { webhookEventTypes } from '@outlay/core'
import { isId, notFound, requireAccount } from '../clients/authenticate.ts'
import { inClientTransaction, type ServiceContext } from '../context.ts'
import { asClient } from '../database/tenant.ts'
import { readJson } from '../http/body.ts'
import { pageOf, readPage } from '../http/pagination.ts'
import type { RouteModule, ServiceRequest } from '../http/request.ts'
import { createIdempotently } from '../idempotency/idempotent.ts'
import { listDeliveries, resendEvent } from './delivery-store.ts'
import {
  changeWebhook,
  createWebhook,
  findWebhook,
  listWebhooks,
  removeWebhook,
  type WebhookResource,
} from './registrations.ts'
import { rotateWebhookSecret } from './secret-rotation.ts'

/** Mounts registration of webhooks and the log of their deliveries. Specification: "Events". */
export const webhooksRoutes: RouteModule = (app, context) => {
  app.post('/accounts/:account_id/webhooks', (c) =>
    createIdempotently(
      c,
      context,
      { scope: 'webhooks:write', sealed: true },
      ({ body, accountId }) =>
        (tx) =>
          createWebhook(tx, context, accountId, body),
    ),
  )

  app.get('/accounts/:account_id/webhooks', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'webhooks:read')
    return c.json({ webhooks: await listWebhooks(asClient(context, clientId), context, accountId) })
  })

  app.get('/accounts/:account_id/webhooks/event_types', async (c) => {
    await requireAccount(c, context, 'webhooks:read')
    return c.json({ event_types: webhookEventTypes })
  })

  mountSubscriptions(app, context)

  app.get('/accounts/:account_id/webhooks/deliveries', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'webhooks:read')
    const page = readPage(c, context, ['subscription_id', 'event_id', 'status'])
    const { subscription_id: subscriptionId, event_id: eventId, status } = page.filters
    const { direction, position } = page
    const query = { accountId, subscriptionId, eventId, status, direction, position, limit: page.size + 1 }
    const { rows, pagination } = pageOf(
      context,
      page,
      await listDeliveries(asClient(context, clientId), context, query),
    )
    return c.json({ deliveries: rows, pagination })
  })

  app.post('/accounts/:account_id/webhooks/events/:event_id/resend', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'webhooks:write')
    const eventId = idOf(c, 'event_id', 'event')
    const resent = await inClientTransaction(context, clientId, (tx) => resendEvent(tx, context, accountId, eventId))
    if (resent === undefined) throw notFound('event')
    return c.json({ event_id: eventId, deliveries: resent }, 202)
  })
}

const mountSubscriptions: RouteModule = (app, context: ServiceContext) => {
  const path = '/accounts/:account_id/webhooks/subscriptions/:subscription_id'

  app.get(path, async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'webhooks:read')
    return c.json(found(await findWebhook(asClient(context, clientId), context, accountId, subscriptionIdOf(c))))
  })

  app.patch(path, async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'webhooks:write')
    const subscriptionId = subscriptionIdOf(c)
    const body = await readJson(c)
    const changed = await inClientTransaction(context, clientId, (tx) =>
      changeWebhook(tx, context, accountId, subscriptionId, body),
    )
    return c.json(found(changed))
  })

  app.delete(path, async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'webhooks:write')
    const subscriptionId = subscriptionIdOf(c)
    const removed = await inClientTransaction(context, clientId, (tx) =>
      removeWebhook(tx, context, accountId, subscriptionId),
    )
    if (!removed) throw notFound('webhook')
    return c.body(null, 204)
  })

  app.post(`${path}/rotate`, (c) => {
    const options = { scope: 'webhooks:write', sealed: true, bodyless: true } as const
    return createIdempotently(
      c,
      context,
      options,
      ({ accountId }) =>
        async (tx) =>
          found(await rotateWebhookSecret(tx, context, accountId, subscriptionIdOf(c))),
    )
  })
}

function subscriptionIdOf(c: ServiceRequest): string {
  return idOf(c, 'subscription_id', 'webhook')
}

function idOf(c: ServiceRequest, parameter: string, noun: string): string {
  const id = c.req.param(parameter) ?? ''
  if (!isId(id)) throw notFound(noun)
  return id
}

function found<Webhook extends WebhookResource>(webhook: Webhook | undefined): Webhook {
  if (webhook === undefined) throw notFound('webhook')
  return webhook
}
