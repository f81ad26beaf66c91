import { isId, notFound, requireAccount } from '../clients/authenticate.ts'
import { asClient } from '../database/tenant.ts'
import { asObject } from '../http/body.ts'
import type { RouteModule, ServiceRequest } from '../http/request.ts'
import { createIdempotently } from '../idempotency/idempotent.ts'
import {
  createFinancialInstitution,
  findFinancialInstitution,
  findFinancialInstitutionState,
  listFinancialInstitutions,
} from './financial-institutions.ts'

/** Mounts bank addresses in their older form. Specification: "Financial institutions (legacy)". */
export const financialInstitutionsRoutes: RouteModule = (app, context) => {
  const path = '/accounts/:account_id/financial-institutions'

  // The answer contains the owner of the bank account, so it is stored sealed.
  app.post(`${path}/external`, (c) =>
    createIdempotently(c, context, { scope: 'financial-institutions:write', sealed: true }, (input) => {
      const { accountId, caller, body } = input
      const owner = { accountId, environment: caller.environment }
      return (tx) => createFinancialInstitution(tx, context, owner, asObject(body))
    }),
  )

  app.get(path, async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'financial-institutions:read')
    return c.json({
      financial_institutions: await listFinancialInstitutions(asClient(context, clientId), context, accountId),
    })
  })

  app.get(`${path}/:financial_institution_id`, async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'financial-institutions:read')
    const found = await findFinancialInstitution(asClient(context, clientId), context, accountId, institutionIdOf(c))
    if (found === undefined) throw notFound('financial institution')
    return c.json(found)
  })

  app.get(`${path}/:financial_institution_id/status`, async (c) => {
    const { accountId, clientId } = await requireAccount(c, context, 'financial-institutions:read')
    const found = await findFinancialInstitutionState(
      asClient(context, clientId),
      context,
      accountId,
      institutionIdOf(c),
    )
    if (found === undefined) throw notFound('financial institution')
    return c.json(found)
  })
}

/** The id of a financial institution in the path; a malformed one is not found. */
export function institutionIdOf(c: ServiceRequest): string {
  const id = c.req.param('financial_institution_id') ?? ''
  if (!isId(id)) throw notFound('financial institution')
  return id
}
