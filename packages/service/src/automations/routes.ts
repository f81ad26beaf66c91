import { isId, notFound, requireAccount } from '../clients/authenticate.ts'
import { inClientTransaction } from '../context.ts'
import { asClient } from '../database/tenant.ts'
import { readJson } from '../http/body.ts'
import { inSpellingOf } from '../http/body-shape.ts'
import type { RouteModule, ServiceRequest } from '../http/request.ts'
import { createIdempotently } from '../idempotency/idempotent.ts'
import { type AutomationRow, automationView, findAutomation } from './automations.ts'
import { type AutomationChange, changeAutomation, parseAutomationChange, parseDestinationChange } from './changes.ts'
import { createAutomation } from './creation.ts'
import { writeAutomations } from './list.ts'

/** Mounts automations: create, list, read, and change of name, status and destination. Specification: "Automations". */
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
    const list = await writeAutomations(context, { clientId, accountId })
    return c.body(list, 200, { 'content-type': 'application/json' })
  })

  app.get('/accounts/:account_id/automations/:automation_id', async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'automations:read')
    const row = await findAutomation(asClient(context, clientId), context, accountId, automationIdOf(c))
    return c.json(automationView(context, found(row)))
  })

  const change = async (c: ServiceRequest, parse: (body: unknown) => AutomationChange) => {
    const { accountId, clientId } = await requireAccount(c, context, 'automations:write')
    const automationId = automationIdOf(c)
    const body = await readJson(c)
    const changed = await inSpellingOf(body, () => {
      const wanted = parse(body)
      // The answer is made before the commit: what cannot be answered is not done.
      return inClientTransaction(context, clientId, async (tx) =>
        automationView(context, found(await changeAutomation(tx, context, accountId, automationId, wanted))),
      )
    })
    return c.json(changed)
  }
  app.patch('/accounts/:account_id/automations/:automation_id', (c) => change(c, parseAutomationChange))
  app.patch('/accounts/:account_id/automations/:automation_id/destination', (c) => change(c, parseDestinationChange))
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
