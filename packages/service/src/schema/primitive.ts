import { z } from 'zod'
import { component } from './component.ts'

/** Examples that fit each other: one account with a wallet, a payee's bank account and a transfer. */
export const sample = {
  accountId: '01K8ACC0VNTX5R2D7Q3M9W1ZEB',
  otherAccountId: '01K8ACC1HPK6YF4S8J0T2NCV7D',
  walletId: '01K8WA11ETB3M6X9R2D5Q8S1FZ',
  bankAddressId: '01K8BANKADDR4S7T0V3W6X9Y2Z',
  transferId: '01K8TRANSFER5R8T1V4W7X0Y3Z',
  webhookId: '01K8WEBH00K6S9T2V5W8X1Y4ZA',
  eventId: '01K8EVENTX7T0V3W6Y9Z2A5B8C',
  address: '0x52908400098527886E0F7030069857D2E4169EE7',
  time: '2026-01-15T16:20:00.000Z',
} as const

/** Text in a request. What is longer is never read; the rules of the domain allow less, and refuse with codes of their own. */
export const textSchema = z.string().max(4_096)

/** Most names of rails and chains in one address. */
export const mostTransferTypes = 100

/** Specification: "Conventions". */
export const idSchema = component(
  'Id',
  z
    .string()
    .max(26)
    .regex(/^[a-zA-Z0-9]{26}$/),
  {
    description: 'Identifier: 26 letters and digits, case-sensitive, sortable by time.',
    examples: [sample.transferId],
  },
)

/** ISO 8601, UTC. */
export const timestampSchema = component('Timestamp', z.iso.datetime(), {
  description: 'Moment in ISO 8601, UTC, with fractional seconds.',
  examples: [sample.time],
})

/** Names of value types. A deployment may extend the list, so the schema is not an enumeration. */
export const valueTypeSchema = component('ValueType', textSchema, {
  description:
    'Currency or token. Answers use the canonical name; filters match it exactly, and in the public dialect in any known spelling.',
  examples: ['USD', 'USDC', 'USDT', 'PYUSD', 'SBC', 'YSBC', 'MXN'],
})

/** Names of transfer types. */
export const transferTypeSchema = component('TransferType', textSchema, {
  description:
    'Rail or chain. Answers use the canonical name; filters match it exactly, and in the public dialect in any known spelling.',
  examples: ['wire', 'ach_credit', 'ach_debit', 'same_day_ach_credit', 'rtp', 'spei', 'base', 'ethereum', 'solana'],
})

/** Specification: "Amount". */
export const amountSchema = component('Amount', z.object({ value: decimalSchema(), currency: valueTypeSchema }), {
  description: 'Money. The value is a decimal string, never a number.',
  examples: [{ value: '1250.00', currency: 'USD' }],
})

/** Specification: AccountAddress. */
export const postalAddressSchema = component(
  'PostalAddress',
  z.object({
    street_line_1: textSchema,
    street_line_2: textSchema.nullish(),
    city: textSchema,
    state: textSchema,
    zip: textSchema,
    country: textSchema.nullish(),
  }),
  {
    description: 'The postal address of a business, a person or a bank.',
    examples: [{ street_line_1: '1 Main Street', city: 'Springfield', state: 'IL', zip: '62701' }],
  },
)

/** Cursors to the next and the previous page. */
export const paginationSchema = component(
  'Pagination',
  z.object({ next: z.string().nullable(), prev: z.string().nullable() }),
  {
    description:
      'Opaque cursors for `page[after]` and `page[prev]`. Null when there is no further page. Where a filter matches little, a page may be short or empty and have `next`.',
    examples: [{ next: null, prev: null }],
  },
)

/** The query parameters of every paginated list. A request has at most one cursor. */
export const pageParameters = {
  'page[size]': z.int().min(1).max(100).default(25).meta({ description: 'Records per page.' }),
  'page[after]': z.string().optional().meta({ description: 'Cursor from `pagination.next`.' }),
  'page[next]': z.string().optional().meta({ description: 'Alias of `page[after]`.' }),
  'page[prev]': z.string().optional().meta({ description: 'Cursor from `pagination.prev`.' }),
  'page[before]': z.string().optional().meta({ description: 'Alias of `page[prev]`.' }),
} as const

function decimalSchema() {
  const meta = { pattern: '^[0-9]+(\\.[0-9]+)?$', description: 'Decimal number, for example `1250.00`.' }
  return textSchema.meta(meta)
}
