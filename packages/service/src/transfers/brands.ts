import { OutlayError } from '@outlay/core'
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
 * @throws OutlayError `invalid_id` for an account that the client neither owns nor manages.
 */
export async function findBrand(
  executor: Executor | Tx,
  context: ServiceContext,
  clientId: string,
  brand: { readonly accountId: string } | undefined,
): Promise<Brand | undefined> {
  if (brand === undefined) return undefined
  const [found] = await run(executor, context, selectBrand, [clientId, brand.accountId])
  if (found !== undefined) return found
  throw new OutlayError('invalid_id', 'The brand is not an account that you own or manage.', {
    field: 'brand.accountId',
  })
}

const readBrand: (row: Row) => Brand = rowDecoder('brand', {
  business_name: Column.text,
  address: Column.json<PostalAddress>(),
})

const selectBrand = statement(
  'brand_select',
  `select a.business_name, a.address
     from {{schema}}.client_account c
     join {{schema}}.account a on a.id = c.account_id
    where c.client_id = $1 and c.account_id = $2`,
  readBrand,
)
