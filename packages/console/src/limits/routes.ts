import { type LimitVersion, SumLimit } from '@outlay/core'
import { z } from 'zod'
import { component } from '../component.ts'
import { notFound } from '../http/problem.ts'
import { checkSchema, findErrors } from '../policies/check.ts'
import { inList } from '../policies/in-list.ts'
import { foreignText } from '../redaction.ts'
import { route } from '../routing/route.ts'
import { reasonSchema } from '../transfers/actions.ts'

const names = z.array(z.string())

const limitsSchema = component(
  'Limits',
  z.object({
    version: z.int().meta({ description: 'Counts up from 1; 0 where none were ever set.' }),
    limits: z
      .array(z.record(z.string(), z.unknown()))
      .meta({ description: 'As `limits.set` of the engine takes them.' }),
    setAt: z.string().nullable(),
    actor: z.string().nullable(),
    reason: foreignText.nullable(),
  }),
)

const view = ({ limits, ...others }: LimitVersion) => ({
  ...others,
  limits: limits.map((one) => ({ ...one }) as Readonly<Record<string, unknown>>),
})

const showLimits = route({
  id: 'showLimits',
  tag: 'Limits',
  method: 'get',
  path: '/limits',
  summary: 'The limits on sums, or an earlier version of them',
  permission: 'read',
  about: 'all',
  query: z.strictObject({ version: z.coerce.number().int().min(0).max(2_147_483_647).optional() }),
  answer: limitsSchema,
  async handle({ context, query: { version } }) {
    const found = await context.reads.limits.get({ version })
    if (found === undefined) throw notFound()
    return view(found)
  },
})

const showUses = route({
  id: 'showLimitUses',
  tag: 'Limits',
  method: 'get',
  path: '/limits/uses',
  summary:
    'What is used of the limits in the hours, days and months of now, at most 200: first those that hold something, then those with the least left',
  permission: 'read',
  about: 'all',
  answer: component(
    'LimitUses',
    z.object({
      uses: z.array(
        z.object({
          ...{ limit: z.string(), currency: z.string(), span: z.string(), zone: z.string() },
          of: z.record(z.string(), z.string()).meta({ description: 'Whose sum it is; empty for the whole host.' }),
          used: z.string(),
          most: z.string(),
          remaining: z.string().meta({ description: 'Less than nothing where people let transfers go beyond it.' }),
          until: z.string(),
          held: z.int().meta({ description: 'Transfers that it holds.' }),
          tooLarge: z.int().meta({ description: 'Those of them that wait for somebody who releases them.' }),
        }),
      ),
    }),
  ),
  handle: async ({ context }) => ({ uses: await context.reads.limits.uses({ most: 200 }) }),
})

const setLimits = route({
  id: 'setLimits',
  tag: 'Limits',
  method: 'put',
  path: '/limits',
  summary: 'Replaces all limits on sums; what is held and fits goes some seconds later',
  permission: 'configure',
  about: 'all',
  body: component(
    'LimitsRequest',
    z.strictObject({
      reason: reasonSchema,
      expectedVersion: z.int().min(0).meta({ description: 'The version that these replace: another one is refused.' }),
      limits: z.array(z.record(z.string(), z.unknown())).max(1_000),
      clear: z.boolean().optional().meta({ description: 'True where the list is empty: what limits hold goes then.' }),
    }),
  ),
  answer: limitsSchema,
  handle: ({ context, person, body: { limits, reason, expectedVersion, clear } }) =>
    context.act(person.actor, async (tx) => {
      const note = { actor: person.actor, reason, expectedVersion, clear }
      // The database writes the entry of the audit.
      await inList('limits', () => context.engine.limits.set(tx, limits as unknown as readonly SumLimit[], note))
      const found = await context.engine.limits.get({ tx })
      if (found === undefined) throw notFound()
      return view(found)
    }),
})

const showChoices = route({
  id: 'showLimitChoices',
  tag: 'Limits',
  method: 'get',
  path: '/limits/choices',
  summary: 'What the members of a limit may be, for a form',
  permission: 'read',
  about: 'all',
  answer: component(
    'LimitChoices',
    z.object({
      ...{ currencies: names, spans: names, keys: names },
      zones: names.meta({ description: 'UTC, and IANA names of time zones with their place.' }),
    }),
  ),
  handle: async ({ context }) => SumLimit.choices(context.catalog),
})

const checkLimits = route({
  id: 'checkLimits',
  tag: 'Limits',
  method: 'post',
  path: '/limits/check',
  summary: 'Which members of limits break a rule; nothing is set',
  permission: 'configure',
  about: 'all',
  body: component('LimitDraft', z.strictObject({ limits: z.array(z.record(z.string(), z.unknown())).max(1_000) })),
  answer: checkSchema,
  handle: ({ context, body: { limits } }) =>
    findErrors(() => inList('limits', () => SumLimit.parseAll(limits, context.catalog))),
})

/** Reads and changes of limits on sums. */
export const limitRoutes = [showLimits, showUses, setLimits, showChoices, checkLimits] as const
