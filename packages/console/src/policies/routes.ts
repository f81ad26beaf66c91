import type { Policy, PolicyVersion } from '@outlay/core'
import { z } from 'zod'
import { component } from '../component.ts'
import { notFound } from '../http/problem.ts'
import { foreignText, redactFree } from '../redaction.ts'
import { type Route, route } from '../routing/route.ts'
import { reasonSchema } from '../transfers/actions.ts'

const policiesSchema = component(
  'Policies',
  z.object({
    version: z.int().meta({ description: 'Counts up from 1; 0 where none were ever set.' }),
    policies: z
      .array(z.record(z.string(), z.unknown()))
      .meta({ description: 'As `policies.set` of the engine takes them.' }),
    setAt: z.string().nullable(),
    actor: z.string().nullable(),
    reason: foreignText.nullable(),
  }),
)

const view = (found: PolicyVersion) => ({ ...found, policies: redactFree(found.policies) })

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
    return view(found)
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
      const { version } = await context.engine.policies.set(tx, policies as unknown as readonly Policy[], note)
      await record({ command: 'policies.set', reason, after: { version } })
      const found = await context.engine.policies.get({ tx })
      if (found === undefined) throw notFound()
      return view(found)
    }),
})

/** Reads and changes of policies. */
export const policyRoutes: readonly Route[] = [showPolicies, setPolicies]
