import { accountStatuses } from '@outlay/core'
import { z } from 'zod'
import { component } from '../schema/component.ts'
import type { Operation } from '../schema/operation.ts'
import { idSchema, postalAddressSchema, sample, timestampSchema } from '../schema/primitive.ts'
import { accountChangeSchema, accountTypes, entityTypes, newAccountSchema } from './input.ts'

const place = { street_line_1: '1 Main Street', city: 'Springfield', state: 'IL', zip: '62701' }
const fields = {
  business_name: 'Acme Incorporated',
  ein: '12-3456789',
  address: place,
  phone_number: '+1 217 555 0100',
  email: 'finance@acme.example',
  website: 'https://acme.example',
  ultimate_beneficial_owners: [{ name: 'Ada Roe', ssn: '987-65-4321', address: place }],
}

/** The body of `POST /accounts`, as it is documented and parsed. */
const newAccount = component('NewAccount', newAccountSchema, {
  description: 'A business to register. `ein` and each `ssn` have nine digits, with or without dashes.',
  examples: [fields],
})

const accountChange = component('AccountChange', accountChangeSchema, {
  description: 'How the business is reached. What its review is about cannot be changed.',
  examples: [{ email: 'payments@acme.example' }],
})

/** An account in an answer. Specification: "Account". */
const accountSchema = component(
  'Account',
  z.object({
    id: idSchema,
    status: z.enum(accountStatuses).meta({ description: 'Status of the onboarding review.' }),
    business_name: z.string(),
    name: z.string().meta({ description: 'The same as `business_name`.' }),
    ein: z.string().meta({ description: 'Masked, except the last four digits.' }),
    address: postalAddressSchema,
    phone_number: z.string(),
    email: z.string(),
    website: z.string(),
    ultimate_beneficial_owners: z.array(
      z.object({
        name: z.string(),
        ssn: z.string().meta({ description: 'Masked, except the last four digits.' }),
        address: postalAddressSchema,
      }),
    ),
    account_type: z.enum(accountTypes).optional(),
    entity_type: z.enum(entityTypes).optional(),
    created: timestampSchema,
    updated: timestampSchema,
  }),
  {
    description: 'A business, or one of its end customers.',
    examples: [
      {
        id: sample.accountId,
        status: 'complete',
        ...fields,
        name: fields.business_name,
        ein: '**-***6789',
        ultimate_beneficial_owners: [{ name: 'Ada Roe', ssn: '***-**-4321', address: place }],
        created: sample.time,
        updated: sample.time,
      },
    ],
  },
)

const accountListSchema = component('AccountList', z.object({ accounts: z.array(idSchema) }), {
  description: 'Ids of the accounts of a client. Its own account comes first.',
  examples: [{ accounts: [sample.accountId, sample.otherAccountId] }],
})

/** Operations on accounts. Specification: "Accounts". */
export const accountsOperations: readonly Operation[] = [
  {
    id: 'createAccount',
    method: 'post',
    path: '/accounts',
    tag: 'Accounts',
    summary: 'Register an account',
    description: 'Also creates a custodial wallet on every supported chain.',
    access: 'accounts:write',
    keyed: true,
    body: { schema: newAccount, check: 'route' },
    answers: { 201: { description: 'The account.', schema: accountSchema } },
  },
  {
    id: 'listAccounts',
    method: 'get',
    path: '/accounts',
    tag: 'Accounts',
    summary: 'List the accounts of the client',
    description: 'The accounts that the client owns or manages. Other accounts are not found for it.',
    access: 'accounts:read',
    answers: { 200: { description: 'Ids. The own account of the client comes first.', schema: accountListSchema } },
  },
  {
    id: 'getAccount',
    method: 'get',
    path: '/accounts/:account_id',
    tag: 'Accounts',
    summary: 'Read an account',
    description: 'With the status of its review. `ein` and each `ssn` are masked.',
    access: 'accounts:read',
    answers: { 200: { description: 'The account.', schema: accountSchema } },
  },
  {
    id: 'changeAccount',
    method: 'patch',
    path: '/accounts/:account_id',
    tag: 'Accounts',
    summary: 'Change how an account is reached',
    description: 'Sends `account.updated`.',
    access: 'accounts:write',
    body: { schema: accountChange, check: 'route' },
    answers: { 200: { description: 'The account.', schema: accountSchema } },
  },
]
