import { isId, notFound, requireAccount, requireClient } from '../clients/authenticate.ts'
import { inClientTransaction, type ServiceContext, type Tx } from '../context.ts'
import { asClient } from '../database/tenant.ts'
import { readJson } from '../http/body.ts'
import { pageOf, readPage } from '../http/pagination.ts'
import type { RouteModule, ServiceRequest } from '../http/request.ts'
import { createIdempotently } from '../idempotency/idempotent.ts'
import { type AddressRow, findAddress, findAddressOfClient, type PostalAddress } from './addresses.ts'
import { changeAddress, parseAddressChange } from './changes.ts'
import { createExternalAddress } from './external.ts'
import { listAddresses } from './list.ts'

/** An address as the API returns it. The account number is masked, except the last four digits. Specification: "Address". */
export interface AddressResource {
  readonly id: string
  readonly account_id: string
  readonly type: 'internal' | 'external'
  readonly name: string
  readonly status: 'pending' | 'active' | 'archived'
  readonly address: string
  readonly transfer_types: readonly string[]
  readonly created: string
  readonly ownership: 'custodial' | 'counterparty'
  readonly owner?: string
  readonly account_type?: string
  readonly routing_number?: string
  readonly account_number?: string
  readonly bank_address?: PostalAddress
  readonly beneficiary_address?: PostalAddress
}

/** Mounts registration, reading and change of addresses. Specification: "Addresses". */
export const addressesRoutes: RouteModule = (app, context) => {
  app.post('/accounts/:account_id/addresses/external', (c) =>
    createIdempotently(
      c,
      context,
      { scope: 'addresses:write' },
      ({ body, caller, accountId }) =>
        (tx) =>
          createExternalAddress(tx, context, { accountId, environment: caller.environment }, body),
    ),
  )

  // Without a filter, the account's list contains its custodial wallets, as the specification requires.
  app.get('/accounts/:account_id/addresses', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'addresses:read')
    return c.json(await readList(c, context, { accountId, clientId, type: 'internal' }))
  })

  app.get('/addresses', async (c) => {
    const { clientId } = await requireClient(c, context, 'addresses:read')
    return c.json(await readList(c, context, { clientId }))
  })

  app.get('/accounts/:account_id/addresses/:address_id', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'addresses:read')
    return c.json(resourceOf(found(await findAddress(asClient(context, clientId), context, accountId, addressIdOf(c)))))
  })

  app.get('/addresses/:address_id', async (c) => {
    const { clientId } = await requireClient(c, context, 'addresses:read')
    return c.json(
      resourceOf(found(await findAddressOfClient(asClient(context, clientId), context, clientId, addressIdOf(c)))),
    )
  })

  app.patch('/accounts/:account_id/addresses/:address_id', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'addresses:write')
    return await patch(c, context, clientId, (tx) => findAddress(tx, context, accountId, addressIdOf(c)))
  })

  app.patch('/addresses/:address_id', async (c) => {
    const { clientId } = await requireClient(c, context, 'addresses:write')
    return await patch(c, context, clientId, (tx) => findAddressOfClient(tx, context, clientId, addressIdOf(c)))
  })
}

/** Writes an address as the API returns it. */
function resourceOf(row: AddressRow): AddressResource {
  const { bank } = row
  return {
    id: row.id,
    account_id: row.accountId,
    type: row.type,
    name: row.name,
    status: row.status,
    address: row.address,
    transfer_types: row.transferTypes,
    created: row.createdAt,
    ownership: row.type === 'internal' ? 'custodial' : 'counterparty',
    ...(bank === undefined
      ? {}
      : {
          owner: bank.owner,
          account_type: bank.accountType,
          routing_number: bank.routingNumber,
          account_number: `****${bank.accountNumberLast4}`,
          bank_address: bank.bankAddress,
          beneficiary_address: bank.beneficiaryAddress,
        }),
  }
}

async function readList(
  c: ServiceRequest,
  context: ServiceContext,
  owner: { readonly clientId: string; readonly accountId?: string; readonly type?: string },
) {
  const page = readPage(c, context, ['type', 'transfer_type', 'address'])
  const { type, transfer_type: transferType, address } = page.filters
  const rows = await listAddresses(asClient(context, owner.clientId), context, {
    ...owner,
    type: type ?? owner.type,
    transferType,
    address,
    direction: page.direction,
    position: page.position,
    limit: page.size + 1,
  })
  const { rows: kept, pagination } = pageOf(context, page, rows)
  return { addresses: kept.map(resourceOf), pagination }
}

async function patch(
  c: ServiceRequest,
  context: ServiceContext,
  clientId: string,
  find: (tx: Tx) => Promise<AddressRow | undefined>,
): Promise<Response> {
  const change = parseAddressChange(await readJson(c))
  const changed = await inClientTransaction(context, clientId, async (tx) =>
    changeAddress(tx, context, found(await find(tx)), change),
  )
  return c.json(resourceOf(changed))
}

function addressIdOf(c: ServiceRequest): string {
  const addressId = c.req.param('address_id') ?? ''
  if (!isId(addressId)) throw notFound('address')
  return addressId
}

function found(row: AddressRow | undefined): AddressRow {
  if (row === undefined) throw notFound('address')
  return row
}
