import { z } from 'zod'
import { institutionStateSchema } from '../financial-institutions/schema.ts'
import { component } from '../schema/component.ts'
import type { Operation } from '../schema/operation.ts'
import { idSchema, mostTransferTypes, sample, textSchema, timestampSchema } from '../schema/primitive.ts'

const text = textSchema.nullish()

const linkTokenRequest = component(
  'LinkTokenRequest',
  z.object({
    legal_name: text,
    email_address: text,
    phone_number: text,
    date_of_birth: text.meta({ description: 'YYYY-MM-DD.' }),
    redirect_uri: text.meta({ description: 'Where the flow continues; for the provider.' }),
    android_package_name: text.meta({ description: "The client's Android app; for the provider." }),
  }),
  {
    description:
      'Personal data to pass to the provider in advance. `transfer_types` and `customer_webhook_url` are members of the registration.',
    examples: [{ legal_name: 'Ada Roe' }],
  },
)

const linkTokenSchema = component(
  'LinkToken',
  z.object({
    link_token: z.string(),
    expiration: timestampSchema,
    callback_url: z.string().meta({ description: 'URL that receives the public token after the flow.' }),
  }),
  {
    description: 'Opens the flow of the provider in the front end.',
    examples: [
      {
        link_token: 'link-7Qm2',
        expiration: sample.time,
        callback_url: 'https://api.example/accounts/01K8ACC0VNTX5R2D7Q3M9W1ZEB/financial-institutions/register-account',
      },
    ],
  },
)

const registration = component(
  'BankLinkRegistration',
  z.object({
    public_token: textSchema,
    customer_webhook_url: text,
    transfer_types: z
      .array(textSchema)
      .max(mostTransferTypes)
      .nullish()
      .meta({ description: 'Rails that the bank accounts are for. Default: debits and credits by ACH.' }),
  }),
  {
    description: 'The public token of a flow. The service notifies the URL when the owner has to log in again.',
    examples: [{ public_token: 'public-4Kd9', customer_webhook_url: 'https://acme.example/banks' }],
  },
)

const registeredSchema = component(
  'BankLinkRegistered',
  z.object({
    address_id: idSchema,
    financial_institution_id: idSchema.meta({ description: 'The same as `address_id`.' }),
    address_ids: z.array(idSchema).optional(),
    financial_institution_ids: z.array(idSchema).optional(),
  }),
  {
    description:
      'The address that was created or updated, also as a financial institution. All of them when several accounts were selected.',
    examples: [{ address_id: sample.bankAddressId, financial_institution_id: sample.bankAddressId }],
  },
)

const account = '/accounts/:account_id'
const link = { method: 'post', tag: 'Bank linking', access: 'financial-institutions:write' } as const
const open = {
  ...link,
  body: { schema: linkTokenRequest, optional: true },
  answers: { 200: { description: 'The link token.', schema: linkTokenSchema } },
} as const
const register = {
  ...link,
  keyed: true,
  body: { schema: registration },
  answers: { 201: { description: 'Registered. `Location` has the address.', schema: registeredSchema } },
} as const
const olderRegister = {
  ...register,
  id: 'registerAccountAtInstitutions',
  path: `${account}/financial-institutions/register-account`,
  summary: 'Register the linked accounts, at the older path',
  description: 'The same as at the newer path.',
} as const
const update = {
  ...link,
  answers: { 200: { description: 'The link token.', schema: linkTokenSchema } },
  conflicts: true,
} as const

/** Operations that link bank accounts. Specification: "Bank-linking". The path segment `banklink` can be configured. */
export const bankLinksOperations: readonly Operation[] = [
  {
    ...open,
    id: 'createLinkToken',
    path: `${account}/banklink/link_token`,
    summary: 'Open a linking flow',
    description: 'The front end opens the flow of the provider with the token. Every request opens a new flow.',
  },
  {
    ...open,
    id: 'createLinkTokenAtInstitutions',
    path: `${account}/financial-institutions/banklink/link_token`,
    summary: 'Open a linking flow, at the older path',
    description: 'The same as at the newer path.',
    deprecated: true,
  },
  {
    ...register,
    id: 'registerAccount',
    path: `${account}/banklink/register-account`,
    summary: 'Register the linked accounts',
    description:
      'Exchanges the public token of a flow for addresses, one for each bank account. A bank account that is linked again keeps its id.',
  },
  { ...olderRegister, dialect: 'specification' },
  {
    ...olderRegister,
    dialect: 'public',
    answers: { 200: { description: 'Registered. `Location` has the address.', schema: registeredSchema } },
  },
  {
    ...update,
    id: 'createUpdateLinkToken',
    path: `${account}/financial-institutions/:financial_institution_id/update-link-token`,
    summary: 'Open a flow that renews a link',
    description:
      'For a bank account whose owner has to log in again. Register the public token of the flow as the first time.',
  },
  {
    ...update,
    id: 'createUpdateLinkTokenAtProvider',
    path: `${account}/banklink/:financial_institution_id/update-link-token`,
    summary: 'Open a flow that renews a link, at the newer path',
    description: 'The same as at the path of the financial institution.',
  },
  {
    ...update,
    id: 'createAddressUpdateLinkToken',
    path: `${account}/addresses/:address_id/update-link-token`,
    summary: 'Open a flow that renews the link of an address',
    description: 'The same as for the financial institution of this id.',
  },
]

/** Most bank accounts that a person selects at once. */
export const mostAccounts = 10

const completion = component(
  'LinkCompletion',
  z.object({ accounts: z.array(z.record(z.string(), z.unknown())).max(mostAccounts).nullish() }),
  { description: 'The bank accounts that the person selects. Default: one new account.', examples: [{}] },
)

const publicTokenSchema = component('PublicToken', z.object({ public_token: z.string() }), {
  description: 'The result of the flow for the front end.',
  examples: [{ public_token: 'public-4Kd9' }],
})

const loginRequired = component('LoginRequired', z.object({ reason: text }), {
  description: 'Why the owner has to log in again.',
  examples: [{ reason: 'The login at the bank has ended.' }],
})

const sandbox = { method: 'post', tag: 'Sandbox', access: 'financial-institutions:write' } as const

/** Operations of a sandbox that act as the person at the provider's front end. */
export const bankLinkSimulationsOperations: readonly Operation[] = [
  {
    ...sandbox,
    id: 'simulateLinkCompletion',
    path: '/simulations/bank-links/:link_token/complete',
    summary: 'Complete the flow of a link token',
    description: 'As the person would, in the front end of the provider.',
    body: { schema: completion, optional: true },
    answers: { 201: { description: 'The public token.', schema: publicTokenSchema } },
  },
  {
    ...sandbox,
    id: 'simulateLoginRequired',
    path: '/simulations/financial-institutions/:financial_institution_id/login-required',
    summary: 'Require a login at the bank',
    description: 'As the provider would report it. The URL for notices gets a notice.',
    body: { schema: loginRequired, optional: true },
    answers: { 202: { description: 'The current state.', schema: institutionStateSchema } },
  },
]
