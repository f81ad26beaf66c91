import { addressOwnerships } from '@outlay/core'
import { z } from 'zod'
import { component, exampleOf, lastPage } from '../schema/component.ts'
import type { Operation } from '../schema/operation.ts'
import {
  idSchema,
  mostTransferTypes,
  pageParameters,
  paginationSchema,
  postalAddressSchema,
  sample,
  textSchema,
  timestampSchema,
  transferTypeSchema,
} from '../schema/primitive.ts'
import { addressChangeSchema } from './changes.ts'
import { mostAdditionalWallets, newInternalSchema } from './internal.ts'

const place = { street_line_1: '1 Main Street', city: 'Springfield', state: 'IL', zip: '62701' }

const ownership = textSchema
  .nullish()
  .meta({ description: `Whose the address is: ${addressOwnerships.join(' or ')}.`, examples: [...addressOwnerships] })

const newWallet = component(
  'NewWalletAddress',
  z.object({
    name: textSchema,
    address: textSchema,
    transfer_types: z.array(textSchema).max(mostTransferTypes),
    ownership,
  }),
  {
    description:
      'An on-chain wallet or a Canton party. EVM chains of one environment share one entry; every other chain needs its own.',
    examples: [{ name: 'Supplier', address: sample.address, transfer_types: ['ethereum', 'base'] }],
  },
)

const newBank = component(
  'NewBankAddress',
  z.object({
    owner: textSchema,
    name: textSchema.nullish().meta({ description: 'Default: the owner.' }),
    account_number: textSchema.meta({ description: '4 to 17 digits; 18 digits for a CLABE (spei).' }),
    routing_number: textSchema.nullish().meta({ description: 'Nine digits; left out for a CLABE.' }),
    account_type: textSchema.meta({ examples: ['checking', 'savings'] }),
    bank_address: postalAddressSchema.nullish().meta({ description: 'Required for wires.' }),
    beneficiary_address: postalAddressSchema.nullish().meta({ description: 'Required for wires.' }),
    transfer_types: z.array(textSchema).max(mostTransferTypes),
    ownership,
  }),
  {
    description: 'An external bank account.',
    examples: [
      {
        owner: 'Roe Supplies LLC',
        name: 'Supplier',
        account_number: '445566778899',
        routing_number: '021000021',
        account_type: 'checking',
        bank_address: place,
        beneficiary_address: place,
        transfer_types: ['ach_credit', 'wire'],
      },
    ],
  },
)

const newWireBank = newBank.extend({ bank_address: postalAddressSchema, beneficiary_address: postalAddressSchema })

const newExternal = component('NewExternalAddress', z.union([newWallet, newBank]), {
  description: 'A counterparty: an on-chain wallet, a Canton party or a bank account. The members say which one it is.',
  examples: [exampleOf(newWallet), exampleOf(newBank)],
})

const newInternal = component('NewInternalAddress', newInternalSchema, {
  description: 'A further custodial wallet. EVM chains of one environment share one; every other chain needs its own.',
  examples: [{ name: 'Payroll wallet', transfer_types: ['base', 'polygon'] }],
})

const addressChange = component('AddressChange', addressChangeSchema, {
  description:
    'Adds transfer types; existing ones stay. A custodial wallet gets no further ones, and its status cannot be set. Only a bank account has `bank_address` and `beneficiary_address`, and it needs both for wires.',
  examples: [{ transfer_types: ['polygon'] }],
})

const addressSchema = component(
  'Address',
  z.object({
    id: idSchema,
    account_id: idSchema,
    type: z
      .enum(['internal', 'external'])
      .meta({ description: '`internal` for a custodial wallet, `external` for a counterparty.' }),
    name: z.string(),
    status: z.enum(['pending', 'active', 'archived']),
    address: z.string().meta({ description: 'On-chain address or Canton party; empty for a bank account.' }),
    transfer_types: z.array(transferTypeSchema),
    created: timestampSchema,
    last_updated: timestampSchema,
    ownership: z.enum(['custodial', 'counterparty', ...addressOwnerships]),
    is_primary: z.boolean().meta({ description: 'True for the custodial wallets that an account has anyway.' }),
    needs_update: z
      .boolean()
      .meta({ description: 'True when the owner of a linked bank account has to link it again.' }),
    owner: z.string().optional(),
    account_type: z.string().optional(),
    routing_number: z.string().optional(),
    routingNumber: z.string().optional().meta({ description: 'The same as `routing_number`.' }),
    account_number: z.string().optional().meta({ description: 'Masked, except the last four digits.' }),
    bank_address: postalAddressSchema.optional(),
    beneficiary_address: postalAddressSchema.optional(),
  }),
  {
    description: 'The source or destination of value: a wallet or a bank account.',
    examples: [
      {
        id: sample.walletId,
        account_id: sample.accountId,
        type: 'internal',
        name: 'EVM wallet',
        status: 'active',
        address: sample.address,
        transfer_types: ['ethereum', 'base', 'polygon', 'arbitrum'],
        created: sample.time,
        last_updated: sample.time,
        ownership: 'custodial',
        is_primary: true,
        needs_update: false,
      },
    ],
  },
)

const addressListSchema = component(
  'AddressList',
  z.object({ addresses: z.array(addressSchema), pagination: paginationSchema }),
  {
    description: 'One page of addresses.',
    examples: [{ addresses: [exampleOf(addressSchema)], pagination: lastPage }],
  },
)

const filters = {
  type: z.string().optional().meta({ description: '`internal` or `external`.' }),
  transfer_type: z.string().optional().meta({ description: 'Addresses that support this transfer type.' }),
  address: z.string().optional().meta({ description: 'Exact on-chain address.' }),
  ...pageParameters,
}

// The members that only a bank account has, in either spelling.
const bankMember = /^(owner|account_?number|routing_?number|account_?type|bank_?address|beneficiary_?address)$/i

const isBankShaped = (body: unknown): boolean =>
  typeof body === 'object' &&
  body !== null &&
  !('address' in body) &&
  Object.keys(body).some((key) => bankMember.test(key))

/** What checks the shape of an external address: its members say which kind it is, and wires need more of them. */
function checkOf(body: unknown): z.ZodType {
  if (!isBankShaped(body)) return newWallet
  const names = (body as Readonly<Record<string, unknown>>)['transfer_types']
  return Array.isArray(names) && names.includes('wire') ? newWireBank : newBank
}

const list = { 200: { description: 'A page.', schema: addressListSchema } }
const one = { 200: { description: 'The address.', schema: addressSchema } }

const accountList = {
  id: 'listAccountAddresses',
  method: 'get',
  path: '/accounts/:account_id/addresses',
  tag: 'Addresses',
  summary: 'List the addresses of an account',
  access: 'addresses:read',
  query: filters,
  answers: list,
} as const

/** Operations on addresses. Specification: "Addresses". */
export const addressesOperations: readonly Operation[] = [
  {
    id: 'createExternalAddress',
    method: 'post',
    path: '/accounts/:account_id/addresses/external',
    tag: 'Addresses',
    summary: 'Register a counterparty',
    description: 'A wallet on a chain, a Canton party or a bank account. Its format and check digits are verified.',
    access: 'addresses:write',
    keyed: true,
    body: { schema: newExternal, check: checkOf },
    answers: { 201: { description: 'The address. Transfers use its `id` as `address_id`.', schema: addressSchema } },
  },
  {
    id: 'createInternalAddress',
    method: 'post',
    path: '/accounts/:account_id/addresses/internal',
    tag: 'Addresses',
    summary: 'Create a further wallet',
    description: `Beside the wallets that the account has anyway, up to ${mostAdditionalWallets}.`,
    access: 'addresses:write',
    keyed: true,
    conflicts: true,
    body: { schema: newInternal, check: 'route' },
    answers: { 201: { description: 'The wallet.', schema: addressSchema } },
  },
  {
    ...accountList,
    dialect: 'specification',
    description: 'Without the filter `type`, the list contains the custodial wallets.',
  },
  {
    ...accountList,
    dialect: 'public',
    description: 'Custodial wallets and counterparties, oldest first. `type` selects one of the two.',
  },
  {
    id: 'listAddresses',
    method: 'get',
    path: '/addresses',
    tag: 'Addresses',
    summary: 'List the addresses of all accounts',
    description: 'Custodial wallets and counterparties of every account of the client, oldest first.',
    access: 'addresses:read',
    query: filters,
    answers: list,
  },
  {
    id: 'getAccountAddress',
    method: 'get',
    path: '/accounts/:account_id/addresses/:address_id',
    tag: 'Addresses',
    summary: 'Read an address of an account',
    description: 'A custodial wallet or a counterparty. An account number is masked.',
    access: 'addresses:read',
    answers: one,
  },
  {
    id: 'getAddress',
    method: 'get',
    path: '/addresses/:address_id',
    tag: 'Addresses',
    summary: 'Read an address',
    description: 'An address of any account of the client.',
    access: 'addresses:read',
    answers: one,
  },
  {
    id: 'changeAccountAddress',
    method: 'patch',
    path: '/accounts/:account_id/addresses/:address_id',
    tag: 'Addresses',
    summary: 'Change an address of an account',
    description: 'Adds transfer types, renames or archives it. A bank account gets its postal addresses here.',
    access: 'addresses:write',
    body: { schema: addressChange, check: 'route' },
    answers: one,
  },
  {
    id: 'changeAddress',
    method: 'patch',
    path: '/addresses/:address_id',
    tag: 'Addresses',
    summary: 'Change an address',
    description: 'The same as under its account.',
    access: 'addresses:write',
    body: { schema: addressChange, check: 'route' },
    answers: one,
  },
]
