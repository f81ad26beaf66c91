import { type AccountStatus, OutlayError } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { PostalAddress } from '../addresses/addresses.ts'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, type Row, run, statement } from '../database/statement.ts'

/** What the receiving bank sees of an account. */
export interface Brand {
  readonly business_name: string
  readonly address: PostalAddress
}

/**
 * Reads the account that a request names as its brand; `undefined` when it names none.
 * @throws OutlayError `invalid_id` for an account that the client neither owns nor manages, `account_not_ready` for one that is not
 *   complete: nobody has reviewed the name that other banks would see.
 */
export async function findBrand(
  executor: Executor | Tx,
  context: ServiceContext,
  clientId: string,
  brand: { readonly accountId: string } | undefined,
): Promise<Brand | undefined> {
  if (brand === undefined) return undefined
  const [found] = await run(executor, context, selectBrand, [clientId, brand.accountId])
  const field = 'brand.accountId'
  if (found === undefined) {
    throw new OutlayError('invalid_id', 'The brand is not an account that you own or manage.', { field })
  }
  const { status, ...shown } = found
  if (status === 'complete') return shown
  throw new OutlayError('account_not_ready', `The brand is ${status}; other banks see complete accounts only.`, {
    field,
  })
}

const readBrand: (row: Row) => Brand & { readonly status: AccountStatus } = rowDecoder('brand', {
  status: Column.word<AccountStatus>(),
  business_name: Column.text,
  address: Column.json<PostalAddress>(),
})

const selectBrand = statement(
  'brand_select',
  `select a.status, a.business_name, a.address
     from {{schema}}.client_account c
     join {{schema}}.account a on a.id = c.account_id
    where c.client_id = $1 and c.account_id = $2`,
  readBrand,
)
