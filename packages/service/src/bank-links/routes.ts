import { parseLinkTokenRequest, parseRegisterAccountRequest, type RegisterAccountRequest } from '@outlay/core'
import { notFound, requireAccount } from '../clients/authenticate.ts'
import type { ServiceContext } from '../context.ts'
import { asClient } from '../database/tenant.ts'
import { findFinancialInstitution } from '../financial-institutions/financial-institutions.ts'
import { institutionIdOf } from '../financial-institutions/routes.ts'
import { readJson } from '../http/body.ts'
import { baseUrlOf } from '../http/connection.ts'
import type { RouteModule, ServiceRequest } from '../http/request.ts'
import { answerOnce } from '../idempotency/idempotent.ts'
import { outgoingPolicyOf, parseOutgoingUrl } from '../webhooks/outgoing-url.ts'
import { openLinkFlow, openUpdateFlow, registerAccounts } from './bank-links.ts'
import { exchangePublicToken } from './exchanges.ts'
import type { BankLinking } from './port.ts'

/**
 * Mounts bank linking. Specification: "Bank-linking".
 *
 * `register-account` creates, so it requires an `Idempotency-Key`, and answers 201 for an update too. Link tokens create nothing
 * durable: a key is neither required nor read, and every call opens a new flow and answers 200.
 */
export function bankLinkRoutes(linking: BankLinking): RouteModule {
  return (app, context) => {
    const account = '/accounts/:account_id'
    for (const segment of linking.segments) {
      app.post(`${account}/${segment}/link_token`, (c) => linkToken(c, context, linking))
      app.post(`${account}/financial-institutions/${segment}/link_token`, (c) => linkToken(c, context, linking))
      app.post(`${account}/${segment}/register-account`, (c) => register(c, context, linking))
    }
    app.post(`${account}/financial-institutions/register-account`, (c) => register(c, context, linking))
    app.post(`${account}/financial-institutions/:financial_institution_id/update-link-token`, async (c) => {
      const { accountId, clientId } = await requireAccount(c, context, 'financial-institutions:write')
      const id = institutionIdOf(c)
      const client = asClient(context, clientId)
      if ((await findFinancialInstitution(client, context, accountId, id)) === undefined)
        throw notFound('financial institution')
      const { linkToken: token } = await openUpdateFlow(client, context, linking, { accountId, id })
      return c.json({ link_token: token })
    })
  }
}

async function linkToken(c: ServiceRequest, context: ServiceContext, linking: BankLinking): Promise<Response> {
  const { accountId } = await requireAccount(c, context, 'financial-institutions:write')
  const person = parseLinkTokenRequest(await readOptionalJson(c), { spelling: 'snake' })
  const flow = await openLinkFlow(context, linking, accountId, person)
  return c.json({
    link_token: flow.linkToken,
    expiration: flow.expiration,
    callback_url: linking.callbackUrl(accountId, baseUrlOf(c.env, context.publicUrl)),
  })
}

/** Every member of the body is optional, and so is the body. */
async function readOptionalJson(c: ServiceRequest): Promise<unknown> {
  const empty = c.req.raw.body === null || c.req.header('content-length') === '0'
  return empty ? {} : await readJson(c)
}

async function register(c: ServiceRequest, context: ServiceContext, linking: BankLinking): Promise<Response> {
  const caller = await requireAccount(c, context, 'financial-institutions:write')
  const { accountId, clientId, environment } = caller
  return await answerOnce(c, context, caller, {}, async (body) => {
    const request = parse(context, body)
    const { publicToken } = request
    const token = { accountId, publicToken }
    const exchange = await exchangePublicToken(asClient(context, clientId), context, linking, token)
    return (tx) => registerAccounts(tx, context, { accountId, environment }, request, exchange)
  })
}

/** Reads the body; its URL is checked before the token is exchanged, so that an invalid URL does not use up the token. */
function parse(context: ServiceContext, body: unknown): RegisterAccountRequest {
  const request = parseRegisterAccountRequest(body, { spelling: 'snake' })
  const { customerWebhookUrl: url } = request
  if (url === undefined) return request
  const policy = outgoingPolicyOf(context)
  return { ...request, customerWebhookUrl: parseOutgoingUrl(url, 'customer_webhook_url', policy).href }
}
