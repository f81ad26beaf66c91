import { z } from 'zod'

/** Ids are documented with 26 characters, and examples have 27. */
export const idSchema = z.string().regex(/^[a-zA-Z0-9]{26,27}$/)

const text = z.string().min(1)
const texts = z.array(text).min(1)
const amount = z.strictObject({ value: z.string().regex(/^\d+(\.\d+)?$/), currency: text })
const brand = z.strictObject({ account_id: idSchema })

/** A postal address. */
export const placeSchema = z.strictObject({
  street_line_1: text,
  street_line_2: text.optional(),
  city: text,
  state: text,
  zip: text,
  country: text.optional(),
})

const person = z.strictObject({ name: text, ssn: text, address: placeSchema })

/** Registers an account. */
export const newAccount = z.strictObject({
  business_name: text,
  ein: text,
  address: placeSchema,
  phone_number: text,
  email: text,
  website: text,
  business_controller: person,
  beneficial_owners: z.array(person).nullable(),
  tos_attestation: z.strictObject({ accepted_at: text, ip: text, user_agent: text, version: text }),
  account_type: z.enum(['custodial', 'transactional']).optional(),
  entity_type: z.enum(['business', 'individual']).optional(),
})

const leg = {
  address_id: idSchema.optional(),
  financial_institution_id: idSchema.optional(),
  value_type: text,
  transfer_type: text,
}

/** Creates a transfer. The memo of a wire is `memo`. */
export const newTransfer = z.strictObject({
  amount,
  source: z.strictObject(leg),
  destination: z.strictObject({ ...leg, memo: text.optional() }),
  brand: brand.optional(),
  note: text.optional(),
})

const ownership = z.enum(['self-owned', 'customer-owned']).optional()

/** Registers a wallet, a party or a bank account; a wire needs the postal addresses. */
export const newExternalAddress = z.union([
  z.strictObject({ name: text, address: text, transfer_types: texts, ownership }),
  z
    .strictObject({
      owner: text,
      name: text.optional(),
      account_number: text,
      routing_number: text,
      account_type: text,
      bank_address: placeSchema.optional(),
      beneficiary_address: placeSchema.optional(),
      transfer_types: texts,
      ownership,
    })
    .refine(
      ({ transfer_types: types, bank_address: bank, beneficiary_address: beneficiary }) =>
        !types.includes('wire') || (bank !== undefined && beneficiary !== undefined),
      'a wire needs bank_address and beneficiary_address',
    ),
])

/** Creates a custodial wallet. */
export const newInternalAddress = z.strictObject({ name: text, transfer_types: texts })

/** Changes an address. */
export const addressChange = z.strictObject({
  additional_transfer_types: texts.optional(),
  name: text.optional(),
  status: text.optional(),
  bank_address: placeSchema.optional(),
  beneficiary_address: placeSchema.optional(),
})

const destination = z.strictObject({ address_id: idSchema, value_type: text, transfer_type: text })
const automation = { name: text, source: z.strictObject({ value_type: text }), brand: brand.optional() }

/** Creates an automation. */
export const newAutomation = z.union([
  z.strictObject({ ...automation, destination }),
  z.strictObject({ ...automation, destination_address: destination }),
])

/** Registers a bank account in its older form, as in the specification. */
export const newInstitution = z.strictObject({
  owner: text,
  account_number: text,
  routing_number: text,
  beneficiary_address: placeSchema,
  bank_address: placeSchema,
  account_type: text,
})

/** Requests a link token. */
export const newLinkToken = z.strictObject({
  legal_name: text.optional(),
  email_address: text.optional(),
  phone_number: text.optional(),
  date_of_birth: text.optional(),
  transfer_types: texts.optional(),
  redirect_uri: z.url().optional(),
  android_package_name: text.optional(),
  customer_webhook_url: z.url().optional(),
})

/** Registers linked accounts. */
export const newRegistration = z.strictObject({
  public_token: text,
  transfer_types: texts,
  customer_webhook_url: z.url().optional(),
})

/** Opens the provider's update flow. */
export const newUpdateToken = z.strictObject({})

const events = z.array(z.string().regex(/^(\*|[a-z_]+\.(\*|[a-z_]+))$/)).min(1)

/** Registers a webhook. */
export const newWebhook = z.strictObject({ url: z.url(), events })

/** Changes a webhook. */
export const webhookChange = z.strictObject({
  url: z.url().optional(),
  events: events.optional(),
  status: z.enum(['active', 'archived']).optional(),
})

const cursors = ['page[after]', 'page[next]', 'page[before]', 'page[prev]'] as const

const page = {
  'page[size]': z
    .string()
    .regex(/^([1-9]\d?|100)$/)
    .optional(),
  ...Object.fromEntries(cursors.map((name) => [name, text.optional()])),
}

const hasOneCursor = (query: object) => cursors.filter((name) => name in query).length < 2

/** Pages of a list. */
export const pageQuery = z.strictObject(page).refine(hasOneCursor, 'one cursor only')

/** Pages and filters of transfers. */
export const transferQuery = z
  .strictObject({
    ...page,
    automation_id: idSchema.optional(),
    value_type: text.optional(),
    transfer_type: text.optional(),
    transaction_id: text.optional(),
  })
  .refine(hasOneCursor, 'one cursor only')

/** Whose balance is asked for. */
export const balanceQuery = z.strictObject({ value_type: text.optional(), transfer_type: text.optional() })

/** A request without parameters. */
export const noQuery = z.strictObject({})
