import { z } from 'zod'
import { component } from '../component.ts'
import { route } from '../routing/route.ts'
import { compact } from '../transfers/filter.ts'
import { accountsOf } from '../transfers/search.ts'

const moment = z.iso.datetime({ offset: true })
const text = z.string().min(1).max(255)

const latencySchema = component(
  'Latency',
  z.object({
    p50Ms: z.number().nullable().meta({ description: 'Milliseconds that half of them needed at most; null for none.' }),
    p95Ms: z.number().nullable(),
    count: z.int(),
  }),
)

const bucketSchema = component(
  'StatsBucket',
  z.object({
    at: z.string().meta({ description: 'When the hour or day of UTC began.' }),
    gateway: z.string().nullable().meta({ description: 'That of the query; null for all together.' }),
    enqueued: z.int(),
    completed: z.int(),
    failed: z.int(),
    canceled: z.int(),
    blocked: z.int().meta({ description: 'How often a transfer came to a person because its outcome is in doubt.' }),
    value: z.array(z.object({ currency: z.string(), enqueued: z.string(), completed: z.string() })),
    toAccepted: latencySchema,
    toFinal: latencySchema,
  }),
)

const showStats = route({
  id: 'showStats',
  tag: 'Operations',
  method: 'get',
  path: '/stats',
  summary: 'What was enqueued and ended, by hour or day, from counts that workers keep',
  permission: 'read',
  about: 'accounts',
  query: z.strictObject({
    from: moment.optional().meta({ description: 'In the first hour or day. Default: the last 48 hours, or 30 days.' }),
    to: moment.optional().meta({ description: 'Behind the last one. Default: now.' }),
    step: z.enum(['hour', 'day']).optional().meta({ description: 'Default `hour`; at most 60 days of them.' }),
    gateway: text.optional().meta({ description: 'Default: all together.' }),
    accountId: text.optional(),
  }),
  answer: component(
    'Stats',
    z.object({
      data: z.array(bucketSchema),
      step: z.enum(['hour', 'day']),
      from: z.string(),
      to: z.string(),
      rolledUpTo: z.string().nullable().meta({ description: 'What was committed later is not counted yet.' }),
    }),
  ),
  async handle({ context, subject, query: { accountId, ...query } }) {
    const accountIds = accountsOf(subject, { accountId }).filter((one) => one !== undefined)
    return context.reads.stats(compact({ ...query, accountIds: accountIds.length === 0 ? undefined : accountIds }))
  },
})

/** Counts of transfers by time. */
export const statsRoutes = [showStats] as const
