import { Id } from '@outlay/core'
import { notFound, requireAccount, requireClient } from '../clients/authenticate.ts'
import { listAccountIds } from '../clients/clients.ts'
import { inClientTransaction } from '../context.ts'
import { asClient } from '../database/tenant.ts'
import { readJson } from '../http/body.ts'
import { inSpellingOf } from '../http/body-shape.ts'
import type { RouteModule } from '../http/request.ts'
import { answerOnce } from '../idempotency/idempotent.ts'
import { changeAccount, createAccount, findAccount } from './accounts.ts'
import { parseAccountChange, parseNewAccount } from './input.ts'
import { orderFirstWallets, orderLeaseMs, type WalletOrderOfAccount } from './wallet-orders.ts'

/** Mounts registration and reading of accounts. Specification: "Accounts". */
export const accountsRoutes: RouteModule = (app, context) => {
  app.post('/accounts', async (c) => {
    const caller = await requireClient(c, context, 'accounts:write')
    const registered: { order?: WalletOrderOfAccount | undefined } = {}
    // The answer contains the owners of the business, so it is stored sealed.
    const response = await answerOnce(c, context, caller, { sealed: true }, (body) => {
      const account = parseNewAccount(body, { ownersOptional: context.dialect === 'public' })
      return async (tx) => {
        const id = Id.generate(context.clock, context.random)
        const leasedUntil = new Date(context.clock.now().getTime() + orderLeaseMs)
        const walletsAt = context.custody === undefined ? undefined : leasedUntil
        registered.order = walletsAt && { id, environment: caller.environment, leasedUntil }
        return await createAccount(tx, context, caller, account, { id, walletsAt })
      }
    })
    // Behind the commit, so that the custodian provides nothing for an account that nobody knows.
    if (registered.order !== undefined) await orderFirstWallets(context, caller, registered.order)
    return response
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

  app.patch('/accounts/:account_id', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'accounts:write')
    const body = await readJson(c)
    const change = await inSpellingOf(body, () => parseAccountChange(body))
    const account = await inClientTransaction(context, clientId, (tx) => changeAccount(tx, context, accountId, change))
    if (account === undefined) throw notFound('account')
    return c.json(account)
  })
}
