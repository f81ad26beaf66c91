import { quoteStatuses } from '@outlay/core'
import { z } from 'zod'
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
} from '../schema/primitive.ts'

const quoteId = '01K8QV0TEX4Z7A1B5C8D2E6F9G'
const expires = '2026-01-15T16:25:00.000Z'

const newQuote = component(
  'NewQuote',
  z.object({
    amount: amountSchema,
    source: z.object({ value_type: textSchema }),
    destination: z.object({ value_type: textSchema }),
  }),
  {
    description:
      'A quote to get. The currency of the amount is one of the two value types, and says on which side the amount is fixed. The source is a token.',
    examples: [
      {
        amount: { value: '100', currency: 'USDC' },
        source: { value_type: 'USDC' },
        destination: { value_type: 'MXN' },
      },
      {
        amount: { value: '1850.00', currency: 'MXN' },
        source: { value_type: 'USDC' },
        destination: { value_type: 'MXN' },
      },
    ],
  },
)

const rateSchema = z
  .string()
  .meta({ description: 'How many of the value type of the destination one of that of the source becomes.' })

/** The quote of a transfer in an answer. */
export const transferQuoteSchema = component(
  'TransferQuote',
  z.object({ id: idSchema, rate: rateSchema, source_amount: amountSchema, destination_amount: amountSchema }),
  {
    description: 'The rate of a transfer whose value types are not worth the same, and the amounts of both sides.',
    examples: [
      {
        id: quoteId,
        rate: '18.5',
        source_amount: { value: '100', currency: 'USDC' },
        destination_amount: { value: '1850.00', currency: 'MXN' },
      },
    ],
  },
)

const quoteExample = {
  id: quoteId,
  status: 'open',
  rate: '18.5',
  fixed_side: 'source',
  source_amount: { value: '100', currency: 'USDC' },
  destination_amount: { value: '1850.00', currency: 'MXN' },
  created_at: sample.time,
  expires_at: expires,
}

const quoteSchema = component(
  'Quote',
  z.object({
    id: idSchema,
    status: z.enum(quoteStatuses),
    rate: rateSchema,
    fixed_side: z.enum(['source', 'destination']).meta({ description: 'The side whose amount was asked for.' }),
    source_amount: amountSchema,
    destination_amount: amountSchema,
    created_at: timestampSchema,
    expires_at: timestampSchema,
    transfer_id: idSchema.optional().meta({ description: 'The transfer that has used it.' }),
  }),
  {
    description:
      'A rate that is guaranteed for one transfer of the account, which is created before it expires. It moves and holds nothing.',
    examples: [quoteExample],
  },
)

const quoteListSchema = component(
  'QuoteList',
  z.object({ quotes: z.array(quoteSchema), pagination: paginationSchema }),
  {
    description: 'One page of quotes, newest first.',
    examples: [{ quotes: [quoteExample], pagination: lastPage }],
  },
)

/** Operations on quotes. */
export const quotesOperations: readonly Operation[] = [
  {
    id: 'createQuote',
    method: 'post',
    path: '/accounts/:account_id/quotes',
    tag: 'Quotes',
    summary: 'Get a quote',
    description:
      'Asks for a rate between two value types that are not worth the same. Send the id as `quote_id` when you create the transfer. `quote_refused`: there is no rate for this pair or amount.',
    access: 'transfers:write',
    keyed: true,
    body: { schema: newQuote },
    answers: { 201: { description: 'The quote.', schema: quoteSchema } },
  },
  {
    id: 'listQuotes',
    method: 'get',
    path: '/accounts/:account_id/quotes',
    tag: 'Quotes',
    summary: 'List the quotes of an account',
    description: 'Newest first. Unused ones are deleted some time after they have expired.',
    access: 'transfers:read',
    query: pageParameters,
    answers: { 200: { description: 'A page.', schema: quoteListSchema } },
  },
  {
    id: 'getQuote',
    method: 'get',
    path: '/accounts/:account_id/quotes/:quote_id',
    tag: 'Quotes',
    summary: 'Read a quote',
    description: 'Its status says whether a transfer can still be created with it.',
    access: 'transfers:read',
    answers: { 200: { description: 'The quote.', schema: quoteSchema } },
  },
]
