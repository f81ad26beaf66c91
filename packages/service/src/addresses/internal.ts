import { Address, Id, type Issue, OutlayError } from '@outlay/core'
import { z } from 'zod'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, run, statement } from '../database/statement.ts'
import type { Environment } from '../schema/caller.ts'
import { mostTransferTypes } from '../schema/primitive.ts'
import { type AddressRow, addressColumns, readAddress } from './addresses.ts'
import { checkEnvironment } from './external.ts'
import { normalOf, type ProvisionedWallet, provisionPlans } from './wallets.ts'

/** Most wallets that a client may ask for beside those that an account has anyway. */
export const mostAdditionalWallets = 100

/** The body of `POST /accounts/{account_id}/addresses/internal`. */
export const newInternalSchema = z.object({
  name: z.string().trim().min(1).max(255),
  transfer_types: z.array(z.string().min(1).max(64)).min(1).max(mostTransferTypes),
})

/** A further wallet that the custodian has provided. */
export interface PreparedWallet extends ProvisionedWallet {
  readonly id: string
  readonly name: string
}

/** Whose wallet it is. */
interface WalletOwner {
  readonly accountId: string
  readonly environment: Environment
}

/**
 * Reads the body that asks for a further wallet of an account, and asks the custodian for it, outside any transaction.
 * @throws OutlayError `invalid_request`, what `Address.checkTransferTypes` throws, `mixed_environments`, `transfer_type_not_supported` for a
 *   bank rail, `unsupported_flow` without a custodian, and `service_unavailable` when the custodian does not provide it now.
 */
export async function prepareInternalAddress(
  executor: Executor,
  context: ServiceContext,
  { accountId, environment }: WalletOwner,
  body: unknown,
): Promise<PreparedWallet> {
  const { name, transfer_types: given } = parse(body)
  const transferTypes = Address.checkTransferTypes(given, context.catalog, 'transfer_types')
  checkEnvironment(context, environment, transferTypes)
  const family = context.catalog.transferType(transferTypes[0] ?? '')?.family ?? 'bank'
  if (family === 'bank') {
    const message = 'A wallet cannot list bank rails.'
    throw new OutlayError('transfer_type_not_supported', message, { field: 'transfer_types' })
  }
  if (context.custody === undefined)
    throw new OutlayError('unsupported_flow', 'Nobody here provides wallets.', { field: '' })
  const id = Id.generate(context.clock, context.random)
  const order = { accountId, environment, walletId: id, wallets: [{ family, transferTypes }] }
  const [wallet] = (await provisionPlans(executor, context, order)) ?? []
  if (wallet !== undefined) return { ...wallet, id, name }
  throw new OutlayError(
    'service_unavailable',
    'No wallet can be provided now; send the request again with the same key.',
  )
}

/**
 * Writes a further wallet in the caller's transaction, active if its account is complete. It holds what is sent to it, like those that the account has
 * anyway.
 * @throws OutlayError `conflict` when the account has {@link mostAdditionalWallets}.
 */
export async function createInternalAddress(
  tx: Tx,
  context: ServiceContext,
  { accountId, environment }: WalletOwner,
  { id, name, family, transferTypes, address }: PreparedWallet,
): Promise<AddressRow> {
  await run(tx, context, lockAccount, [accountId])
  const [written] = await run(tx, context, insertWallet, [
    id,
    accountId,
    environment,
    family === 'canton' ? 'canton' : 'wallet',
    family,
    name,
    address,
    normalOf({ family, address }),
    transferTypes,
    context.clock.now(),
    context.custody?.name,
    mostAdditionalWallets,
  ])
  if (written !== undefined) return written
  throw new OutlayError('conflict', `The account has ${mostAdditionalWallets} further wallets, which is the limit.`)
}

function parse(body: unknown): z.infer<typeof newInternalSchema> {
  const parsed = newInternalSchema.safeParse(body)
  if (parsed.success) return parsed.data
  const [first, ...rest] = parsed.error.issues.map((issue): Issue => {
    const field = issue.path.map(String).join('.')
    return { field, code: 'invalid_request', message: issue.message }
  })
  if (first === undefined) throw new Error('A refused body has no issue.')
  throw OutlayError.fromIssues([first, ...rest])
}

// Its status is read after another transaction that changes it has committed, and so is the number of its wallets.
const lockAccount = statement(
  'account_lock_for_wallets',
  'select from {{schema}}.account where id = $1 for no key update',
)

const insertWallet = statement(
  'address_insert_internal',
  `insert into {{schema}}.address
     (id, account_id, environment, type, kind, family, status, name, address, address_normal, transfer_types,
      created_at, updated_at, custody, additional)
   select $1, $2, $3, 'internal', $4, $5, case a.status when 'complete' then 'active' else 'pending' end,
          $6, $7, $8, $9, $10, $10, $11, true
     from {{schema}}.account a
    where a.id = $2
      and (select count(*) from {{schema}}.address where account_id = $2 and type = 'internal' and additional) < $12
   returning ${addressColumns}`,
  readAddress,
)
