import { isId, notFound, requireAccount, requireClient } from '../clients/authenticate.ts'
import { listAccountIds } from '../clients/clients.ts'
import type { ServiceContext } from '../context.ts'
import { asClient } from '../database/tenant.ts'
import { readTypes } from '../http/filters.ts'
import { readParameter } from '../http/pagination.ts'
import type { RouteModule, ServiceRequest } from '../http/request.ts'
import { type BalanceFilters, balanceFilters, findBalance, listBalances } from './balances.ts'

/** Mounts the routes of balances. Specification: "Balances"; scope `addresses:read`. */
export const balancesRoutes: RouteModule = (app, context) => {
  app.get('/balances', async (c) => {
    const { clientId } = await requireClient(c, context, 'addresses:read')
    const accountIds = await listAccountIds(asClient(context, clientId), context, clientId)
    return c.json({
      balances: await listBalances(asClient(context, clientId), context, accountIds, readFilters(c, context)),
    })
  })

  app.get('/accounts/:account_id/balances', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'addresses:read')
    return c.json({
      balances: await listBalances(asClient(context, clientId), context, [accountId], readFilters(c, context)),
    })
  })

  app.get('/accounts/:account_id/addresses/:address_id/balance', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'addresses:read')
    const addressId = c.req.param('address_id')
    if (!isId(addressId)) throw notFound('address')
    const { value_type: valueType, transfer_type: transferType } = readFilters(c, context)
    const holding = { valueType, transferType }
    return c.json(await findBalance(asClient(context, clientId), context, accountId, addressId, holding))
  })
}

function readFilters(c: ServiceRequest, context: ServiceContext): BalanceFilters {
  const filters: Record<string, string> = {}
  for (const name of balanceFilters) {
    const value = readParameter(c, name)
    if (value !== undefined) filters[name] = value
  }
  return readTypes(context, filters)
}
