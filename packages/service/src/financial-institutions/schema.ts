import { financialInstitutionStatuses } from '@outlay/core'
import { z } from 'zod'
import { component, exampleOf } from '../schema/component.ts'
import type { Operation } from '../schema/operation.ts'
import {
  idSchema,
  postalAddressSchema,
  sample,
  textSchema,
  timestampSchema,
  transferTypeSchema,
} from '../schema/primitive.ts'

const place = { street_line_1: '1 Main Street', city: 'Springfield', state: 'IL', zip: '62701' }
const statuses = z.enum(financialInstitutionStatuses)

const newInstitution = component(
  'NewFinancialInstitution',
  z.object({
    owner: textSchema,
    name: textSchema.nullish(),
    account_number: textSchema,
    routing_number: z.union([textSchema, z.number()]).meta({ description: 'Nine digits.' }),
    account_type: textSchema.meta({ examples: ['checking', 'savings'] }),
    bank_address: postalAddressSchema,
    beneficiary_address: postalAddressSchema,
  }),
  {
    description: 'A bank account entered by hand.',
    examples: [
      {
        owner: 'Roe Supplies LLC',
        account_number: '445566778899',
        routing_number: '021000021',
        account_type: 'checking',
        bank_address: place,
        beneficiary_address: place,
      },
    ],
  },
)

const institutionSchema = component(
  'FinancialInstitution',
  z.object({
    id: idSchema,
    name: z.string(),
    status: statuses,
    transfer_type: z.array(transferTypeSchema),
    bank_details: z.object({
      owner: z.string(),
      account_number: z.string().meta({ description: 'Masked, except the last four digits.' }),
      routing_number: z.string(),
      name: z.string().meta({ description: 'Name of the bank.' }),
      account_type: z.string(),
      address: postalAddressSchema
        .optional()
        .meta({ description: 'Of the bank; the same as `bank_address`. Absent where it was not given.' }),
      bank_address: postalAddressSchema.optional(),
      beneficiary_address: postalAddressSchema.optional(),
    }),
  }),
  {
    description: 'The older form of a bank address. Its id is also the `address_id`.',
    examples: [
      {
        id: sample.bankAddressId,
        name: 'Roe Supplies LLC',
        status: 'active',
        transfer_type: ['ach_debit', 'ach_credit'],
        bank_details: {
          owner: 'Roe Supplies LLC',
          account_number: '****8899',
          routing_number: '021000021',
          name: 'First Bank',
          account_type: 'checking',
          address: place,
          bank_address: place,
          beneficiary_address: place,
        },
      },
    ],
  },
)

const institutionListSchema = component(
  'FinancialInstitutionList',
  z.object({ financial_institutions: z.array(institutionSchema) }),
  {
    description: 'The financial institutions of an account, oldest first.',
    examples: [{ financial_institutions: [exampleOf(institutionSchema)] }],
  },
)

/** The state of a financial institution. */
export const institutionStateSchema = component(
  'FinancialInstitutionState',
  z.object({
    status: statuses,
    last_updated: timestampSchema,
    financial_institution_id: idSchema,
    needs_update: z.boolean().meta({ description: 'True when the owner has to link the account again.' }),
  }),
  {
    description: 'The state of a financial institution.',
    examples: [
      {
        status: 'active',
        last_updated: sample.time,
        financial_institution_id: sample.bankAddressId,
        needs_update: false,
      },
    ],
  },
)

const path = '/accounts/:account_id/financial-institutions'
const read = {
  method: 'get',
  tag: 'Financial institutions',
  access: 'financial-institutions:read',
  deprecated: true,
} as const

/** Operations on financial institutions. Specification: "Financial institutions (legacy)". */
export const financialInstitutionsOperations: readonly Operation[] = [
  {
    id: 'createFinancialInstitution',
    method: 'post',
    path: `${path}/external`,
    tag: 'Financial institutions',
    summary: 'Register a bank account',
    description: 'Deprecated. Register an external address instead.',
    access: 'financial-institutions:write',
    deprecated: true,
    keyed: true,
    body: { schema: newInstitution },
    answers: { 201: { description: 'The financial institution.', schema: institutionSchema } },
  },
  {
    ...read,
    id: 'listFinancialInstitutions',
    path,
    summary: 'List the financial institutions of an account',
    description: 'Bank addresses in their older form. A bank account without a routing number is not one.',
    answers: { 200: { description: 'All financial institutions of the account.', schema: institutionListSchema } },
  },
  {
    ...read,
    id: 'getFinancialInstitution',
    path: `${path}/:financial_institution_id`,
    summary: 'Read a financial institution',
    description: 'A bank address in its older form. The account number is masked.',
    answers: { 200: { description: 'The financial institution.', schema: institutionSchema } },
  },
  {
    ...read,
    deprecated: false,
    id: 'getFinancialInstitutionStatus',
    path: `${path}/:financial_institution_id/status`,
    summary: 'Check whether the owner has to link again',
    description: '`needs_update` is true when the owner has to link the bank account again.',
    answers: { 200: { description: 'The state.', schema: institutionStateSchema } },
  },
]
