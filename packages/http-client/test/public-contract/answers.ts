import { z } from 'zod'
import { idSchema, placeSchema } from './requests.ts'

const text = z.string().min(1)
const time = z.iso.datetime()
const amount = z.strictObject({ value: z.string().regex(/^\d+(\.\d+)?$/), currency: text })
const brand = z.strictObject({ account_id: idSchema })
const pagination = z.strictObject({ next: text.nullable(), prev: text.nullable() })

/** The id of what was created. */
export const created = z.strictObject({ id: idSchema })

/** A summary of an account. */
export const account = z.strictObject({ id: idSchema, name: text, status: text, created: time, updated: time })

/** A list of accounts: of objects in one document, of ids in the other. */
export const accounts = z.strictObject({ accounts: z.union([z.array(account), z.array(idSchema)]) })

const achReturn = z.strictObject({ code: text, reason: text, category: text })

const problem = z.strictObject({
  code: text,
  status: z.string().regex(/^\d{3}$/),
  title: text,
  detail: text,
  source: z.strictObject({ pointer: text }).optional(),
})

const failure = z.union([
  text,
  z.strictObject({ type: text, occurred_at: time, retriable: z.boolean(), ach_return: achReturn.optional() }),
  z.strictObject({ errors: z.array(problem) }),
])

const leg = z.strictObject({
  address_id: idSchema.optional(),
  financial_institution_id: idSchema.optional(),
  value_type: text,
  transfer_type: text,
  transaction_id: text.optional(),
  memo: text.optional(),
})

const instructions = z.strictObject({
  beneficiary_name: text,
  bank_name: text,
  bank_address: text,
  account_number: text,
  routing_number: z.union([text, z.int()]),
  beneficiary_address: text,
  memo: text.nullable(),
})

/** A transfer. */
export const transfer = z.strictObject({
  id: idSchema,
  status: text,
  failure: failure.nullable(),
  amount,
  source: leg,
  destination: leg,
  note: text.nullable(),
  created_at: time,
  updated_at: time,
  funding_simulated: z.boolean(),
  requested_transfer_type: text,
  automation_id: idSchema.optional(),
  wire_instructions: instructions.optional(),
})

/** A page of transfers. */
export const transfers = z.strictObject({ transfers: z.array(transfer), pagination })

/** A record of an address. The type may be missing on bank rows. */
export const address = z.strictObject({
  id: idSchema,
  type: z.enum(['internal', 'external']).optional(),
  status: text,
  name: text.optional(),
  address: text.nullable().optional(),
  transfer_types: z.array(text),
  is_primary: z.boolean(),
  needs_update: z.boolean(),
  created: time,
  last_updated: time,
  ownership: text.optional(),
  owner: text.optional(),
  account_number: text.optional(),
  routingNumber: text.optional(),
  account_type: text.optional(),
  bank_address: placeSchema.optional(),
  beneficiary_address: placeSchema.optional(),
})

/** A page of wallets and external addresses. */
export const addresses = z.strictObject({ addresses: z.array(address), pagination })

/** A balance. */
export const balance = z.strictObject({
  address: z.strictObject({ id: idSchema, address: text }),
  balance: amount,
  value_type: text,
  transfer_type: text,
})

const destination = z.strictObject({ address_id: idSchema, value_type: text, transfer_type: text })

const automationMembers = {
  id: idSchema,
  name: text,
  status: text,
  source: z.strictObject({ value_type: text, transfer_type: text.nullable() }).optional(),
  brand: brand.optional(),
  wire_instructions: instructions.optional(),
}

/** A flat automation, without `created_at`. */
export const automation = z.union([
  z.strictObject({ ...automationMembers, destination }),
  z.strictObject({ ...automationMembers, destination_address: destination }),
])

/** A list of automations. */
export const automations = z.strictObject({ automations: z.array(automation) })

/** A bank account in its older form, as in the specification. */
export const institution = z.strictObject({
  id: idSchema,
  name: text,
  status: text,
  transfer_type: z.array(text),
  bank_details: z.strictObject({
    owner: text,
    account_number: text,
    routing_number: z.union([text, z.int()]),
    name: text,
    account_type: text,
    address: placeSchema,
  }),
})

/** A list of bank accounts in their older form. */
export const institutions = z.strictObject({ financial_institutions: z.array(institution) })

/** The state of a bank account. */
export const institutionState = z.strictObject({
  status: text,
  last_updated: time,
  financial_institution_id: idSchema,
  needs_update: z.boolean(),
})

/** A link token, also for the update flow. */
export const linkToken = z.strictObject({ link_token: text, expiration: time, callback_url: z.url() })

/** Linked accounts: of the path of today, and of the older one. */
export const registration = z.union([
  z.strictObject({ address_id: idSchema }),
  z.strictObject({ financial_institution_id: idSchema }),
])

const webhookMembers = { id: idSchema, url: z.url(), events: z.array(text), status: z.enum(['active', 'archived']) }

/** A webhook. */
export const webhook = z.strictObject(webhookMembers)

/** A new webhook, with its secret, once. */
export const newWebhookAnswer = z.strictObject({ ...webhookMembers, sharedSecret: z.base64url() })

/** A list of webhooks. */
export const webhooks = z.strictObject({ subscriptions: z.array(webhook) })

/** What a webhook can subscribe to. */
export const eventTypes = z.strictObject({
  event_types: z.array(z.strictObject({ event_type: text, summary: text })),
})

/** A page of deliveries, one row an attempt. */
export const deliveries = z.strictObject({
  deliveries: z.array(
    z.strictObject({
      id: idSchema,
      event_id: text,
      event_type: text,
      attempt_number: z.int().min(1),
      status_code: z.int().nullable(),
      created: time,
    }),
  ),
  pagination,
})

/** An answer without a body. */
export const nothing = z.undefined()

/** Errors: of most statuses, of 401, 403 and 422, and the newest. */
export const error = z.union([
  z.strictObject({ type: text, code: text, detail: text, status: z.int(), values: z.array(z.unknown()) }),
  z.strictObject({ errors: z.array(problem).min(1) }),
  z.strictObject({ type: text, message: text, code: text.optional() }),
])
