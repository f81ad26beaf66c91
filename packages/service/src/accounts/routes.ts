import { notFound, requireAccount, requireClient } from '../clients/authenticate.ts'
import { listAccountIds } from '../clients/clients.ts'
import { asClient } from '../database/tenant.ts'
import type { RouteModule } from '../http/request.ts'
import { answerOnce } from '../idempotency/idempotent.ts'
import { createAccount, findAccount, prepareAccount } from './accounts.ts'
import { parseNewAccount } from './input.ts'

/** Mounts registration and reading of accounts. Specification: "Accounts". */
export const accountsRoutes: RouteModule = (app, context) => {
  app.post('/accounts', async (c) => {
    const caller = await requireClient(c, context, 'accounts:write')
    // The answer contains the owners of the business, so it is stored sealed.
    return await answerOnce(c, context, caller, { sealed: true }, async (body, reads) => {
      const account = parseNewAccount(body)
      const prepared = await prepareAccount(reads, context, caller)
      return (tx) => createAccount(tx, context, caller, account, prepared)
    })
  })

  app.get('/accounts', async (c) => {
    const caller = await requireClient(c, context, 'accounts:read')
    return c.json({ accounts: await listAccountIds(asClient(context, caller.clientId), context, caller.clientId) })
  })

  app.get('/accounts/:account_id', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'accounts:read')
    const account = await findAccount(asClient(context, clientId), context, accountId)
    if (account === undefined) throw notFound('account')
    return c.json(account)
  })
}
