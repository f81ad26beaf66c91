import { automationStatuses } from '@outlay/core'
import { z } from 'zod'
import { component, exampleOf } from '../schema/component.ts'
import type { Operation } from '../schema/operation.ts'
import {
  idSchema,
  sample,
  textSchema,
  timestampSchema,
  transferTypeSchema,
  valueTypeSchema,
} from '../schema/primitive.ts'
import { instructionsSchema } from '../transfers/schema.ts'

const automationId = '01K8AVT0MAT10N5R8T1V4W7X0Y'
const destination = { address_id: sample.walletId, value_type: 'USDC', transfer_type: 'base' }

const newDestination = z.object({ address_id: textSchema, value_type: textSchema, transfer_type: textSchema })

const newAutomation = component(
  'NewAutomation',
  z.object({
    name: textSchema,
    source: z.object({ value_type: textSchema.meta({ description: '`USD`.' }) }),
    destination: newDestination.optional().meta({ description: 'Required, unless `destination_address` is there.' }),
    destination_address: newDestination.optional().meta({ description: 'The same as `destination`.' }),
    brand: z
      .object({ account_id: textSchema })
      .nullish()
      .meta({ description: 'The account whose name and address the bank shows as the beneficiary.' }),
  }),
  {
    description: 'A virtual bank account to open, and the destination of its deposits.',
    examples: [{ name: 'Treasury', source: { value_type: 'USD' }, destination }],
  },
)

const changedDestination = z.object({
  address_id: textSchema,
  value_type: textSchema.nullish().meta({ description: 'Only the one that the automation has.' }),
  transfer_type: textSchema.nullish().meta({ description: 'Only the one that the automation has.' }),
})

const automationChange = component(
  'AutomationChange',
  z.object({
    name: textSchema.optional(),
    status: textSchema.optional().meta({ description: '`disabled`, `archived`, or `active` after `disabled`.' }),
    destination: changedDestination
      .nullish()
      .meta({ description: 'Where later deposits go. Only the address changes.' }),
    destination_address: changedDestination.nullish().meta({ description: 'The same as `destination`.' }),
    address_id: textSchema.nullish().meta({ description: 'The same as `destination.address_id`.' }),
  }),
  {
    description: 'Deposits to a disabled or archived automation are returned.',
    examples: [{ status: 'disabled' }, { destination: { address_id: sample.walletId } }],
  },
)

const destinationChange = component('AutomationDestinationChange', z.object({ address_id: textSchema }), {
  description: 'The address that later deposits go to.',
  examples: [{ address_id: sample.walletId }],
})

const destinationSchema = component(
  'AutomationDestination',
  z.object({ address_id: idSchema, value_type: valueTypeSchema, transfer_type: transferTypeSchema }),
  { description: 'Where the deposits go.', examples: [destination] },
)

const automationSchema = component(
  'Automation',
  z.object({
    id: idSchema,
    name: z.string(),
    status: z.enum(automationStatuses),
    source: z.object({
      value_type: valueTypeSchema,
      transfer_type: z.null(),
      funding_instructions: instructionsSchema.nullable().meta({ description: 'Null until the automation is active.' }),
    }),
    destination: destinationSchema,
    destination_address: destinationSchema.meta({ description: 'The same as `destination`.' }),
    brand: z
      .object({ account_id: idSchema })
      .optional()
      .meta({ description: 'Only in the public dialect, and only of an automation that has one.' }),
    created_at: timestampSchema,
    updated_at: timestampSchema,
  }),
  {
    description: 'A virtual bank account whose deposits become transfers.',
    examples: [
      {
        id: automationId,
        name: 'Treasury',
        status: 'pending',
        source: { value_type: 'USD', transfer_type: null, funding_instructions: null },
        destination,
        destination_address: destination,
        created_at: sample.time,
        updated_at: sample.time,
      },
    ],
  },
)

const automationListSchema = component('AutomationList', z.object({ automations: z.array(automationSchema) }), {
  description: 'The automations of an account.',
  examples: [{ automations: [exampleOf(automationSchema)] }],
})

const path = '/accounts/:account_id/automations'
const one = { 200: { description: 'The automation.', schema: automationSchema } }

/** Operations on automations. Specification: "Automations". */
export const automationsOperations: readonly Operation[] = [
  {
    id: 'createAutomation',
    method: 'post',
    path,
    tag: 'Automations',
    summary: 'Create an automation',
    description: 'The automation becomes active, with funding instructions, when its virtual account is open.',
    access: 'automations:write',
    keyed: true,
    body: { schema: newAutomation },
    answers: { 201: { description: 'The pending automation.', schema: automationSchema } },
  },
  {
    id: 'listAutomations',
    method: 'get',
    path,
    tag: 'Automations',
    summary: 'List the automations of an account',
    description: 'Newest first, archived ones included.',
    access: 'automations:read',
    answers: { 200: { description: 'All automations of the account.', schema: automationListSchema } },
  },
  {
    id: 'getAutomation',
    method: 'get',
    path: `${path}/:automation_id`,
    tag: 'Automations',
    summary: 'Read an automation',
    description: 'With funding instructions, once its virtual account is open.',
    access: 'automations:read',
    answers: one,
  },
  {
    id: 'changeAutomation',
    method: 'patch',
    path: `${path}/:automation_id`,
    tag: 'Automations',
    summary: 'Change an automation',
    description:
      'Renames, disables, enables or archives it, or sends its later deposits to another address. Deposits to one that is not active are returned.',
    access: 'automations:write',
    body: { schema: automationChange },
    answers: one,
    conflicts: true,
  },
  {
    id: 'changeAutomationDestination',
    method: 'patch',
    path: `${path}/:automation_id/destination`,
    tag: 'Automations',
    summary: 'Change the destination of an automation',
    description: 'Later deposits go to this address, as the same value type on the same chain.',
    access: 'automations:write',
    body: { schema: destinationChange },
    answers: one,
    conflicts: true,
  },
]
