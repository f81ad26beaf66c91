import { Address, type Issue, OutlayError } from '@outlay/core'
import { z } from 'zod'
import type { ServiceContext, Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'
import { snakeCased } from '../http/body-shape.ts'
import { mostTransferTypes, postalAddressSchema } from '../schema/primitive.ts'
import { type AddressRow, addressColumns, readAddress } from './addresses.ts'
import { checkEnvironment } from './external.ts'

const names = z.array(z.string().min(1).max(64)).max(mostTransferTypes)

/** The body of `PATCH /addresses/{address_id}`. */
export const addressChangeSchema = z.object({
  transfer_types: names.optional(),
  additional_transfer_types: names.optional(),
  name: z.string().trim().min(1).max(255).optional(),
  status: z.enum(['active', 'archived']).optional(),
  bank_address: postalAddressSchema.optional(),
  beneficiary_address: postalAddressSchema.optional(),
})

/** Changes to an address. */
export type AddressChange = z.infer<typeof addressChangeSchema>

/**
 * Reads the body of a change. Ignores unknown members.
 * @throws OutlayError `invalid_request` naming the members, or when the body changes nothing.
 */
export function parseAddressChange(body: unknown): AddressChange {
  const parsed = addressChangeSchema.safeParse(snakeCased(body))
  if (!parsed.success) {
    const [first, ...rest] = parsed.error.issues.map(
      (issue): Issue => ({ field: issue.path.map(String).join('.'), code: 'invalid_request', message: issue.message }),
    )
    if (first === undefined) throw new Error('A refused change has no issue.')
    throw OutlayError.fromIssues([first, ...rest])
  }
  if (Object.keys(parsed.data).length === 0)
    throw new OutlayError('invalid_request', 'Name transfer_types, name or status to change.', { field: '' })
  return parsed.data
}

/**
 * Changes an address in the caller's transaction. Adds transfer types and never removes any. Only the service sets the status of a
 * custodial wallet, which keeps the chains that its custodian provided. Specification: "PATCH /addresses/{address_id}".
 * @throws OutlayError `invalid_request`, `unknown_transfer_type`, `mixed_chains`, `mixed_environments`, `transfer_type_not_supported`.
 */
export async function changeAddress(
  tx: Tx,
  context: ServiceContext,
  address: AddressRow,
  change: AddressChange,
): Promise<AddressRow> {
  if (change.status !== undefined && address.type === 'internal')
    throw new OutlayError('invalid_request', 'The status of a custodial wallet cannot be set.', { field: 'status' })
  const added = addedTransferTypes(context, address, change)
  checkCustody(address, change, added)
  checkBankAddresses(context, address, change, added)
  const bankAddress = change.bank_address === undefined ? null : JSON.stringify(change.bank_address)
  const beneficiaryAddress =
    change.beneficiary_address === undefined ? null : JSON.stringify(change.beneficiary_address)
  const names = [change.name ?? null, change.status ?? null]
  const values = [address.id, added, ...names, context.clock.now(), bankAddress, beneficiaryAddress]
  const [changed] = await run(tx, context, updateAddress, values)
  if (changed === undefined) throw new Error('The address no longer exists.')
  return changed
}

/** Whether its custodian can move money on a further chain is not known, and money that arrives there may be lost. */
function checkCustody({ type }: AddressRow, change: AddressChange, added: readonly string[]): void {
  if (type !== 'internal' || added.length === 0) return
  const field = change.transfer_types?.length ? 'transfer_types' : 'additional_transfer_types'
  const message =
    'A custodial wallet keeps the chains that its custodian provided. Create a further wallet: POST /accounts/{account_id}/addresses/internal.'
  throw new OutlayError('transfer_type_not_supported', message, { field })
}

/** Only a bank account has postal addresses, and one that sends wires needs both. */
function checkBankAddresses(
  context: ServiceContext,
  { kind, bank }: AddressRow,
  change: AddressChange,
  added: readonly string[],
): void {
  const isWire = added.some((name) => context.catalog.transferType(name)?.wire === true)
  const stored = { bank_address: bank?.bankAddress, beneficiary_address: bank?.beneficiaryAddress }
  for (const field of ['bank_address', 'beneficiary_address'] as const) {
    if (change[field] !== undefined && kind !== 'bank')
      throw new OutlayError('invalid_request', 'Only a bank account has this member.', { field })
    if (isWire && change[field] === undefined && stored[field] === undefined)
      throw new OutlayError('missing_field', 'A bank account needs this member for wires.', { field })
  }
}

function addedTransferTypes(context: ServiceContext, address: AddressRow, change: AddressChange): readonly string[] {
  for (const field of ['transfer_types', 'additional_transfer_types'] as const) {
    const given = change[field] ?? []
    if (given.length === 0) continue
    // Names of the request come first, so that the indexes of a refusal match the request.
    const merged = Address.checkTransferTypes([...given, ...address.transferTypes], context.catalog, field)
    checkEnvironment(context, address.environment, merged)
  }
  const all = [...address.transferTypes, ...(change.transfer_types ?? []), ...(change.additional_transfer_types ?? [])]
  const merged = Address.checkTransferTypes(all, context.catalog, 'transfer_types')
  return merged.filter((name) => !address.transferTypes.includes(name))
}

// Two concurrent changes both keep their additions: the second one adds to the result of the first.
const updateAddress = statement(
  'address_update',
  `update {{schema}}.address
      set transfer_types = transfer_types
            || (select coalesce(array_agg(t order by n), '{}')
                  from unnest($2::text[]) with ordinality as added (t, n)
                 where t <> all (transfer_types)),
          name = coalesce($3, name),
          status = coalesce($4, status),
          bank_address = coalesce($6, bank_address),
          beneficiary_address = coalesce($7, beneficiary_address),
          updated_at = $5
    where id = $1
   returning ${addressColumns}`,
  readAddress,
)
