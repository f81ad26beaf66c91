import { z } from 'zod'
import { component, exampleOf } from '../schema/component.ts'
import type { Operation } from '../schema/operation.ts'
import { amountSchema, idSchema, sample, transferTypeSchema, valueTypeSchema } from '../schema/primitive.ts'

const balanceSchema = component(
  'Balance',
  z.object({
    address: z.object({ id: idSchema, address: z.string() }),
    balance: amountSchema,
    available: amountSchema,
    value_type: valueTypeSchema,
    transfer_type: transferTypeSchema,
  }),
  {
    description: 'The holding of one value type in one wallet on one chain. `balance` includes holds.',
    examples: [
      {
        address: { id: sample.walletId, address: sample.address },
        balance: { value: '100000.00', currency: 'USDC' },
        available: { value: '98750.00', currency: 'USDC' },
        value_type: 'USDC',
        transfer_type: 'base',
      },
    ],
  },
)

const balanceListSchema = component('BalanceList', z.object({ balances: z.array(balanceSchema) }), {
  description: 'Holdings. Empty wallets are omitted.',
  examples: [{ balances: [exampleOf(balanceSchema)] }],
})

const filters = {
  value_type: z.string().optional().meta({ description: 'Exact value type.' }),
  transfer_type: z.string().optional().meta({ description: 'Exact chain.' }),
  address_id: z.string().optional().meta({ description: 'Id of a wallet.' }),
}

/** Operations on balances. Specification: "Balances". */
export const balancesOperations: readonly Operation[] = [
  {
    id: 'listBalances',
    method: 'get',
    path: '/balances',
    tag: 'Balances',
    summary: 'List the holdings of all accounts',
    description: 'Custodial wallets only. `balance` includes what transfers hold.',
    access: 'addresses:read',
    query: filters,
    answers: { 200: { description: 'Every holding.', schema: balanceListSchema } },
  },
  {
    id: 'listAccountBalances',
    method: 'get',
    path: '/accounts/:account_id/balances',
    tag: 'Balances',
    summary: 'List the holdings of an account',
    description: 'Custodial wallets only. `balance` includes what transfers hold.',
    access: 'addresses:read',
    query: filters,
    answers: { 200: { description: 'Every holding of the account.', schema: balanceListSchema } },
  },
  {
    id: 'getAddressBalance',
    method: 'get',
    path: '/accounts/:account_id/addresses/:address_id/balance',
    tag: 'Balances',
    summary: 'Read one holding of a wallet',
    description:
      'Zero when the wallet is empty. Name the value type and the chain of a wallet that has several holdings. External addresses have no balances.',
    access: 'addresses:read',
    query: {
      value_type: z.string().optional().meta({ description: 'Exact value type. Default: what the wallet holds.' }),
      transfer_type: z.string().optional().meta({ description: 'Chain. Default: where the wallet holds it.' }),
    },
    answers: { 200: { description: 'The holding.', schema: balanceSchema } },
  },
]
