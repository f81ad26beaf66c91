import { webhookEventTypes } from '@outlay/core'
import { isId, notFound, requireAccount } from '../clients/authenticate.ts'
import { inClientTransaction, type ServiceContext } from '../context.ts'
import { asClient } from '../database/tenant.ts'
import { readJson } from '../http/body.ts'
import { inSpellingOf } from '../http/body-shape.ts'
import { readChoices } from '../http/filters.ts'
import { pageOf, readPage } from '../http/pagination.ts'
import type { RouteModule, ServiceRequest } from '../http/request.ts'
import { createIdempotently } from '../idempotency/idempotent.ts'
import { listAttempts, listAttemptsOfDelivery, listDeliveries } from './delivery-lists.ts'
import { deliveryStatuses, hasDelivery, resendEvent } from './delivery-store.ts'
import {
  changeWebhook,
  createWebhook,
  findWebhook,
  listWebhooks,
  removeWebhook,
  type WebhookRow,
} from './registrations.ts'
import { rotateWebhookSecret } from './secret-rotation.ts'
import { deliveryView, eventTypesView, secretView, webhookView } from './view.ts'

/** More than a delivery is ever sent. */
const mostAttempts = 100

/** Mounts registration of webhooks and the log of their deliveries. Specification: "Events". */
export const webhooksRoutes: RouteModule = (app, context) => {
  app.post('/accounts/:account_id/webhooks', (c) =>
    createIdempotently(c, context, { scope: 'webhooks:write', sealed: true }, ({ body, accountId }) => async (tx) => {
      const { secret, ...webhook } = await createWebhook(tx, context, accountId, body)
      return { ...webhookView(context, webhook), ...secretView(secret) }
    }),
  )

  app.get('/accounts/:account_id/webhooks', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'webhooks:read')
    const rows = await listWebhooks(asClient(context, clientId), context, accountId)
    const webhooks = rows.map((row) => webhookView(context, row))
    return c.json({ webhooks, subscriptions: webhooks })
  })

  app.get('/accounts/:account_id/webhooks/event_types', async (c) => {
    await requireAccount(c, context, 'webhooks:read')
    return c.json({ event_types: eventTypesView(context, webhookEventTypes) })
  })

  mountSubscriptions(app, context)

  app.get('/accounts/:account_id/webhooks/deliveries', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'webhooks:read')
    const page = readPage(c, context, ['subscription_id', 'event_id', 'status'])
    const filters = readChoices(page.filters, { status: deliveryStatuses })
    const { subscription_id: subscriptionId, event_id: eventId, status } = filters
    const { direction, position } = page
    const query = { accountId, subscriptionId, eventId, status, direction, position, limit: page.size + 1 }
    const client = asClient(context, clientId)
    // The public contract has a row for each attempt.
    if (context.dialect === 'public') {
      const { rows, pagination } = pageOf(context, page, await listAttempts(client, context, query))
      return c.json({ deliveries: rows, pagination })
    }
    const { rows, pagination } = pageOf(context, page, await listDeliveries(client, context, query))
    return c.json({ deliveries: rows.map(deliveryView), pagination })
  })

  app.get('/accounts/:account_id/webhooks/deliveries/:delivery_id/attempts', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'webhooks:read')
    const deliveryId = c.req.param('delivery_id')
    const client = asClient(context, clientId)
    if (!/^[0-9]{1,18}$/.test(deliveryId) || !(await hasDelivery(client, context, accountId, deliveryId)))
      throw notFound('delivery')
    const query = { accountId, deliveryId, limit: mostAttempts }
    return c.json({ attempts: await listAttemptsOfDelivery(client, context, query) })
  })

  // Behind the paths that have a name in its place.
  app.get('/accounts/:account_id/webhooks/:subscription_id', (c) => readOne(c, context))

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

  app.get(path, (c) => readOne(c, context))

  app.patch(path, async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'webhooks:write')
    const subscriptionId = subscriptionIdOf(c)
    const body = await readJson(c)
    const changed = await inSpellingOf(body, () =>
      inClientTransaction(context, clientId, (tx) => changeWebhook(tx, context, accountId, subscriptionId, body)),
    )
    return c.json(webhookView(context, found(changed)))
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
    return createIdempotently(c, context, options, ({ accountId }) => async (tx) => {
      const { secret, ...webhook } = found(await rotateWebhookSecret(tx, context, accountId, subscriptionIdOf(c)))
      return { ...webhookView(context, webhook), ...secretView(secret) }
    })
  })
}

async function readOne(c: ServiceRequest, context: ServiceContext): Promise<Response> {
  const { accountId, clientId } = await requireAccount(c, context, 'webhooks:read')
  const webhook = await findWebhook(asClient(context, clientId), context, accountId, subscriptionIdOf(c))
  return c.json(webhookView(context, found(webhook)))
}

function subscriptionIdOf(c: ServiceRequest): string {
  return idOf(c, 'subscription_id', 'webhook')
}

function idOf(c: ServiceRequest, parameter: string, noun: string): string {
  const id = c.req.param(parameter) ?? ''
  if (!isId(id)) throw notFound(noun)
  return id
}

function found<Webhook extends WebhookRow>(webhook: Webhook | undefined): Webhook {
  if (webhook === undefined) throw notFound('webhook')
  return webhook
}
