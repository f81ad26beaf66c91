import { OutlayError, Policy } from '@outlay/core'
import { z } from 'zod'
import { component } from '../component.ts'
import type { ConsoleContext } from '../context.ts'
import { foreignText } from '../redaction.ts'
import { route } from '../routing/route.ts'
import { draftSchema, readDraft } from './given.ts'
import { inList } from './in-list.ts'

/** Most broken rules in one answer. */
const mostErrors = 200

/** What is wrong with a draft. */
export const checkSchema = component(
  'DraftCheck',
  z.object({
    errors: z
      .array(
        z.object({
          field: z.string().meta({ description: 'Such as `policies.0.when.amounts.USD.from`.' }),
          detail: foreignText,
        }),
      )
      .max(mostErrors)
      .meta({ description: 'Every rule that is broken; none where the engine would take it.' }),
  }),
)

/**
 * Judges a draft in several ways, and answers with every rule that it breaks.
 * @throws what a judge throws without saying which rules are broken
 */
export async function findErrors(...judges: readonly (() => unknown)[]): Promise<z.output<typeof checkSchema>> {
  const errors = []
  for (const judge of judges) {
    try {
      await judge()
    } catch (error) {
      if (!OutlayError.is(error) || error.issues.length === 0) throw error
      errors.push(...error.issues.map(({ field, message }) => ({ field, detail: message })))
    }
  }
  return { errors: errors.slice(0, mostErrors) }
}

/**
 * Judges whether the database has what the policies ask for.
 * @throws OutlayError with every condition for which it has not, such as `policies.0.when.lookalike`
 */
async function checkPrepared({ policies }: z.output<typeof draftSchema>, { inspection }: ConsoleContext) {
  const [first, ...others] = Policy.findUnprepared(policies)
  if (first === undefined || (await inspection.arePoliciesPrepared())) return
  await inList('policies', () => Promise.reject(OutlayError.fromIssues([first, ...others])))
}

const names = z.array(z.string())

const showChoices = route({
  id: 'showPolicyChoices',
  tag: 'Policies',
  method: 'get',
  path: '/policies/choices',
  summary: 'What the members of a policy may be, for a form',
  permission: 'read',
  about: 'all',
  answer: component(
    'PolicyChoices',
    z.object({
      currencies: names.meta({ description: 'Those that a transfer can move, or that something that moves is worth.' }),
      ...{ flows: names, rails: names, days: names, newCounterparty: names },
      zones: names.meta({ description: 'IANA names of time zones; others that the server knows are taken, too.' }),
      mostDays: z.int().meta({ description: 'Most days that `lookalike` may ask for.' }),
      mostSteps: z.int().meta({ description: 'Most steps of approvals.' }),
      mostApprovals: z.int().meta({ description: 'Most approvals of one step.' }),
    }),
  ),
  handle: async ({ context }) => Policy.choices(context.catalog),
})

const checkPolicies = route({
  id: 'checkPolicies',
  tag: 'Policies',
  method: 'post',
  path: '/policies/check',
  summary:
    'Which members of policies break a rule, or need indexes that the database does not have yet; nothing is set',
  permission: 'configure',
  about: 'all',
  body: draftSchema,
  answer: checkSchema,
  handle: ({ context, body }) =>
    findErrors(
      () => readDraft(body, context),
      () => checkPrepared(body, context),
    ),
})

/** What a form of policies asks while somebody writes. */
export const policyChecks = [showChoices, checkPolicies] as const
