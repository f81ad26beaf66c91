import type { Policy, PolicyVersion } from '@outlay/core'
import { z } from 'zod'
import { component } from '../component.ts'
import type { ConsoleContext } from '../context.ts'
import { notFound } from '../http/problem.ts'
import { foreignText } from '../redaction.ts'
import { route } from '../routing/route.ts'
import { reasonSchema } from '../transfers/actions.ts'
import { restoreHidden, viewPolicies } from './hidden-texts.ts'
import { inList } from './in-list.ts'

const policiesSchema = component(
  'Policies',
  z.object({
    version: z.int().meta({ description: 'Counts up from 1; 0 where none were ever set.' }),
    policies: z.array(z.record(z.string(), z.unknown())).meta({
      description:
        'As `policies.set` of the engine takes them. What is not shown of a text stays as it is where it is given back.',
    }),
    setAt: z.string().nullable(),
    actor: z.string().nullable(),
    reason: foreignText.nullable(),
  }),
)

const view = (found: PolicyVersion, { shownMetadata }: ConsoleContext) => ({
  ...found,
  policies: viewPolicies(found.policies, shownMetadata),
})

const showPolicies = route({
  id: 'showPolicies',
  tag: 'Policies',
  method: 'get',
  path: '/policies',
  summary: 'The policies, or an earlier version of them',
  permission: 'read',
  about: 'all',
  query: z.strictObject({ version: z.coerce.number().int().min(0).max(2_147_483_647).optional() }),
  answer: policiesSchema,
  async handle({ context, query: { version } }) {
    const found = await context.reads.policies.get({ version })
    if (found === undefined) throw notFound()
    return view(found, context)
  },
})

const setPolicies = route({
  id: 'setPolicies',
  tag: 'Policies',
  method: 'put',
  path: '/policies',
  summary: 'Replaces all policies; what is held keeps its holds',
  permission: 'configure',
  about: 'all',
  body: component(
    'PoliciesRequest',
    z.strictObject({
      reason: reasonSchema,
      expectedVersion: z.int().min(0).meta({ description: 'The version that these replace: another one is refused.' }),
      policies: z.array(z.record(z.string(), z.unknown())).max(1_000),
      clear: z.boolean().optional().meta({ description: 'True where the list is empty: nothing is held any more.' }),
    }),
  ),
  answer: policiesSchema,
  handle: ({ context, person, body: { policies, reason, expectedVersion, clear } }) =>
    context.act(person.actor, async (tx, record) => {
      const note = { actor: person.actor, reason, expectedVersion, clear }
      // That version never changes, and where it is not the last one, nothing is set.
      const replaced = (await context.engine.policies.get({ version: expectedVersion, tx }))?.policies ?? []
      const restored = restoreHidden(policies, replaced, context.shownMetadata)
      const { version } = await inList(
        'policies',
        () => context.engine.policies.set(tx, restored.policies as unknown as readonly Policy[], note),
        restored.issues,
      )
      await record({ command: 'policies.set', reason, after: { version } })
      const found = await context.engine.policies.get({ tx })
      if (found === undefined) throw notFound()
      return view(found, context)
    }),
})

/** Reads and changes of policies. */
export const policyRoutes = [showPolicies, setPolicies] as const
