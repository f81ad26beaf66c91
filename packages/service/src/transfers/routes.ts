import { transferStatuses } from '@outlay/core'
import { isId, notFound, requireAccount } from '../clients/authenticate.ts'
import { asClient } from '../database/tenant.ts'
import { readChoices, readTypes } from '../http/filters.ts'
import { pageOf, readPage } from '../http/pagination.ts'
import type { RouteModule, ServiceRequest } from '../http/request.ts'
import { createIdempotently } from '../idempotency/idempotent.ts'
import { cancelTransfer } from './cancellation.ts'
import { createTransfer } from './creation.ts'
import { transferBodyOf } from './public-body.ts'
import { findTransfer, listTransfers, transferFilters } from './transfers.ts'
import { transferView } from './view.ts'

/** Mounts transfers: create (also under the singular path), list, read, cancel. Specification: "Transfers". */
export const transfersRoutes: RouteModule = (app, context) => {
  const create = (c: ServiceRequest): Promise<Response> =>
    createIdempotently(c, context, { scope: 'transfers:write', readsKeyLate: true }, (input) =>
      createTransfer(context, context.dialect === 'public' ? { ...input, body: transferBodyOf(input.body) } : input),
    )
  app.post('/accounts/:account_id/transfers', create)
  app.post('/accounts/:account_id/transfer', create)

  app.get('/accounts/:account_id/transfers', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'transfers:read')
    const page = readPage(c, context, transferFilters)
    const found = await listTransfers(asClient(context, clientId), context, accountId, {
      ...page,
      filters: readTypes(context, readChoices(page.filters, { status: transferStatuses })),
      limit: page.size + 1,
    })
    const { rows, pagination } = pageOf(context, page, found)
    return c.json({ transfers: rows.map(transferView), pagination })
  })

  app.get('/accounts/:account_id/transfers/:transfer_id', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'transfers:read')
    const transferId = c.req.param('transfer_id')
    if (!isId(transferId)) throw notFound('transfer')
    const row = await findTransfer(asClient(context, clientId), context, accountId, transferId)
    if (row === undefined) throw notFound('transfer')
    return c.json(transferView(row))
  })

  app.post('/accounts/:account_id/transfers/:transfer_id/cancel', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'transfers:write')
    const transferId = c.req.param('transfer_id')
    if (!isId(transferId)) throw notFound('transfer')
    const row = await cancelTransfer(context, { clientId }, accountId, transferId)
    if (row === undefined) throw notFound('transfer')
    return c.json(transferView(row))
  })
}
