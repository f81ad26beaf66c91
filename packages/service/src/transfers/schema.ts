import { transferStatuses } from '@outlay/core'
import { z } from 'zod'
import { transferQuoteSchema } from '../quotes/schema.ts'
import { component, lastPage } from '../schema/component.ts'
import type { Operation } from '../schema/operation.ts'
import {
  amountSchema,
  idSchema,
  pageParameters,
  paginationSchema,
  sample,
  textSchema,
  timestampSchema,
  transferTypeSchema,
  valueTypeSchema,
} from '../schema/primitive.ts'

const text = textSchema.nullish()
const wireMemo = text.meta({ maxLength: 140, description: 'Outbound wire only.' })
const note = text.meta({ maxLength: 255, description: 'Free text.' })
const quoteId = text.meta({ description: 'A quote, where the two value types are not worth the same.' })
const brandNote = 'ACH only: the account whose business name the receiving bank shows. It must be complete.'

/** Instructions for an inbound wire. Specification: "Wire instructions". */
export const instructionsSchema = component(
  'WireInstructions',
  z.object({
    beneficiary_name: z.string(),
    bank_name: z.string(),
    bank_address: z.string(),
    account_number: z.string(),
    routing_number: z.string(),
    beneficiary_address: z.string(),
    memo: z.string().nullable(),
  }),
  { description: 'Where the payer sends an inbound wire.' },
)

/** The body that creates a transfer. Specification: "Transfers". */
const newTransfer = component(
  'NewTransfer',
  z.object({
    amount: amountSchema,
    source: z.object({
      address_id: text.meta({
        description:
          'Left out for an inbound wire, which cannot be pulled from an account. Required for every other rail.',
      }),
      value_type: textSchema,
      transfer_type: textSchema,
    }),
    destination: z.object({
      address_id: textSchema,
      value_type: textSchema,
      transfer_type: textSchema,
      wire_memo: wireMemo,
    }),
    brand: z.object({ account_id: textSchema }).nullish().meta({ description: brandNote }),
    note,
    quote_id: quoteId,
  }),
  {
    description: 'A transfer to create. Members that exist only in answers are refused. Unknown members are ignored.',
    examples: [
      {
        amount: { value: '1250.00', currency: 'USD' },
        source: { address_id: sample.walletId, value_type: 'USDC', transfer_type: 'base' },
        destination: {
          address_id: sample.bankAddressId,
          value_type: 'USD',
          transfer_type: 'wire',
          wire_memo: 'INV-42',
        },
      },
      {
        amount: { value: '500', currency: 'USD' },
        source: { value_type: 'USD', transfer_type: 'wire' },
        destination: { address_id: sample.walletId, value_type: 'USDC', transfer_type: 'base' },
        note: 'Top-up',
      },
    ],
  },
)

/** What the public contract has beside: the names of two members. */
const publicLeg = {
  address_id: text.meta({ description: 'Or `financial_institution_id`.' }),
  financial_institution_id: text.meta({ description: 'In place of `address_id`.' }),
  value_type: textSchema,
  transfer_type: textSchema,
}

const newPublicTransfer = component(
  'PublicNewTransfer',
  z.object({
    amount: amountSchema,
    source: z.object(publicLeg),
    destination: z.object({ ...publicLeg, memo: wireMemo, wire_memo: wireMemo }),
    brand: z.object({ account_id: textSchema }).nullish().meta({ description: brandNote }),
    note,
    quote_id: quoteId,
  }),
  {
    description: 'A transfer to create. The memo of an outbound wire is `destination.memo` or `destination.wire_memo`.',
    examples: [
      {
        amount: { value: '1250.00', currency: 'USD' },
        source: { address_id: sample.walletId, value_type: 'USDC', transfer_type: 'base' },
        destination: {
          financial_institution_id: sample.bankAddressId,
          value_type: 'USD',
          transfer_type: 'wire',
          memo: 'INV-42',
        },
      },
    ],
  },
)

const newTransferCamel = component(
  'NewTransferCamelCase',
  z.object({
    amount: amountSchema,
    source: z.object({ addressId: text, valueType: textSchema, transferType: textSchema }),
    destination: z.object({
      addressId: textSchema,
      valueType: textSchema,
      transferType: textSchema,
      wireMemo,
    }),
    brand: z.object({ accountId: textSchema }).nullish().meta({ description: brandNote }),
    note,
    quoteId,
  }),
  {
    description: 'The same as `NewTransfer` in camelCase.',
    examples: [
      {
        amount: { value: '25', currency: 'USDC' },
        source: { addressId: sample.walletId, valueType: 'USDC', transferType: 'base' },
        destination: { addressId: sample.bankAddressId, valueType: 'USDC', transferType: 'base' },
      },
    ],
  },
)

const paymentDetailsSchema = component(
  'PaymentDetails',
  z.object({
    received_at: text,
    sender_name: text,
    sender_bank_name: text,
    sender_bank_routing_number: text,
    payment_reference: text,
    imad: text.meta({ description: 'Wire tracking identifier.' }),
    trace_number: text.meta({ description: 'ACH trace identifier.' }),
  }),
  { description: 'Identifiers that trace a fiat payment.', examples: [{ imad: '20260115MMQFMP2L000123' }] },
)

const endpointSchema = component(
  'TransferEndpoint',
  z.object({
    address_id: idSchema.optional(),
    value_type: valueTypeSchema,
    transfer_type: transferTypeSchema,
    financial_institution_id: z.string().optional(),
    transaction_id: z.string().optional().meta({ description: 'On-chain hash or payment reference, once submitted.' }),
    wire_memo: z.string().optional(),
    payment_details: paymentDetailsSchema.optional(),
  }),
  { description: 'One leg of a transfer.' },
)

const failureSchema = component(
  'TransferFailure',
  z.object({
    type: z.enum(['rejected', 'returned', 'expired', 'insufficient_balance', 'service_error', 'unknown']),
    code: z.string(),
    detail: z.string(),
    occurred_at: timestampSchema,
    retriable: z.boolean(),
    ach_return: z.object({ code: z.string(), reason: z.string(), category: z.string() }).optional(),
  }),
  { description: 'Why a transfer failed.' },
)

const returnSchema = component(
  'TransferReturn',
  z.object({
    code: z.string().meta({ description: 'Return code of the rail.' }),
    amount: amountSchema,
    source_amount: amountSchema
      .optional()
      .meta({ description: 'With a quote: what the source got for it, at the rate of the quote.' }),
    occurred_at: timestampSchema,
  }),
  {
    description: 'Money that came back after the transfer was complete. Its status stays complete.',
    examples: [{ code: 'R10', amount: { value: '1250.00', currency: 'USD' }, occurred_at: sample.time }],
  },
)

const transferExample = {
  id: sample.transferId,
  status: 'pending',
  failure: null,
  amount: { value: '1250.00', currency: 'USD' },
  source: { address_id: sample.walletId, value_type: 'USDC', transfer_type: 'base' },
  destination: {
    address_id: sample.bankAddressId,
    value_type: 'USD',
    transfer_type: 'wire',
    wire_memo: 'INV-42',
  },
  note: null,
  created_at: sample.time,
  updated_at: sample.time,
}

/** A page of transfers. */
export const transferListExample = { transfers: [transferExample], pagination: lastPage }

/** A transfer in an answer. Specification: "Transfer". */
export const transferSchema = component(
  'Transfer',
  z.object({
    id: idSchema,
    status: z.enum(transferStatuses),
    failure: failureSchema.nullable(),
    amount: amountSchema,
    source: endpointSchema,
    destination: endpointSchema,
    note: z.string().nullable(),
    created_at: timestampSchema,
    updated_at: timestampSchema,
    automation_id: idSchema.optional(),
    wire_instructions: instructionsSchema.optional(),
    returns: z.array(returnSchema).optional(),
    quote: transferQuoteSchema.optional(),
  }),
  {
    description:
      'A movement of money from a source to a destination. `updated_at` is when the status last changed, or money came back.',
    examples: [transferExample],
  },
)

const transferListSchema = component(
  'TransferList',
  z.object({ transfers: z.array(transferSchema), pagination: paginationSchema }),
  { description: 'One page of transfers, newest first.', examples: [transferListExample] },
)

const create = {
  method: 'post',
  tag: 'Transfers',
  access: 'transfers:write',
  keyed: true,
  answers: {
    201: { description: 'The transfer. An inbound wire has `wire_instructions`.', schema: transferSchema },
  },
} as const

const holdsAtOnce =
  'Holds the money at once. A request with the same key returns the same transfer. Value types that are not worth the same need a quote: the amount is one of its two, and each quote is used once.'

/** Operations on transfers. Specification: "Transfers". */
export const transfersOperations: readonly Operation[] = [
  {
    ...create,
    id: 'createTransfer',
    path: '/accounts/:account_id/transfers',
    summary: 'Create a transfer',
    description: holdsAtOnce,
    dialect: 'specification',
    body: { schema: newTransfer },
  },
  {
    ...create,
    id: 'createTransfer',
    path: '/accounts/:account_id/transfers',
    summary: 'Create a transfer',
    description: holdsAtOnce,
    dialect: 'public',
    body: { schema: newPublicTransfer },
  },
  {
    ...create,
    dialect: 'public',
    id: 'createTransferCamelCase',
    path: '/accounts/:account_id/transfer',
    summary: 'Create a transfer, at the singular path',
    description: 'The same operation at another path. Both paths accept both spellings. Answers are in snake_case.',
    body: { schema: newPublicTransfer },
  },
  {
    ...create,
    dialect: 'specification',
    id: 'createTransferCamelCase',
    path: '/accounts/:account_id/transfer',
    summary: 'Create a transfer, in camelCase',
    description: 'The same operation at another path. Both paths accept both spellings. Answers are in snake_case.',
    body: { schema: newTransferCamel, check: () => newTransfer },
  },
  {
    id: 'listTransfers',
    method: 'get',
    path: '/accounts/:account_id/transfers',
    tag: 'Transfers',
    summary: 'List the transfers of an account',
    description: 'Newest first. Filters are combined with AND. Cursors include the filters.',
    access: 'transfers:read',
    query: {
      automation_id: z.string().optional().meta({ description: 'Transfers that this automation created.' }),
      value_type: z.string().optional().meta({ description: 'Matches the source or the destination.' }),
      transfer_type: z.string().optional().meta({ description: 'Matches the source or the destination.' }),
      transaction_id: z.string().optional().meta({ description: 'Hash or payment reference. Matches either leg.' }),
      status: z
        .string()
        .optional()
        .meta({ description: `One of ${transferStatuses.join(', ')}; others are refused.` }),
      address_id: z.string().optional().meta({ description: 'Matches the source or the destination.' }),
      ...pageParameters,
    },
    answers: { 200: { description: 'A page.', schema: transferListSchema } },
  },
  {
    id: 'getTransfer',
    method: 'get',
    path: '/accounts/:account_id/transfers/:transfer_id',
    tag: 'Transfers',
    summary: 'Read a transfer',
    description: 'With its status, its references at rails and chains, and what came back.',
    access: 'transfers:read',
    answers: { 200: { description: 'The transfer.', schema: transferSchema } },
  },
  {
    id: 'cancelTransfer',
    method: 'post',
    path: '/accounts/:account_id/transfers/:transfer_id/cancel',
    tag: 'Transfers',
    summary: 'Cancel a pending transfer',
    description:
      'Releases the money that it holds. One that has failed and may be tried again is canceled as long as its rail has not. A repeat returns the canceled transfer. Once money has moved, or may have, the answer is 409 with `transfer_not_cancelable`.',
    access: 'transfers:write',
    conflicts: true,
    answers: { 200: { description: 'The canceled transfer.', schema: transferSchema } },
  },
]
