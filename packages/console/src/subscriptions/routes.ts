import { z } from 'zod'
import { component } from '../component.ts'
import type { ConsoleContext } from '../context.ts'
import { notFound } from '../http/problem.ts'
import { foreignText } from '../redaction.ts'
import { route } from '../routing/route.ts'
import { reasonSchema } from '../transfers/actions.ts'
import { limitSchema } from '../transfers/filter.ts'

const nullableText = z.string().nullable()
const text = z.string().min(1).max(255)

const subscriptionSchema = component(
  'Subscription',
  z.object({
    name: z.string(),
    types: z.array(z.string()),
    undelivered: z.int(),
    failing: z.int(),
    deadLetters: z.int(),
    oldestAt: nullableText,
    lagMs: z.number().nullable(),
    lastError: foreignText.nullable(),
    unattendedMs: z.number(),
  }),
)

const listSubscriptions = route({
  id: 'listSubscriptions',
  tag: 'Subscriptions',
  method: 'get',
  path: '/subscriptions',
  summary: 'Every subscription and how far it is behind',
  permission: 'read',
  about: 'all',
  answer: component('Subscriptions', z.object({ subscriptions: z.array(subscriptionSchema) })),
  handle: async ({ context }) => ({ subscriptions: await context.inspection.subscriptions() }),
})

const deadLetterSchema = component(
  'DeadLetter',
  z.object({
    subscription: z.string(),
    transferId: z.string(),
    sequence: z.int(),
    type: z.string(),
    occurredAt: z.string(),
    failures: z.int(),
    lastError: foreignText.nullable(),
  }),
)

const listDeadLetters = route({
  id: 'listDeadLetters',
  tag: 'Subscriptions',
  method: 'get',
  path: '/dead-letters',
  summary: 'Events whose handler failed too often, the oldest first',
  permission: 'read',
  about: 'all',
  query: z.strictObject({ subscription: text.optional(), transferId: text.optional(), limit: limitSchema }),
  answer: component('DeadLetters', z.object({ deadLetters: z.array(deadLetterSchema) })),
  handle: async ({ context, query: { limit = 50, ...filter } }) => ({
    deadLetters: await context.inspection.deadLetters(filter, limit),
  }),
})

const replayDeadLetters = route({
  id: 'replayDeadLetters',
  tag: 'Subscriptions',
  method: 'post',
  path: '/subscriptions/:subscription/replay',
  summary: 'Returns the dead letters of a subscription to delivery, of one transfer or all',
  permission: 'act',
  about: 'all',
  body: component('Replay', z.strictObject({ reason: reasonSchema, transferId: text.optional() })),
  answer: component('Replayed', z.object({ replayed: z.int() })),
  async handle({ context, person, params, body: { reason, transferId } }) {
    const subscription = await requireSubscription(context, params)
    return context.act(person.actor, async (tx, record) => {
      const by = { actor: person.actor, reason }
      const replayed = await context.inspection.replayDeadLetters(tx, subscription, transferId, by)
      if (replayed > 0)
        await record({ command: 'subscriptions.replay', reason, transferId, after: { subscription, replayed } })
      return { replayed }
    })
  },
})

const removeSubscription = route({
  id: 'removeSubscription',
  tag: 'Subscriptions',
  method: 'post',
  path: '/subscriptions/:subscription/remove',
  summary: 'Removes a stored subscription that no process attends any more, or types of it',
  permission: 'configure',
  about: 'all',
  body: component(
    'SubscriptionRemoval',
    z.strictObject({
      reason: reasonSchema,
      types: z.array(text).min(1).max(100).optional(),
      discard: z.boolean().optional().meta({ description: 'Deletes its undelivered events. Default false.' }),
    }),
  ),
  answer: component('RemovedSubscription', z.object({ removed: z.boolean(), discarded: z.int() })),
  async handle({ context, person, params, body: { reason, types, discard } }) {
    const subscription = await requireSubscription(context, params)
    return context.act(person.actor, async (tx, record) => {
      const done = await context.engine.unsubscribe(tx, subscription, { types, discard, actor: person.actor, reason })
      const after = { subscription, types: types ?? null, discarded: done.discarded }
      if (done.removed) await record({ command: 'subscriptions.remove', reason, after })
      return done
    })
  },
})

async function requireSubscription(
  { inspection }: ConsoleContext,
  { subscription = '' }: Readonly<Record<string, string>>,
): Promise<string> {
  const known = await inspection.subscriptions()
  if (!known.some(({ name }) => name === subscription)) throw notFound()
  return subscription
}

/** Reads and actions of subscriptions. */
export const subscriptionRoutes = [listSubscriptions, listDeadLetters, replayDeadLetters, removeSubscription] as const
