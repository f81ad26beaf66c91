import { Limits, webhookEventTypes } from '@outlay/core'
import { z } from 'zod'
import { component } from '../schema/component.ts'
import type { Operation } from '../schema/operation.ts'
import { idSchema, pageParameters, paginationSchema, sample, timestampSchema } from '../schema/primitive.ts'
import { newWebhookSchema, webhookChangeSchema } from './registrations.ts'

const newWebhook = component('NewWebhook', newWebhookSchema, {
  description: 'The URL to notify, and of which events. `event_types` accepts types, `noun.*` and `*`. Default: `*`.',
  examples: [{ url: 'https://acme.example/webhooks', event_types: ['transfer.*'] }],
})

const webhookChange = component('WebhookChange', webhookChangeSchema, {
  description: 'Disabling a webhook cancels its pending deliveries.',
  examples: [{ status: 'disabled' }],
})

const members = {
  id: idSchema,
  account_id: idSchema,
  url: z.string(),
  event_types: z.array(z.string()),
  status: z.enum(['active', 'disabled']),
  disabled_reason: z.string().nullable().meta({ description: 'Why the service disabled it.' }),
  created: timestampSchema,
  updated: timestampSchema,
}
const example = {
  id: sample.webhookId,
  account_id: sample.accountId,
  url: 'https://acme.example/webhooks',
  event_types: ['transfer.*'],
  status: 'active',
  disabled_reason: null,
  created: sample.time,
  updated: sample.time,
}

const webhookSchema = component('Webhook', z.object(members), {
  description: 'A URL that receives events.',
  examples: [example],
})

const createdWebhookSchema = component(
  'CreatedWebhook',
  z.object({ ...members, secret: z.string().meta({ description: 'Signing key. Shown only in this answer.' }) }),
  {
    description: 'A new webhook with its secret.',
    examples: [{ ...example, secret: 'whsec_c2VjcmV0IG9mIHRoZSBleGFtcGxl' }],
  },
)

const rotatedWebhookSchema = component(
  'RotatedWebhook',
  z.object({
    ...members,
    secret: z.string().meta({ description: 'The new signing key. Shown only in this answer.' }),
    previous_secret_until: timestampSchema.meta({ description: 'Until then, the previous key signs too.' }),
  }),
  {
    description: 'A webhook with its new secret.',
    examples: [{ ...example, secret: 'whsec_c2VjcmV0IG9mIHRoZSBleGFtcGxl', previous_secret_until: sample.time }],
  },
)

const webhookListSchema = component('WebhookList', z.object({ webhooks: z.array(webhookSchema) }), {
  description: 'The webhooks of an account, oldest first.',
})

const eventTypesSchema = component('EventTypes', z.object({ event_types: z.array(z.enum(webhookEventTypes)) }), {
  description: 'Event types to subscribe to.',
  examples: [{ event_types: webhookEventTypes }],
})

const deliverySchema = component(
  'Delivery',
  z.object({
    id: z.string(),
    subscription_id: idSchema,
    event_id: idSchema,
    event_type: z.string(),
    status: z.enum(['pending', 'delivered', 'failed', 'canceled']),
    attempts: z.int().min(0),
    last_status: z.int().nullable().meta({ description: 'HTTP status of the last answer.' }),
    last_error: z.string().nullable(),
    last_attempt_at: timestampSchema.nullable(),
    next_attempt_at: timestampSchema.nullable(),
    created: timestampSchema,
  }),
  {
    description: 'The delivery of one event to one webhook.',
    examples: [
      {
        id: '42',
        subscription_id: sample.webhookId,
        event_id: sample.eventId,
        event_type: 'transfer.completed',
        status: 'delivered',
        attempts: 1,
        last_status: 204,
        last_error: null,
        last_attempt_at: sample.time,
        next_attempt_at: null,
        created: sample.time,
      },
    ],
  },
)

const deliveryListSchema = component(
  'DeliveryList',
  z.object({ deliveries: z.array(deliverySchema), pagination: paginationSchema }),
  { description: 'One page of deliveries, newest first.' },
)

const resentSchema = component('Resent', z.object({ event_id: idSchema, deliveries: z.int().min(0) }), {
  description: 'How many webhooks receive the event again.',
  examples: [{ event_id: sample.eventId, deliveries: 1 }],
})

/** The payload of a webhook. Specification: "Events". */
export const eventSchema = component(
  'Event',
  z.object({
    id: idSchema,
    type: z.enum(webhookEventTypes),
    created: timestampSchema,
    data: z.record(z.string(), z.unknown()).meta({ description: 'The resource, as the API returns it.' }),
  }),
  {
    description: 'A change to a resource of an account. An event may arrive more than once, with the same id.',
    examples: [
      { id: sample.eventId, type: 'transfer.completed', created: sample.time, data: { id: sample.transferId } },
    ],
  },
)

const base = '/accounts/:account_id/webhooks'
const read = { method: 'get', tag: 'Webhooks', access: 'webhooks:read' } as const

/** Operations on webhooks. Specification: "Events". */
export const webhooksOperations: readonly Operation[] = [
  {
    id: 'createWebhook',
    method: 'post',
    path: base,
    tag: 'Webhooks',
    summary: 'Register a webhook',
    description: `A URL is registered once for an account. An account has at most ${Limits.webhooksPerAccount} webhooks, disabled ones included.`,
    access: 'webhooks:write',
    keyed: true,
    body: { schema: newWebhook, check: 'route' },
    answers: { 201: { description: 'The webhook with its secret.', schema: createdWebhookSchema } },
  },
  {
    ...read,
    id: 'listWebhooks',
    path: base,
    summary: 'List the webhooks of an account',
    answers: { 200: { description: 'All webhooks of the account.', schema: webhookListSchema } },
  },
  {
    ...read,
    id: 'listEventTypes',
    path: `${base}/event_types`,
    summary: 'List the types of events',
    answers: { 200: { description: 'All event types.', schema: eventTypesSchema } },
  },
  {
    ...read,
    id: 'listDeliveries',
    path: `${base}/deliveries`,
    summary: 'List deliveries',
    query: {
      subscription_id: z.string().optional().meta({ description: 'Deliveries to one webhook.' }),
      event_id: z.string().optional().meta({ description: 'Deliveries of one event.' }),
      status: z.string().optional().meta({ description: 'One of pending, delivered, failed, canceled.' }),
      ...pageParameters,
    },
    answers: { 200: { description: 'A page.', schema: deliveryListSchema } },
  },
  {
    id: 'resendEvent',
    method: 'post',
    path: `${base}/events/:event_id/resend`,
    tag: 'Webhooks',
    summary: 'Send an event again',
    description: 'The service sends it to every webhook that subscribes to its type now.',
    access: 'webhooks:write',
    answers: { 202: { description: 'The deliveries are queued.', schema: resentSchema } },
  },
  {
    ...read,
    id: 'getWebhook',
    path: `${base}/subscriptions/:subscription_id`,
    summary: 'Read a webhook',
    answers: { 200: { description: 'The webhook.', schema: webhookSchema } },
  },
  {
    id: 'changeWebhook',
    method: 'patch',
    path: `${base}/subscriptions/:subscription_id`,
    tag: 'Webhooks',
    summary: 'Change a webhook',
    access: 'webhooks:write',
    conflicts: true,
    body: { schema: webhookChange, check: 'route' },
    answers: { 200: { description: 'The webhook.', schema: webhookSchema } },
  },
  {
    id: 'removeWebhook',
    method: 'delete',
    path: `${base}/subscriptions/:subscription_id`,
    tag: 'Webhooks',
    summary: 'Remove a webhook',
    access: 'webhooks:write',
    answers: { 204: { description: 'The webhook and its deliveries are deleted.' } },
  },
  {
    id: 'rotateWebhookSecret',
    method: 'post',
    path: `${base}/subscriptions/:subscription_id/rotate`,
    tag: 'Webhooks',
    summary: 'Replace the secret of a webhook',
    description: 'For 24 hours, the new secret and the previous one both sign deliveries. The request has no body.',
    access: 'webhooks:write',
    keyed: true,
    answers: { 201: { description: 'The webhook with its new secret.', schema: rotatedWebhookSchema } },
  },
]
