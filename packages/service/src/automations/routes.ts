import { isId, notFound, requireAccount } from '../clients/authenticate.ts'
import { inClientTransaction } from '../context.ts'
import { asClient } from '../database/tenant.ts'
import { readJson } from '../http/body.ts'
import type { RouteModule, ServiceRequest } from '../http/request.ts'
import { createIdempotently } from '../idempotency/idempotent.ts'
import { type AutomationRow, automationView, findAutomation, listAutomations } from './automations.ts'
import { changeAutomation, parseAutomationChange } from './changes.ts'
import { createAutomation } from './creation.ts'

/** Mounts automations: create, list, read, and change of name and status. Specification: "Automations". */
export const automationsRoutes: RouteModule = (app, context) => {
  app.post('/accounts/:account_id/automations', (c) =>
    createIdempotently(
      c,
      context,
      { scope: 'automations:write' },
      ({ body, caller, accountId }) =>
        (tx) =>
          createAutomation(tx, context, caller, accountId, body),
    ),
  )

  app.get('/accounts/:account_id/automations', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'automations:read')
    const rows = await listAutomations(asClient(context, clientId), context, accountId)
    return c.json({ automations: rows.map((row) => automationView(context, row)) })
  })

  app.get('/accounts/:account_id/automations/:automation_id', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'automations:read')
    const row = await findAutomation(asClient(context, clientId), context, accountId, automationIdOf(c))
    return c.json(automationView(context, found(row)))
  })

  app.patch('/accounts/:account_id/automations/:automation_id', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'automations:write')
    const automationId = automationIdOf(c)
    const change = parseAutomationChange(await readJson(c))
    const changed = await inClientTransaction(context, clientId, (tx) =>
      changeAutomation(tx, context, accountId, automationId, change),
    )
    return c.json(automationView(context, found(changed)))
  })
}

function automationIdOf(c: ServiceRequest): string {
  const automationId = c.req.param('automation_id') ?? ''
  if (!isId(automationId)) throw notFound('automation')
  return automationId
}

function found(row: AutomationRow | undefined): AutomationRow {
  if (row === undefined) throw notFound('automation')
  return row
}
