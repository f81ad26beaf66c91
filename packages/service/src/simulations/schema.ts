import { accountStatuses } from '@outlay/core'
import { z } from 'zod'
import { component, exampleOf } from '../schema/component.ts'
import type { Operation } from '../schema/operation.ts'
import {
  amountSchema,
  idSchema,
  sample,
  textSchema,
  timestampSchema,
  transferTypeSchema,
  valueTypeSchema,
} from '../schema/primitive.ts'
import { transferSchema } from '../transfers/schema.ts'
import { longestReference } from './input.ts'

const money = z
  .union([textSchema, z.object({ value: textSchema, currency: textSchema.optional() })])
  .meta({ description: 'Decimal string, or an object with a decimal string as `value`.' })
const text = textSchema.nullish()

const clockSchema = component(
  'Clock',
  z.object({
    now: timestampSchema,
    applies_to: z.literal('all_clients').meta({ description: 'Whose payments the clock moves.' }),
  }),
  {
    description: 'The time in the sandbox. It is one for all clients.',
    examples: [{ now: sample.time, applies_to: 'all_clients' }],
  },
)

const advance = component('ClockAdvance', z.object({ seconds: z.number() }), {
  description: 'How far to move the clock forward.',
  examples: [{ seconds: 7200 }],
})

/** A reference that a client makes up. */
const reference = z.string().min(1).max(longestReference).nullish()

const senderReference = reference.meta({
  description:
    'A reference of the sender. A repeat for the virtual account changes nothing; with another amount it is answered with 409. Default: a new one.',
})

const newDeposit = component(
  'NewDeposit',
  z.object({
    account_id: textSchema,
    address_id: textSchema,
    value_type: textSchema,
    transfer_type: textSchema,
    amount: money,
    reference: reference.meta({
      description:
        'A reference of your own. A repeat for the account changes nothing; with another amount or wallet it is answered with 409. Default: a new one.',
    }),
  }),
  {
    description: 'Tokens that arrive at a custodial wallet from an external address.',
    examples: [
      {
        account_id: sample.accountId,
        address_id: sample.walletId,
        value_type: 'USDC',
        transfer_type: 'base',
        amount: '1000',
      },
    ],
  },
)

const depositSchema = component(
  'Deposit',
  z.object({
    id: idSchema,
    account_id: idSchema,
    address_id: idSchema,
    value_type: valueTypeSchema,
    transfer_type: transferTypeSchema,
    amount: amountSchema,
  }),
  {
    description: 'The deposit.',
    examples: [
      {
        id: sample.eventId,
        account_id: sample.accountId,
        address_id: sample.walletId,
        value_type: 'USDC',
        transfer_type: 'base',
        amount: { value: '500', currency: 'USDC' },
      },
    ],
  },
)

const accountStatus = component('NewAccountStatus', z.object({ status: textSchema }), {
  description: `The result of the onboarding review: one of ${accountStatuses.join(', ')}.`,
  examples: [{ status: 'complete' }],
})

const accountStatusSchema = component('AccountStatus', z.object({ id: idSchema, status: z.enum(accountStatuses) }), {
  description: 'The current status of the account.',
  examples: [{ id: sample.accountId, status: 'complete' }],
})

const newWire = component(
  'NewInboundWire',
  z.object({
    transfer_id: text,
    memo: text,
    account_number: text,
    reference: senderReference,
    amount: money.nullish(),
    sender_name: text,
    sender_bank_name: text,
  }),
  {
    description:
      'An incoming wire, identified by its memo, the account number of its instructions or the transfer. Another amount than the ' +
      'transfer waits for is not credited until a person has decided, unless the service credits what it receives.',
    examples: [{ transfer_id: sample.transferId, sender_name: 'Roe Supplies LLC' }],
  },
)

const newAchCredit = component(
  'NewAchCredit',
  z.object({
    account_number: textSchema,
    amount: money,
    reference: senderReference,
    sender_name: text,
    sender_bank_name: text,
  }),
  {
    description: 'An incoming ACH credit to the virtual account of an automation.',
    examples: [{ account_number: '9800001234', amount: '250.00' }],
  },
)

const automationDeposit = component(
  'NewAutomationDeposit',
  z.object({
    amount: money,
    transfer_type: text.meta({ description: '`wire` or `ach_credit`. Default `wire`.' }),
    reference: senderReference,
    sender_name: text,
    sender_bank_name: text,
  }),
  {
    description: 'A payment to the virtual account of the automation.',
    examples: [{ amount: { value: '250.00', currency: 'USD' } }],
  },
)

const arrivalSchema = component(
  'Arrival',
  z.object({
    automation_id: idSchema,
    account_id: idSchema,
    transfer_type: transferTypeSchema,
    bank_reference: z.string(),
    status: z.enum(['pending', 'credited', 'returned']),
    transfer_id: idSchema.nullable(),
    return_reason: z.string().nullable(),
  }),
  {
    description: 'The result of a payment to a virtual account.',
    examples: [
      {
        automation_id: sample.eventId,
        account_id: sample.accountId,
        transfer_type: 'wire',
        bank_reference: '20260115MMQFMP2L000123',
        status: 'credited',
        transfer_id: sample.transferId,
        return_reason: null,
      },
    ],
  },
)

const arrivedSchema = component('WireOutcome', z.union([transferSchema, arrivalSchema]), {
  description: 'The transfer that waited for the wire, or the result of a payment to a virtual account.',
  examples: [exampleOf(transferSchema), exampleOf(arrivalSchema)],
})

const rejection = component('Rejection', z.object({ code: text, detail: text }), {
  description: 'Why the receiving side rejects the payment.',
  examples: [{ code: 'sanctions', detail: 'Held for review' }],
})

const achReturn = component('AchReturn', z.object({ code: textSchema }), {
  description: 'Return code of the ACH network, R01 to R29.',
  examples: [{ code: 'R03' }],
})

const statementLineSchema = component(
  'StatementLine',
  z.object({
    transfer_id: idSchema,
    company_name: z.string().max(16).meta({ description: 'The name in the ACH entry, at most 16 characters.' }),
    name: z.string().meta({ description: 'The full name.' }),
    entry_description: z.enum(['PAYMENT', 'RETRY PYMT']),
    trace_number: z.string(),
  }),
  {
    description: "The line on the other bank's statement for an ACH entry.",
    examples: [
      {
        transfer_id: sample.transferId,
        company_name: 'Acme Payments LL',
        name: 'Acme Payments LLC',
        entry_description: 'PAYMENT',
        trace_number: '071000010000042',
      },
    ],
  },
)

const sandbox = { tag: 'Sandbox', access: 'transfers:write' } as const
const answers = { 202: { description: 'The current transfer.', schema: transferSchema } }
const ended = { ...sandbox, method: 'post', answers } as const
const transfer = '/simulations/transfers/:transfer_id'

/** Operations that only a sandbox has. */
export const simulationsOperations: readonly Operation[] = [
  {
    ...sandbox,
    id: 'getClock',
    method: 'get',
    path: '/simulations/clock',
    summary: 'Read the clock of the sandbox',
    description: 'The simulated rails have a clock of their own, one for all clients.',
    answers: { 200: { description: 'The time.', schema: clockSchema } },
  },
  {
    ...sandbox,
    id: 'advanceClock',
    method: 'post',
    path: '/simulations/clock/advance',
    summary: 'Move the clock forward',
    description:
      'The payments of all clients move with it. The operator of the sandbox may restrict who moves it; others are answered with 403.',
    body: { schema: advance },
    answers: { 200: { description: 'The new time.', schema: clockSchema } },
  },
  {
    ...sandbox,
    id: 'simulateDeposit',
    method: 'post',
    path: '/simulations/deposits',
    summary: 'Simulate a token deposit',
    description: 'Credits a wallet with play money from outside. A reference is credited once.',
    body: { schema: newDeposit },
    answers: { 201: { description: 'The deposit.', schema: depositSchema } },
  },
  {
    ...sandbox,
    id: 'simulateReview',
    method: 'post',
    path: '/simulations/accounts/:account_id/status',
    summary: 'Decide the onboarding review of an account',
    description: 'As a reviewer would. Only a complete account makes transfers.',
    body: { schema: accountStatus },
    answers: { 200: { description: 'The current status.', schema: accountStatusSchema } },
  },
  {
    ...sandbox,
    id: 'simulateWire',
    method: 'post',
    path: '/simulations/wires',
    summary: 'Simulate an incoming wire',
    description: 'For a transfer that waits for a wire, or for the virtual account of an automation.',
    body: { schema: newWire },
    answers: { 202: { description: 'The transfer, or the result of the payment.', schema: arrivedSchema } },
  },
  {
    ...sandbox,
    id: 'simulateAchCredit',
    method: 'post',
    path: '/simulations/ach-credits',
    summary: 'Simulate an incoming ACH credit',
    description: 'For the virtual account of an automation.',
    body: { schema: newAchCredit },
    answers: { 202: { description: 'The result.', schema: arrivalSchema } },
  },
  {
    ...sandbox,
    id: 'simulateAutomationDeposit',
    method: 'post',
    path: '/accounts/:account_id/automations/:automation_id/simulations/deposits',
    summary: 'Simulate a deposit of an automation',
    description: 'The same as a wire or an ACH credit to its account number, for one whose virtual account is open.',
    body: { schema: automationDeposit },
    conflicts: true,
    answers: { 202: { description: 'The result.', schema: arrivalSchema } },
  },
  {
    ...sandbox,
    id: 'getStatementLine',
    method: 'get',
    path: `${transfer}/statement-line`,
    summary: "Read the other bank's statement line of an ACH transfer",
    description: 'What the other bank shows its customer, with the name of the brand.',
    answers: { 200: { description: 'The line.', schema: statementLineSchema } },
  },
  {
    ...ended,
    id: 'simulateSettlement',
    path: `${transfer}/settle`,
    summary: 'Settle a payment at once',
    description: 'The payment of the transfer is final at once, without waiting for its rail.',
  },
  {
    ...ended,
    id: 'simulateRejection',
    path: `${transfer}/reject`,
    summary: 'Reject a payment',
    description: 'The receiving side refuses the payment of the transfer, which fails.',
    body: { schema: rejection, optional: true },
  },
  {
    ...ended,
    id: 'simulateReturn',
    path: `${transfer}/return`,
    summary: 'Return an ACH payment',
    description: 'With a return code of the ACH network, before or after the transfer is complete.',
    body: { schema: achReturn },
  },
  {
    ...ended,
    id: 'simulateAcceptance',
    path: `${transfer}/accept`,
    summary: 'Accept a Canton offer',
    description: 'As the receiving party would, within 72 hours.',
  },
]
