import { type AccountStatus, Address, Id, type Issue, OutlayError } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import { z } from 'zod'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, run, statement } from '../database/statement.ts'
import { snakeCased } from '../http/body-shape.ts'
import type { KeyedRequest } from '../idempotency/keys.ts'
import type { Environment } from '../schema/caller.ts'
import { mostTransferTypes } from '../schema/primitive.ts'
import { digestOf } from '../secrets.ts'
import { type AddressRow, addressColumns, normalAddress, readAddress } from './addresses.ts'
import { checkEnvironment } from './external.ts'
import { type ProvisionedWallet, provisionPlans } from './wallets.ts'

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
 * Reads the body that asks for a further wallet of an account, and asks the custodian for it, outside any transaction. A repeat of the request
 * orders the same wallet, so one whose answer was lost leaves none behind.
 * @throws OutlayError `invalid_request`, what `Address.checkTransferTypes` throws, `mixed_environments`, `transfer_type_not_supported` for a
 *   bank rail, `unsupported_flow` without a custodian, `conflict` when the account has {@link mostAdditionalWallets},
 *   `account_not_ready` when it is rejected, and `service_unavailable` when the custodian does not provide it now.
 */
export async function prepareInternalAddress(
  executor: Executor,
  context: ServiceContext,
  { accountId, environment }: WalletOwner,
  body: unknown,
  request: KeyedRequest,
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
  await checkRoom(executor, context, accountId)
  const order = { accountId, environment, walletId: walletIdOf(request), wallets: [{ family, transferTypes }] }
  const [wallet] = (await provisionPlans(executor, context, order, request.clientId)) ?? []
  if (wallet !== undefined) return { ...wallet, id: Id.generate(context.clock, context.random), name }
  throw new OutlayError(
    'service_unavailable',
    'No wallet can be provided now; send the request again with the same key.',
  )
}

/** Asks nobody for a wallet that would not be written. The write checks again. */
async function checkRoom(executor: Executor, context: ServiceContext, accountId: string): Promise<void> {
  const [found] = await run(executor, context, selectRoom, [accountId, mostAdditionalWallets])
  if (found === undefined) throw new OutlayError('not_found', 'The account does not exist.')
  if (found.status === 'rejected') {
    throw new OutlayError('account_not_ready', 'The account is rejected; wallets require another decision.')
  }
  if (!found.hasRoom) throw tooManyWallets()
}

function tooManyWallets(): OutlayError {
  return new OutlayError('conflict', `The account has ${mostAdditionalWallets} further wallets, which is the limit.`)
}

/** The custodian's key for the wallet of a request, in the form of a ULID. */
function walletIdOf({ clientId, idempotencyKey, fingerprint }: KeyedRequest): string {
  const octets = digestOf(`${clientId} ${idempotencyKey} ${fingerprint}`)
  const time = new Date(octets.readUIntBE(0, 6))
  return Id.generate({ now: () => time }, { bytes: (length) => octets.subarray(6, 6 + length) })
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
    normalAddress(address),
    transferTypes,
    context.clock.now(),
    context.custody?.name,
    mostAdditionalWallets,
  ])
  if (written !== undefined) return written
  throw tooManyWallets()
}

function parse(body: unknown): z.infer<typeof newInternalSchema> {
  const parsed = newInternalSchema.safeParse(snakeCased(body))
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

const selectRoom = statement(
  'account_select_room_for_wallets',
  `select o.status, (
            select count(*) from {{schema}}.address a where a.account_id = o.id and a.type = 'internal' and a.additional
          ) < $2 as has_room
     from {{schema}}.account o
    where o.id = $1`,
  rowDecoder('account', { status: Column.word<AccountStatus>(), hasRoom: Column.boolean }),
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
