import { Limits, webhookEventTypes } from '@outlay/core'
import { z } from 'zod'
import { component, lastPage } from '../schema/component.ts'
import { type Dialect, dialects } from '../schema/dialect.ts'
import type { Operation } from '../schema/operation.ts'
import { idSchema, pageParameters, paginationSchema, sample, timestampSchema } from '../schema/primitive.ts'
import { newWebhookSchema, webhookChangeSchema } from './registrations.ts'

const newWebhook = component('NewWebhook', newWebhookSchema, {
  description:
    'The URL to notify, and of which events. `event_types`, or `events`, accepts types, `noun.*` and `*`. Default: `*`.',
  examples: [{ url: 'https://acme.example/webhooks', event_types: ['transfer.*'] }],
})

const webhookChange = component('WebhookChange', webhookChangeSchema, {
  description: 'Disabling a webhook cancels its pending deliveries.',
  examples: [{ status: 'disabled' }],
})

/** The members of a webhook, whose status has another word in the public dialect. */
const membersOf = (inactive: 'disabled' | 'archived') => ({
  id: idSchema,
  account_id: idSchema,
  url: z.string(),
  event_types: z.array(z.string()),
  events: z.array(z.string()).meta({ description: 'The same as `event_types`.' }),
  status: z.enum(['active', inactive]),
  disabled_reason: z.string().nullable().meta({ description: 'Why the service disabled it.' }),
  created: timestampSchema,
  updated: timestampSchema,
})
const example = {
  id: sample.webhookId,
  account_id: sample.accountId,
  url: 'https://acme.example/webhooks',
  event_types: ['transfer.*'],
  events: ['transfer.*'],
  status: 'active',
  disabled_reason: null,
  created: sample.time,
  updated: sample.time,
}
const secrets = {
  secret: z.string().meta({ description: 'Signing key for Standard Webhooks. Shown only in this answer.' }),
  sharedSecret: z.string().meta({ description: 'The octets of the same key in base64url.' }),
}
const secretExample = {
  secret: 'whsec_c2VjcmV0IG9mIHRoZSBleGFtcGxl',
  sharedSecret: 'c2VjcmV0IG9mIHRoZSBleGFtcGxl',
}

/** The schemas of webhooks in a dialect; those of the public one have names of their own. */
function webhookSchemasOf(dialect: Dialect) {
  const prefix = dialect === 'public' ? 'Public' : ''
  const members = membersOf(dialect === 'public' ? 'archived' : 'disabled')
  const one = component(`${prefix}Webhook`, z.object(members), {
    description: 'A URL that receives events.',
    examples: [example],
  })
  const created = component(`${prefix}CreatedWebhook`, z.object({ ...members, ...secrets }), {
    description: 'A new webhook with its secret.',
    examples: [{ ...example, ...secretExample }],
  })
  const until = timestampSchema.meta({ description: 'Until then, the previous key signs too.' })
  const rotated = component(
    `${prefix}RotatedWebhook`,
    z.object({ ...members, ...secrets, previous_secret_until: until }),
    {
      description: 'A webhook with its new secret.',
      examples: [{ ...example, ...secretExample, previous_secret_until: sample.time }],
    },
  )
  const list = component(`${prefix}WebhookList`, z.object({ webhooks: z.array(one), subscriptions: z.array(one) }), {
    description: 'The webhooks of an account, oldest first, under both names.',
    examples: [{ webhooks: [example], subscriptions: [example] }],
  })
  return { one, created, rotated, list }
}

const eventTypesSchema = component('EventTypes', z.object({ event_types: z.array(z.enum(webhookEventTypes)) }), {
  description: 'Event types to subscribe to.',
  examples: [{ event_types: webhookEventTypes }],
})

const summarizedTypesSchema = component(
  'SummarizedEventTypes',
  z.object({ event_types: z.array(z.object({ event_type: z.enum(webhookEventTypes), summary: z.string() })) }),
  {
    description: 'Event types to subscribe to, and what each is about.',
    examples: [{ event_types: [{ event_type: 'transfer.canceled', summary: 'A transfer was canceled.' }] }],
  },
)

const deliveryExample = {
  id: '42',
  subscription_id: sample.webhookId,
  event_id: sample.eventId,
  event_type: 'transfer.completed',
  status: 'delivered',
  attempts: 1,
  attempt_number: 1,
  last_status: 204,
  status_code: 204,
  last_error: null,
  last_attempt_at: sample.time,
  next_attempt_at: null,
  created: sample.time,
}

const deliverySchema = component(
  'Delivery',
  z.object({
    id: z.string(),
    subscription_id: idSchema,
    event_id: idSchema,
    event_type: z.string(),
    status: z.enum(['pending', 'delivered', 'failed', 'canceled']),
    attempts: z.int().min(0),
    attempt_number: z.int().min(0).meta({ description: 'The same as `attempts`.' }),
    last_status: z.int().nullable().meta({ description: 'HTTP status of the last answer.' }),
    status_code: z.int().nullable().meta({ description: 'The same as `last_status`.' }),
    last_error: z.string().nullable(),
    last_attempt_at: timestampSchema.nullable(),
    next_attempt_at: timestampSchema.nullable(),
    created: timestampSchema,
  }),
  { description: 'The delivery of one event to one webhook.', examples: [deliveryExample] },
)

const attemptExample = {
  id: '57',
  delivery_id: '42',
  subscription_id: sample.webhookId,
  event_id: sample.eventId,
  event_type: 'transfer.completed',
  status: 'failed',
  attempt_number: 1,
  status_code: 503,
  error: 'The endpoint answered 503.',
  created: sample.time,
}

const attemptSchema = component(
  'DeliveryAttempt',
  z.object({
    id: z.string(),
    delivery_id: z.string(),
    subscription_id: idSchema,
    event_id: idSchema,
    event_type: z.string(),
    status: z.enum(['delivered', 'failed']),
    attempt_number: z.int().min(1),
    status_code: z.int().nullable().meta({ description: 'HTTP status of the answer; null when there was none.' }),
    error: z.string().nullable(),
    created: timestampSchema,
  }),
  { description: 'An attempt of a delivery whose result is known.', examples: [attemptExample] },
)

const attemptsSchema = component('DeliveryAttempts', z.object({ attempts: z.array(attemptSchema) }), {
  description: 'The attempts of a delivery whose results are known, newest first.',
  examples: [{ attempts: [attemptExample] }],
})

const deliveryListSchema = component(
  'DeliveryList',
  z.object({ deliveries: z.array(deliverySchema), pagination: paginationSchema }),
  {
    description: 'One page of deliveries, newest first.',
    examples: [{ deliveries: [deliveryExample], pagination: lastPage }],
  },
)

const attemptListSchema = component(
  'DeliveryAttemptList',
  z.object({ deliveries: z.array(attemptSchema), pagination: paginationSchema }),
  {
    description: 'One page of attempts, newest first.',
    examples: [{ deliveries: [attemptExample], pagination: lastPage }],
  },
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

const filters = {
  subscription_id: z.string().optional().meta({ description: 'Deliveries to one webhook.' }),
  event_id: z.string().optional().meta({ description: 'Deliveries of one event.' }),
  ...pageParameters,
}

/** The operations whose answers differ by dialect. */
function operationsIn(dialect: Dialect): readonly Operation[] {
  const { one, created, rotated, list } = webhookSchemasOf(dialect)
  const write = { dialect, tag: 'Webhooks', access: 'webhooks:write' } as const
  return [
    {
      ...write,
      id: 'createWebhook',
      method: 'post',
      path: base,
      summary: 'Register a webhook',
      description: `A URL is registered once for an account. An account has at most ${Limits.webhooksPerAccount} webhooks, disabled ones included.`,
      keyed: true,
      body: { schema: newWebhook, check: 'route' },
      answers: { 201: { description: 'The webhook with its secret.', schema: created } },
    },
    {
      ...read,
      dialect,
      id: 'listWebhooks',
      path: base,
      summary: 'List the webhooks of an account',
      description: 'Also those that are disabled. The secret is not shown.',
      answers: { 200: { description: 'All webhooks of the account.', schema: list } },
    },
    {
      ...read,
      dialect,
      id: 'getWebhook',
      path: `${base}/subscriptions/:subscription_id`,
      summary: 'Read a webhook',
      description: 'The secret is not shown.',
      answers: { 200: { description: 'The webhook.', schema: one } },
    },
    {
      ...read,
      dialect,
      id: 'getWebhookById',
      path: `${base}/:subscription_id`,
      summary: 'Read a webhook, at the shorter path',
      description: 'The same as below `subscriptions`.',
      answers: { 200: { description: 'The webhook.', schema: one } },
    },
    {
      ...write,
      id: 'changeWebhook',
      method: 'patch',
      path: `${base}/subscriptions/:subscription_id`,
      summary: 'Change a webhook',
      description: 'Changes the URL, the events or the status.',
      conflicts: true,
      body: { schema: webhookChange, check: 'route' },
      answers: { 200: { description: 'The webhook.', schema: one } },
    },
    {
      ...write,
      id: 'rotateWebhookSecret',
      method: 'post',
      path: `${base}/subscriptions/:subscription_id/rotate`,
      summary: 'Replace the secret of a webhook',
      description: 'For 24 hours, the new secret and the previous one both sign deliveries. The request has no body.',
      keyed: true,
      answers: { 201: { description: 'The webhook with its new secret.', schema: rotated } },
    },
  ]
}

/** Operations on webhooks. Specification: "Events". */
export const webhooksOperations: readonly Operation[] = [
  ...dialects.flatMap(operationsIn),
  {
    ...read,
    dialect: 'specification',
    id: 'listEventTypes',
    path: `${base}/event_types`,
    summary: 'List the types of events',
    description: 'A webhook asks for one of them, for those of a noun, or for all.',
    answers: { 200: { description: 'All event types.', schema: eventTypesSchema } },
  },
  {
    ...read,
    dialect: 'public',
    id: 'listEventTypes',
    path: `${base}/event_types`,
    summary: 'List the types of events',
    description: 'A webhook asks for one of them, for those of a noun, or for all.',
    answers: { 200: { description: 'All event types.', schema: summarizedTypesSchema } },
  },
  {
    ...read,
    dialect: 'specification',
    id: 'listDeliveries',
    path: `${base}/deliveries`,
    summary: 'List deliveries',
    description: 'Newest first.',
    query: {
      ...filters,
      status: z
        .string()
        .optional()
        .meta({ description: 'One of pending, delivered, failed, canceled; others are refused.' }),
    },
    answers: { 200: { description: 'A page.', schema: deliveryListSchema } },
  },
  {
    ...read,
    dialect: 'public',
    id: 'listDeliveries',
    path: `${base}/deliveries`,
    summary: 'List attempts of deliveries',
    description: 'Newest first.',
    query: { ...filters, status: z.string().optional().meta({ description: 'delivered or failed.' }) },
    answers: { 200: { description: 'A page.', schema: attemptListSchema } },
  },
  {
    ...read,
    id: 'listDeliveryAttempts',
    path: `${base}/deliveries/:delivery_id/attempts`,
    summary: 'List the attempts of a delivery',
    description: 'With what the endpoint answered to each. An attempt whose result is not known yet is not there.',
    answers: { 200: { description: 'Its attempts.', schema: attemptsSchema } },
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
    id: 'removeWebhook',
    method: 'delete',
    path: `${base}/subscriptions/:subscription_id`,
    tag: 'Webhooks',
    summary: 'Remove a webhook',
    description: 'Nothing more is sent to its URL, and the log of its deliveries is gone.',
    access: 'webhooks:write',
    answers: { 204: { description: 'The webhook and its deliveries are deleted.' } },
  },
]
