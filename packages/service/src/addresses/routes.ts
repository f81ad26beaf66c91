import { isId, notFound, requireAccount, requireClient } from '../clients/authenticate.ts'
import { inClientTransaction, type ServiceContext, type Tx } from '../context.ts'
import { asClient } from '../database/tenant.ts'
import { readJson } from '../http/body.ts'
import { inSpellingOf } from '../http/body-shape.ts'
import { readChoices, readTypes } from '../http/filters.ts'
import { pageOf, readPage } from '../http/pagination.ts'
import type { RouteModule, ServiceRequest } from '../http/request.ts'
import { createIdempotently } from '../idempotency/idempotent.ts'
import { type AddressRow, findAddress, findAddressOfClient } from './addresses.ts'
import { changeAddress, parseAddressChange } from './changes.ts'
import { createExternalAddress } from './external.ts'
import { createInternalAddress, prepareInternalAddress } from './internal.ts'
import { listAddresses, listClientAddresses, positionInClient } from './list.ts'
import { addressView } from './view.ts'

/** Mounts registration, reading and change of addresses. Specification: "Addresses". */
export const addressesRoutes: RouteModule = (app, context) => {
  const defaultType = context.dialect === 'public' ? undefined : 'internal'

  app.post('/accounts/:account_id/addresses/external', (c) =>
    createIdempotently(
      c,
      context,
      // The answer contains the owner of a bank account, so it is stored sealed.
      { scope: 'addresses:write', sealed: true },
      ({ body, caller, accountId }) =>
        async (tx) =>
          addressView(await createExternalAddress(tx, context, { accountId, environment: caller.environment }, body)),
    ),
  )

  app.post('/accounts/:account_id/addresses/internal', (c) =>
    createIdempotently(
      c,
      context,
      { scope: 'addresses:write' },
      async ({ body, caller, accountId, request, reads }) => {
        const owner = { accountId, environment: caller.environment }
        const wallet = await prepareInternalAddress(reads, context, owner, body, request)
        return async (tx) => addressView(await createInternalAddress(tx, context, owner, wallet))
      },
    ),
  )

  // Without a filter, the account's list contains its custodial wallets, as the specification requires. The public contract has all of them.
  app.get('/accounts/:account_id/addresses', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'addresses:read')
    return c.json(await readList(c, context, { accountId, clientId, type: defaultType }))
  })

  app.get('/addresses', async (c) => {
    const { clientId } = await requireClient(c, context, 'addresses:read')
    return c.json(await readList(c, context, { clientId }))
  })

  app.get('/accounts/:account_id/addresses/:address_id', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'addresses:read')
    return c.json(
      addressView(found(await findAddress(asClient(context, clientId), context, accountId, addressIdOf(c)))),
    )
  })

  app.get('/addresses/:address_id', async (c) => {
    const { clientId } = await requireClient(c, context, 'addresses:read')
    return c.json(
      addressView(found(await findAddressOfClient(asClient(context, clientId), context, clientId, addressIdOf(c)))),
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

async function readList(
  c: ServiceRequest,
  context: ServiceContext,
  { clientId, accountId, type: defaultType }: ListOwner,
) {
  const page = readPage(c, context, ['type', 'transfer_type', 'address'])
  const {
    type = defaultType,
    transfer_type: transferType,
    address,
  } = readTypes(context, readChoices(page.filters, { type: addressTypes }))
  const { direction, position, size } = page
  const query = { filters: { type, transferType, address }, direction, position, limit: size + 1 }
  const client = asClient(context, clientId)
  const { rows, pagination } =
    accountId === undefined
      ? pageOf(context, page, await listClientAddresses(client, context, clientId, query), positionInClient)
      : pageOf(context, page, await listAddresses(client, context, accountId, query))
  return { addresses: rows.map(addressView), pagination }
}

/** Whose addresses a list has. */
interface ListOwner {
  readonly clientId: string
  /** Default: all accounts of the client. */
  readonly accountId?: string
  /** Where the request names none. Default: both. */
  readonly type?: string | undefined
}

const addressTypes = ['internal', 'external']

async function patch(
  c: ServiceRequest,
  context: ServiceContext,
  clientId: string,
  find: (tx: Tx) => Promise<AddressRow | undefined>,
): Promise<Response> {
  const body = await readJson(c)
  const changed = await inSpellingOf(body, () => {
    const change = parseAddressChange(body)
    return inClientTransaction(context, clientId, async (tx) =>
      changeAddress(tx, context, found(await find(tx)), change),
    )
  })
  return c.json(addressView(changed))
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
